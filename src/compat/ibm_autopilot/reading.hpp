// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/snapshot.hpp"

namespace autopilot::compat::ibm_autopilot {

// Null where that check does not run here.
[[nodiscard]] const CheckResult* find_result(const NodeSnapshot& snapshot, std::string_view check);

// When the test ended that an active check tells of.
[[nodiscard]] std::optional<WallTime> end_of_test(const CheckResult& result);

// The driver's number of it, which is what IBM Autopilot calls its GPUs; its PCI address where there is none.
[[nodiscard]] std::string device_id(const Subject& gpu);

// "" where it was asked for and not answered.
[[nodiscard]] std::string word_of(const Observation& observation);

// The words that the last look left under that name, each once; empty where it saw none.
[[nodiscard]] std::set<std::string> words(const NodeSnapshot& snapshot, std::string_view check,
                                          std::string_view name);

struct GpuReading {
  Subject gpu;
  const Observation* said = nullptr;
};
// What the last look left under that name of each GPU, in order of the driver's numbers; a test may tell only
// the address of a GPU, gpu.present knows its number.
[[nodiscard]] std::vector<GpuReading> of_gpus(const NodeSnapshot& snapshot, std::string_view check,
                                              std::string_view name);
// All GPUs that the last look of that check tells of, each once, in the same order.
[[nodiscard]] std::vector<Subject> gpus_of(const NodeSnapshot& snapshot, std::string_view check);
// True when a test measured something of a GPU.
[[nodiscard]] bool has_measured(const CheckResult& result);
// True when a finding is degraded or failed.
[[nodiscard]] bool has_fault(const CheckResult& result);
// True when something could not be looked at.
[[nodiscard]] bool has_unread(const CheckResult& result);

// First those with a number of the driver's, in its order.
[[nodiscard]] bool is_before(const Subject& gpu, const Subject& other);

// What says of each GPU whether something is wrong with it.
struct GpuQuestion {
  std::string_view check;
  std::vector<std::string_view> readings;  // true: it is
  bool counts_findings = false;            // degraded and failed ones of that check, whatever was read
};
// Whatever is wrong with the rows: also none to spare, errors beyond the limit.
[[nodiscard]] const GpuQuestion& remapped_question();
[[nodiscard]] const GpuQuestion& slowdown_question();

// By GPU; without those of which nothing is wrong and one reading could not be had.
[[nodiscard]] std::map<Subject, bool> flags(const NodeSnapshot& snapshot, const GpuQuestion& question);

}  // namespace autopilot::compat::ibm_autopilot
