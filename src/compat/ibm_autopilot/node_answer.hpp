// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compat/ibm_autopilot/check_answer.hpp"
#include "compat/ibm_autopilot/reading.hpp"
#include "core/snapshot.hpp"

namespace autopilot::compat::ibm_autopilot {

// In the order of the request.
[[nodiscard]] std::vector<CheckAnswer> answers_of(const std::vector<std::string>& names,
                                                  const NodeSnapshot& snapshot, const Effort& effort = {});

// The reply of this node: one text after the other, each at the beginning of a line. A simulated machine is
// marked first, before the preamble of a single requested check.
[[nodiscard]] std::string to_text(const std::vector<CheckAnswer>& answers, const NodeSnapshot& snapshot,
                                  std::string_view preamble = {});

// `{"node":..,"simulated":..,"statuses":["OK"],"checks":[{"name":..,"check":..,"outcome":..,"fresh":..,
// "resultOf":..,"notRun":..,"text":..}]}`. fresh: false for a result or run that is not current.
[[nodiscard]] std::string to_json(const std::vector<CheckAnswer>& answers, const NodeSnapshot& snapshot);
// `{"node":..,"check":..}`: a test of that check, by our id, was requested and is running.
[[nodiscard]] std::string test_json(std::string_view node, std::string_view check);
// One of these checks, with `node` and `simulated`.
[[nodiscard]] std::string to_json(const CheckAnswer& answer, const NodeSnapshot& snapshot);

// The check of that name with the latest test; before any test has ended, the configured check.
// Null if none runs on this node.
[[nodiscard]] const CheckResult* result_of(const CheckName& name, const NodeSnapshot& snapshot);

// Result of either DCGM check: a deep test of the node, or a test of this machine.
[[nodiscard]] Said dcgm(const NodeSnapshot& snapshot, const CheckResult& result);
// True if the last test failed; nullopt if there is no result, or the result is not sufficient for a pass.
[[nodiscard]] std::optional<bool> has_failed_dcgm(const NodeSnapshot& snapshot);

// Last results of active tests. A GPU in use is not tested: the text then only names its user.
[[nodiscard]] Said pcie_bandwidth(const NodeSnapshot& snapshot, const CheckResult& result);
[[nodiscard]] Said gpu_memory(const NodeSnapshot& snapshot, const CheckResult& result);
[[nodiscard]] Said ping(const NodeSnapshot& snapshot, const CheckResult& result);
// For the whole cluster, if this node started the test. The original has no text for a network that fails:
// faults are listed below its tables.
[[nodiscard]] Said iperf(const NodeSnapshot& snapshot, const CheckResult& result);

}  // namespace autopilot::compat::ibm_autopilot
