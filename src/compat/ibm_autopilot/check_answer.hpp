// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
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
  std::string name;   // as it was asked for
  std::string check;  // ours that answers; empty: none does
  Outcome outcome = Outcome::not_supported;
  std::string text;  // of as many lines as that check has; some have no line end at last
  // When the test of an active check ended, or the last look of another one, where that is not of now.
  std::optional<WallTime> result_of;
  bool is_fresh = false;  // a look or a test of now
  std::string not_run;    // in a sentence why no test was made for this answer, where somebody asked for one
};

// What became of a test that somebody asked for.
struct TestRun {
  WallTime began{};        // results that ended before are not of it
  std::string not_run;     // in a sentence why there is none of now; empty: there is
  bool is_in_use = false;  // because somebody uses what it tests
};

// What was done for an answer before its snapshot was taken.
struct Effort {
  WallTime looked_since{};  // a look that ended before says of when it is
  std::map<std::string, TestRun, std::less<>> tests =
      {};  // asked for by who may: by our ids of active checks
};

// From what the snapshot knows; nothing runs for it. A GPU that could not be read, or that is gone, is not
// healthy: where no other failed the check is aborted, which its text says with ABORT.
[[nodiscard]] CheckAnswer answer_of(std::string_view name, const NodeSnapshot& snapshot,
                                    const Effort& effort = {});

}  // namespace autopilot::compat::ibm_autopilot
