// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/planner/facts.hpp"
#include "core/clock.hpp"
#include "core/health.hpp"
#include "kube/objects.hpp"

namespace autopilot::controller {

// What plans are made of in a NodeHealthReport, and no more: the whole one has a hundred kilobytes.
struct NodeLook {
  kube::Meta meta;
  std::optional<WallTime> observed;
  std::optional<Verdict> written;  // nothing: a word that nobody knows
  bool is_unknown = false;         // a required check has not looked
  int gpus = 0;                    // that its agent knows
  std::vector<OpenCause> causes;
  std::map<std::string, WallTime, std::less<>> passed;  // of every GPU, by test; the oldest pass counts
};
[[nodiscard]] NodeLook parse_node_look(const kube::JsonObject& object);

// Nothing but times and versions differs.
[[nodiscard]] bool says_the_same(const NodeLook& one, const NodeLook& other);

}  // namespace autopilot::controller
