// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compat/ibm_autopilot/check_answer.hpp"
#include "core/snapshot.hpp"

namespace autopilot::compat::ibm_autopilot {

// Null if that check does not run on this node.
[[nodiscard]] const CheckResult* find_result(const NodeSnapshot& snapshot, std::string_view check);

// End of the test that an active check reports.
[[nodiscard]] std::optional<WallTime> end_of_test(const CheckResult& result);

// The driver's index, which IBM Autopilot uses as the name of a GPU; its PCI address if the index is unknown.
[[nodiscard]] std::string device_id(const Subject& gpu);

// "" if the observation has no value.
[[nodiscard]] std::string word_of(const Observation& observation);

// The distinct string values of that name in the last run; empty if it has none.
[[nodiscard]] std::set<std::string> words(const NodeSnapshot& snapshot, std::string_view check,
                                          std::string_view name);

struct GpuReading {
  Subject gpu;
  const Observation* said = nullptr;
};
// Observations of that name in the last run, for each GPU, ordered by the driver's index. A test can report
// only the address of a GPU; gpu.present has its index.
[[nodiscard]] std::vector<GpuReading> of_gpus(const NodeSnapshot& snapshot, std::string_view check,
                                              std::string_view name);
// All GPUs in the last run of that check, each once, in the same order.
[[nodiscard]] std::vector<Subject> gpus_of(const NodeSnapshot& snapshot, std::string_view check);
// True if a test measured a value of a GPU.
[[nodiscard]] bool has_measured(const CheckResult& result);
// True if a finding is degraded or failed.
[[nodiscard]] bool has_fault(const CheckResult& result);
// True if a part could not be checked.
[[nodiscard]] bool has_unread(const CheckResult& result);

// GPUs with a driver index come first, ordered by it.
[[nodiscard]] bool is_before(const Subject& gpu, const Subject& other);

// Observations that show whether a GPU has a fault.
struct GpuQuestion {
  std::string_view check;
  std::vector<std::string_view> readings;  // true: the GPU has a fault
  bool counts_findings = false;  // count degraded and failed findings of that check, regardless of the values
};
// Any fault of row remapping, including no spare rows and errors beyond the limit.
[[nodiscard]] const GpuQuestion& remapped_question();
[[nodiscard]] const GpuQuestion& slowdown_question();

// By GPU; excludes GPUs without a fault for which a value is missing.
[[nodiscard]] std::map<Subject, bool> flags(const NodeSnapshot& snapshot, const GpuQuestion& question);

// The text of a check, in two parts; the line about its age comes between them.
struct Said {
  Outcome outcome = Outcome::aborted;
  std::string head;
  std::string rest;
};

// The sentence of the first finding of that health; empty without one.
[[nodiscard]] std::string message_of(const CheckResult& result, Health health);
// Text from another source, on one line and without words that decide a status.
[[nodiscard]] std::string on_one_line(std::string text);
// With two decimals.
[[nodiscard]] std::string two_digits(double number);
// The line that states why a check has no result, with ABORT at its end. Without words that match the name of
// another check.
[[nodiscard]] std::string abort_line(const NodeSnapshot& snapshot, const CheckResult& result);

// True if the GPU has a fault; nullopt if the value could not be read.
struct GpuFlag {
  Subject gpu;
  std::optional<bool> is_bad;
};

// The data of a check that gives a 0 or 1 for each GPU.
class GpuFlags {
 public:
  // Includes GPUs for which the check itself is unknown or gpu.present failed, as not read if there is no
  // value.
  GpuFlags(const NodeSnapshot& snapshot, const GpuQuestion& question);

  [[nodiscard]] bool is_empty() const { return flags_.empty(); }
  [[nodiscard]] bool any_bad() const;
  [[nodiscard]] bool any_unread() const;
  // "0 1 2 3 Total: 4"
  [[nodiscard]] std::string gpus() const;
  // "0 1 0 nan"
  [[nodiscard]] std::string values() const;

 private:
  std::vector<GpuFlag> flags_;  // ordered by the driver's index
};

}  // namespace autopilot::compat::ibm_autopilot
