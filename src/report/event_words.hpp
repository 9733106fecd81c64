// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/event.hpp"
#include "core/snapshot.hpp"
#include "kube/events.hpp"

namespace autopilot::report {

// True for events that belong on the Node object: an incident that opened, changed or closed, and an agent
// that cannot work as configured. False for injected events.
[[nodiscard]] bool is_told(const Event& event);

// The event as a Kubernetes Event: an incident with its evidence and its GPU users, as far as `snapshot` (the
// latest) has them. The object remains empty. Pure.
[[nodiscard]] kube::EventFact fact_of(const Event& event, const NodeSnapshot& snapshot);

// "row_remap_failed" -> "RowRemapFailed".
[[nodiscard]] std::string camel_case(std::string_view word);

}  // namespace autopilot::report
