// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/output/table.hpp"
#include "core/clock.hpp"
#include "kube/events.hpp"

namespace autopilot::cli {

// True if Autopilot recorded the event for `node`, or for any node if `node` is empty.
[[nodiscard]] bool is_own_event(const kube::RecordedEvent& event, const std::string& node);
// Events without a time come first.
void sort_newest_last(std::vector<kube::RecordedEvent>& events);

// docs/kubernetes.md describes the JSON. Pure.
[[nodiscard]] std::string render_events(std::span<const kube::RecordedEvent> events, WallTime now,
                                        const TableStyle& style);
[[nodiscard]] std::string events_json(std::span<const kube::RecordedEvent> events);

}  // namespace autopilot::cli
