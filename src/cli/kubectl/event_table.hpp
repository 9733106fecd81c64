// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/output/table.hpp"
#include "core/clock.hpp"
#include "kube/recorded_event.hpp"

namespace autopilot::cli {

// Whether Autopilot told it of a node, of that one where `node` is not empty.
[[nodiscard]] bool is_own_event(const kube::RecordedEvent& event, const std::string& node);
// Those of which nobody knows when come first.
void sort_newest_last(std::vector<kube::RecordedEvent>& events);

// docs/kubernetes.md describes the JSON. Pure.
[[nodiscard]] std::string render_events(std::span<const kube::RecordedEvent> events, WallTime now,
                                        const TableStyle& style);
[[nodiscard]] std::string events_json(std::span<const kube::RecordedEvent> events);

}  // namespace autopilot::cli
