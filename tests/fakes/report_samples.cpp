// SPDX-License-Identifier: Apache-2.0
// Prints reports of a node, one per line: a report with every field, and a report that must omit some.
#include <cstdio>
#include <string>
#include <vector>

#include "report/node_report.hpp"
#include "tests/support/api/test_samples.hpp"

namespace {

using namespace autopilot;
using namespace autopilot::api::testing;

struct Known {
  NodeSnapshot snapshot = sample_node();
  incidents::SavedState saved;
  incidents::WrittenVerdict written{Verdict::evict, {{"0a1b2c3d-7", sample_time(), true}}};
  std::vector<PassRecord> pass_records;

  void add(int number) {
    Incident incident = sample_incident();
    incident.injected = number > 0;
    incident.id = "0a1b2c3d-" + std::to_string(7 + number);
    saved.findings.push_back(
        {incident.check, sample_finding(), snapshot.boot_id, "m1 " + incident.id + " 0 0 5 5 5 5 0 0 0"});
    saved.incidents.push_back(incident);
    CheckResult present = sample_result();
    present.check = "gpu.present";
    Observation seen = sample_observations().front();
    seen.subject.key += std::to_string(number);
    present.observations = Observations{seen};
    snapshot.results.push_back(present);
    pass_records.push_back({"GPU-" + std::to_string(number), "gpu.memory", sample_time(), "boot", "op-1"});
  }
  void print() const {
    std::printf(
        "%s", report::report_text({snapshot, saved, written, pass_records, "autopilot", "uid", "EVICT stays"})
                  .c_str());
  }
};

}  // namespace

int main() {
  Known one;
  one.add(0);
  one.print();
  Known many;
  constexpr int kTooMany = 1000;
  for (int number = 0; number < kTooMany; ++number)
    many.add(number);
  many.print();
  return 0;
}
