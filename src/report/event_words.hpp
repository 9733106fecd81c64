// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/event.hpp"
#include "core/snapshot.hpp"
#include "kube/events.hpp"

namespace autopilot::report {

// What of the node's story those who look at the Node object should read: an incident that opened, changed or
// closed, and an agent that cannot do its work as it was told. Nothing that was only injected.
[[nodiscard]] bool is_told(const Event& event);

// The same in their words: an incident with its evidence and whom it concerns, as far as it stands in
// `snapshot`, the latest. The object is left empty. Pure.
[[nodiscard]] kube::EventFact fact_of(const Event& event, const NodeSnapshot& snapshot);

// "row_remap_failed" -> "RowRemapFailed".
[[nodiscard]] std::string camel_case(std::string_view word);

}  // namespace autopilot::report
