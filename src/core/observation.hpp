// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/subject.hpp"
#include "core/value.hpp"

namespace autopilot {

// What a machine said about one subject at one moment. No opinion.
struct Observation {
  std::string name;  // snake_case with dots, unique within the check: "row_remap.pending"
  Subject subject;
  std::optional<Value> value;  // nothing: asked for and not answered; `missing` says why
  std::string unit;            // "", "bytes", "celsius", "ratio", "seconds", "count", ...
  std::string source;          // the witness: "nvml", "sysfs", "/dev/kmsg", ...
  Instant time;
  std::string missing;  // snake_case word: "not_supported", "denied", "timed_out", "malformed", ...
  std::optional<std::uint64_t>
      sequence;           // set for events only (a kernel-log record): the source's own number
  Attributes attributes;  // further facts of an event: line, pid, process, ...

  [[nodiscard]] bool is_event() const { return sequence.has_value(); }
};

using Observations = std::vector<Observation>;

}  // namespace autopilot
