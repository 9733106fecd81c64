// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/cluster_link.hpp"
#include "agent/pass_book.hpp"
#include "agent/preflight/gate.hpp"
#include "catalog/catalog.hpp"
#include "config/config.hpp"
#include "runtime/operations.hpp"
#include "runtime/runtime.hpp"

namespace autopilot::agent {

// The parts of an agent that its gate stands on. They outlive it.
struct GateParts {
  std::string node;
  const Clock& clock;
  const PassBook& passes;
  const catalog::Catalog& facts;
  runtime::Runtime& runtime;
  runtime::Operations& operations;
  ClusterLink* cluster = nullptr;  // null: none
  std::function<const config::Config&()> config;
  std::function<void()> note_changes;  // tells journal and events what began
  std::function<void()> poll_soon;
  GangWait::Ask gang;  // empty: see GateMachine
  // Those of these nodes that can be asked whether they answer.
  std::function<std::vector<Subject>(std::vector<Subject> nodes)> with_agents;
};
[[nodiscard]] GateMachine gate_machine(const GateParts& parts);

}  // namespace autopilot::agent
