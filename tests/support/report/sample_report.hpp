// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "report/node_report.hpp"
#include "tests/support/api/test_samples.hpp"

// For tests of what a new agent takes over from one before it.
namespace autopilot::report {

// A report of the node "node-1", a simulated machine, with one incident that evicts.
inline std::string sample_report() {
  const NodeSnapshot snapshot = api::testing::sample_node();
  Incident incident = api::testing::sample_incident();
  incident.state = IncidentState::open;
  incident.closed.reset();
  incidents::SavedState saved;
  saved.incidents = {incident};
  saved.findings = {
      {incident.check, incident.members[0].finding, "0a1b2c3d-boot", "m1 0a1b2c3d-7 0 0 5 5 5 5 0 0 0"}};
  saved.next_incident = 12;
  const incidents::WrittenVerdict written{Verdict::evict, {{incident.id, std::nullopt, true}}};
  const std::vector<PassRecord> records{{"GPU-1", "gpu.memory", api::testing::sample_time(), "b", "op-1"}};
  return report_text({snapshot, saved, written, records, "autopilot", ""});
}

}  // namespace autopilot::report
