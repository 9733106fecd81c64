// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/snapshot.hpp"

namespace autopilot::compat::ibm_autopilot {

// skipped: the check does not apply to this node. aborted: it could not run.
enum class Outcome : std::uint8_t { passed, failed, skipped, aborted, not_supported };

[[nodiscard]] std::string_view outcome_word(Outcome outcome);

// The result of one check of this node, in the texts of IBM Autopilot.
struct CheckAnswer {
  std::string name;   // as requested
  std::string check;  // id of our check; empty: none matches
  Outcome outcome = Outcome::not_supported;
  std::string text;  // has as many lines as the check prints; the last can lack a line end
  // End of the test of an active check, or of the last run of another check, if the result is not current.
  std::optional<WallTime> result_of;
  bool is_fresh = false;  // from a run or test made for this request
  std::string not_run;    // a sentence: why a requested test did not run
};

// The outcome of a requested test.
struct TestRun {
  WallTime began{};        // results that ended earlier do not belong to it
  std::string not_run;     // a sentence: why it has no result; empty: it has one
  bool is_in_use = false;  // the tested device was in use
};

// Work done for a request before its snapshot was taken.
struct Effort {
  WallTime looked_since{};  // a run that ended earlier is dated
  std::map<std::string, TestRun, std::less<>> tests =
      {};  // tests of authorized callers, by our ids of active checks
};

// Reads only the snapshot; runs nothing. A GPU that could not be read, or that is missing, is not healthy:
// unless another GPU failed, the check is aborted, and its text has ABORT.
[[nodiscard]] CheckAnswer answer_of(std::string_view name, const NodeSnapshot& snapshot,
                                    const Effort& effort = {});

}  // namespace autopilot::compat::ibm_autopilot
