// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "core/interned.hpp"
#include "core/subject.hpp"
#include "core/value.hpp"

namespace autopilot {

// A value that the machine reported about one subject at one moment, without judgement.
struct Observation {
  Interned name;  // snake_case with dots, unique within the check: "row_remap.pending"
  Subject subject;
  std::optional<Value> value;  // nullopt: the data source gave no value; `missing` has the reason
  Interned unit;               // "", "bytes", "celsius", "ratio", "seconds", "count", ...
  Interned source;             // the data source: "nvml", "sysfs", "/dev/kmsg", ...
  Instant time;
  Interned missing;  // snake_case key: "not_supported", "denied", "timed_out", "malformed", ...
  std::optional<std::uint64_t>
      sequence;           // set for events only (a kernel log record): the source's own number
  Attributes attributes;  // further attributes of an event: line, pid, process, ...

  [[nodiscard]] bool is_event() const { return sequence.has_value(); }
};

using Observations = std::vector<Observation>;

// Immutable observations with shared ownership: a copy is cheap.
class SharedObservations {
 public:
  SharedObservations() = default;
  SharedObservations(Observations observations)
      : shared_(std::make_shared<const Observations>(std::move(observations))) {}

  [[nodiscard]] const Observations& all() const {
    static const Observations none;
    return shared_ ? *shared_ : none;
  }
  [[nodiscard]] auto begin() const { return all().begin(); }
  [[nodiscard]] auto end() const { return all().end(); }
  [[nodiscard]] std::size_t size() const { return all().size(); }
  [[nodiscard]] bool empty() const { return all().empty(); }
  const Observation& operator[](std::size_t i) const { return all()[i]; }

 private:
  std::shared_ptr<const Observations> shared_;
};

// The attribute of that name as text; empty if it is missing.
[[nodiscard]] std::string attribute_text(const Observation& observation, std::string_view name);

}  // namespace autopilot
