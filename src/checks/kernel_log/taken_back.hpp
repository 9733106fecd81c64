// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "catalog/catalog.hpp"
#include "core/observation.hpp"

namespace autopilot::checks {

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
