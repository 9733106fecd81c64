// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/clock.hpp"

namespace autopilot::kube {

struct JsonObject;  // json_object.hpp

// A core/v1 Event as it stands in the cluster. A field that is missing is empty.
struct RecordedEvent {
  std::string kind;  // of what it is about: "Node"
  std::string name;
  std::string component;  // that told it: "autopilot-agent"
  std::string type;       // "Normal", "Warning"
  std::string reason;
  std::string message;
  std::int64_t count = 1;
  std::optional<WallTime> first;
  std::optional<WallTime> last;
};
[[nodiscard]] RecordedEvent parse_recorded_event(const JsonObject& object);

}  // namespace autopilot::kube
