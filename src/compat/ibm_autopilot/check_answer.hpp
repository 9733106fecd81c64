// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

// The value of a parameter that is not set, and the name for all periodic checks.
inline constexpr std::string_view kUnset = "None";
inline constexpr std::string_view kAll = "all";

// A check under its name in IBM Autopilot.
struct CheckName {
  std::string_view name;        // "remapped": in lists, and as a path of its own
  std::string_view check;       // id of our check
  std::string_view preamble;    // first text of the reply at its own path; see preamble_of
  bool is_active = false;       // puts load on the tested device: the reply has its last result
  std::string_view other = {};  // a second check of ours; the result is from the later test
};

// First text of the reply at the check's own path. pcie_bandwidth_limit: GB/s below which a GPU is slow.
[[nodiscard]] std::string preamble_of(const CheckName& check, double pcie_bandwidth_limit);

// Reply of the path /invasive. prefix, level: of the labels that carry the result. why_not: a sentence why no
// test starts; empty: a test starts.
[[nodiscard]] std::string invasive_text(std::string_view prefix, int level, std::string_view why_not);

// The network test of all nodes: requested once, not for each node.
inline constexpr std::string_view kNetworkTest = "iperf";
// The reply to a request for a part of it if it is not configured.
inline constexpr std::string_view kNetworkTestText = "check not supported: iperf\n";

// Null if the name is unknown. Names are case sensitive.
[[nodiscard]] const CheckName* find_check(std::string_view name);
[[nodiscard]] const std::vector<CheckName>& check_names();

// The names of a list, in its order; a list that contains "all" gives `periodic`.
[[nodiscard]] std::vector<std::string> named_checks(std::string_view list,
                                                    const std::vector<std::string>& periodic);

}  // namespace autopilot::compat::ibm_autopilot
