// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/clock.hpp"

namespace autopilot::kube {

struct JsonObject;  // json_object.hpp

// A core/v1 Event of the cluster. A missing field is empty.
struct RecordedEvent {
  std::string kind;  // of the involved object: "Node"
  std::string name;
  std::string component;  // the reporting component: "autopilot-agent"
  std::string type;       // "Normal", "Warning"
  std::string reason;
  std::string message;
  std::int64_t count = 1;
  std::optional<WallTime> first;
  std::optional<WallTime> last;
};
[[nodiscard]] RecordedEvent parse_recorded_event(const JsonObject& object);

}  // namespace autopilot::kube
