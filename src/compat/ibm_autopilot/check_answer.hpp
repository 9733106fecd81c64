// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/snapshot.hpp"

namespace autopilot::compat::ibm_autopilot {

// skipped: there is nothing here that it could look at. aborted: it could not look.
enum class Outcome : std::uint8_t { passed, failed, skipped, aborted, not_supported };

[[nodiscard]] std::string_view outcome_word(Outcome outcome);

// What one check says of this node, in the words of IBM Autopilot.
struct CheckAnswer {
  std::string name;  // as it was asked for
  Outcome outcome = Outcome::not_supported;
  std::string text;  // of as many lines as that check has; some have no line end at last
  // When an active check ended, or the last look of another one where it is not of now.
  std::optional<WallTime> result_of;
};

// From what the snapshot knows; nothing runs for it. A GPU that could not be read, or that is gone, is not
// healthy: where no other failed the check is aborted, which its text says with ABORT. A look that ended
// before `fresh_since` says of when it is.
[[nodiscard]] CheckAnswer answer_of(std::string_view name, const NodeSnapshot& snapshot,
                                    WallTime fresh_since = {});

}  // namespace autopilot::compat::ibm_autopilot
