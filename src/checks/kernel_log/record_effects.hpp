// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "catalog/catalog.hpp"
#include "core/finding.hpp"
#include "core/observation.hpp"

namespace autopilot::checks {

// What the driver's records of a round say, each for itself, for incidents: of health `healthy` those with a
// code that makes no finding, as of a fault of a program (see is_record in core/incident.hpp), the others of
// the health of the finding that counts them; and lines about the PCIe link of a GPU. Records that user space
// wrote, and unverified ones, are left out.
[[nodiscard]] Findings signs_in(const Observations& records, const catalog::Catalog& facts);

// A GPU begins anew by the word of its driver: what was said before about it is history.
struct SeenReset {
  Subject gpu;  // the host: every GPU and switch of the machine
  bool injected = false;
};

// THE rule for what a record says about resets: the driver was loaded (all GPUs), it takes back its verdict
// that a GPU needs to be recovered (Xid 154 to None), it says that it has reset one (AMD), or the looks of
// all checks prove one together (seen_reset). Nothing for any other record, and for one that user space wrote
// or whose writer nobody can vouch for.
[[nodiscard]] std::optional<SeenReset> reset_in(const Observation& record);

// The event of a reset that no record tells of.
[[nodiscard]] Observation seen_reset(const Subject& gpu, Instant time);

// The real ones among these records, each GPU once.
[[nodiscard]] std::vector<Subject> resets_in(const Observations& records);

// What earlier Xids of one code said about a GPU is over by the word of its driver: takes_back of the code in
// the catalog.
struct TakenBack {
  Subject gpu;
  std::uint32_t code = 0;
  MonoTime by{};  // time of the record that takes back
  bool injected = false;
};

// By this record. One that user space wrote, or whose writer nobody can vouch for, takes nothing back.
[[nodiscard]] std::vector<TakenBack> taken_back_by(const Observation& record, const catalog::Catalog& facts);

// By these records, oldest first, and not told again later by one of them. Of real ones only.
[[nodiscard]] std::vector<TakenBack> taken_back_in(const Observations& records,
                                                   const catalog::Catalog& facts);

// Whether `record` is an Xid of that code, GPU and writer that is not younger.
[[nodiscard]] bool is_over(const Observation& record, const std::vector<TakenBack>& taken_back);

}  // namespace autopilot::checks
