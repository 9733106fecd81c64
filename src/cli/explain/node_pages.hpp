// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "catalog/catalog.hpp"
#include "cli/explain/explained.hpp"
#include "core/incident.hpp"
#include "core/snapshot.hpp"

namespace autopilot::cli {

// An incident: the culprit, since when, what is at fault, what to do and what clears it. Pure.
[[nodiscard]] Explained explain(const Incident& incident, const catalog::Catalog& facts);

// What is wrong on a node now, the worst first: its incidents, findings that belong to no incident, and
// required checks that could not run. Empty: nothing. Pure.
[[nodiscard]] std::vector<Explained> what_is_wrong(const NodeSnapshot& node, const catalog::Catalog& facts);

// The verdict of a node in one or two lines, with how many checks ran. Pure.
[[nodiscard]] std::string verdict_line(const NodeSnapshot& node);

}  // namespace autopilot::cli
