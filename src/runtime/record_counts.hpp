// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "core/observation.hpp"
#include "core/snapshot.hpp"

namespace autopilot::runtime {

// How many records the event stands for (attribute "count").
[[nodiscard]] std::uint64_t times_told(const Observation& record);

// How often each kind of kernel record was seen, known or not. Of further kinds beyond kMaxKinds only the sum
// is kept, under the name "other".
class RecordCounts {
 public:
  static constexpr std::size_t kMaxKinds = 256;

  // Records that no earlier round has seen; one may stand for several (attribute "count").
  void add(std::string_view check, const Observations& records);
  [[nodiscard]] std::vector<RecordCount> counts() const;

 private:
  std::map<RecordKind, std::uint64_t> counts_;
};

}  // namespace autopilot::runtime
