// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/cluster_link.hpp"
#include "catalog/catalog.hpp"
#include "config/config.hpp"
#include "diagnostics/operations/operations.hpp"
#include "diagnostics/operations/pass_book.hpp"
#include "preflight/gate.hpp"
#include "runtime/runtime.hpp"

namespace autopilot::agent {

// The parts of an agent that its gate uses. They outlive it.
struct GateParts {
  std::string node;
  const Clock& clock;
  const diagnostics::PassBook& passes;
  const catalog::Catalog& facts;
  runtime::Runtime& runtime;
  diagnostics::Operations& operations;
  ClusterLink* cluster = nullptr;  // null: none
  std::function<const config::Config&()> config;
  std::function<void()> note_changes;  // writes started operations to the journal and the events
  std::function<void()> poll_soon;
  preflight::GangWait::Ask gang;  // empty: see GateMachine
  preflight::ChooseTests choose;
  // Filters nodes: returns the nodes with an agent that can be asked whether they answer.
  std::function<std::vector<Subject>(std::vector<Subject> nodes)> with_agents;
};
[[nodiscard]] preflight::GateMachine gate_machine(const GateParts& parts);

}  // namespace autopilot::agent
