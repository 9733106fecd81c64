// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "catalog/catalog.hpp"
#include "checks/check.hpp"
#include "core/finding.hpp"
#include "core/observation.hpp"

namespace autopilot::checks {

// Symptoms for incidents, one for each driver record of a run, and for lines about the PCIe link of a GPU.
// Health is `healthy` for a code that causes no finding, such as the fault of a program (see is_record in
// core/incident.hpp), otherwise the health of the finding that counts it. Omits records from user space and
// unverified ones.
[[nodiscard]] Findings symptoms_in(const Observations& records, const catalog::Catalog& facts);

// A reset of a GPU: earlier records do not describe its present state.
struct SeenReset {
  Subject gpu;  // host: every GPU and switch of the machine
  bool injected = false;
};

// The reset that a record proves: the driver was loaded (all GPUs), its recovery action returned to none (Xid
// 154), it reports a completed reset (AMD), or the observations of all checks prove one (seen_reset). nullopt
// for other records, for records from user space, and for unverified ones.
[[nodiscard]] std::optional<SeenReset> reset_in(const Observation& record);

// GPUs that these records prove reset, each once, without injected ones.
[[nodiscard]] std::vector<Subject> resets_in(const Observations& records);

// Retractions by this record; none if user space wrote it or its writer is unverified.
[[nodiscard]] std::vector<Retraction> retractions_by(const Observation& record,
                                                     const catalog::Catalog& facts);

// Retractions by these records, oldest first, that no later record reports again. Without injected ones.
[[nodiscard]] std::vector<Retraction> retractions_in(const Observations& records,
                                                     const catalog::Catalog& facts);

// Check::interpret of all checks that read the kernel log or the driver library's events: joins records of
// one error, and returns the effects of the rest.
[[nodiscard]] Interpretation interpret_records(InterpretInput input);

// True if a retraction with the code, GPU and injection of this Xid is not older than the Xid.
[[nodiscard]] bool is_retracted(const Observation& record, const std::vector<Retraction>& retractions);

}  // namespace autopilot::checks
