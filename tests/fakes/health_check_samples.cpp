// SPDX-License-Identifier: Apache-2.0
// Prints HealthCheckReports, one per line, each with the status from a controller: a report with every field,
// and a report that must omit some.
#include <cstdio>
#include <string>
#include <string_view>

#include "kube/health_reports.hpp"

namespace {

using namespace autopilot;

kube::HealthCheckReport sample() {
  kube::HealthCheckReport report;
  report.meta.name = kube::health_check_report_name("gpu-7", "uid-1", {"gpu.pcie_bandwidth"});
  report.meta.name_space = "autopilot";
  report.node = "gpu-7";
  report.pod = {"team-a", "train-0", "uid-1"};
  report.job = kube::ReportedJob{"batch/v1", "Job", "train", "uid-2"};
  report.tests = {"gpu.pcie_bandwidth"};
  report.gpus = {"GPU-a"};
  report.outcome = kube::ReportedOutcome::failed;
  report.message = "GPU 3 takes 2 GB/s from the host";
  report.findings = {{"gpu/0000:3b:00.0",
                      "gpu.pcie_bandwidth",
                      Health::degraded,
                      "pcie_bandwidth_low",
                      "takes 2 GB/s",
                      {{"value", "2"}}}};
  report.issuer = "2026-11-21T03:04:05.000Z_7";
  report.time = parse_time("2026-11-21T03:04:05Z");
  report.is_let_in = true;
  report.is_simulated = true;
  report.phase = kube::ReportPhase::undone;
  report.plan = "plan-1";
  report.said = "the pod was moved";
  report.acted = report.time;
  report.undone = report.time;
  return report;
}

// The two objects side by side, as one.
void print(const kube::HealthCheckReport& report) {
  const std::string all = kube::health_check_report_json(report);
  const std::string status = kube::health_check_status_patch(report);
  std::printf("%s,%s\n", all.substr(0, all.size() - 1).c_str(), status.substr(1).c_str());
}

}  // namespace

int main() {
  print(sample());
  kube::HealthCheckReport full = sample();
  constexpr std::size_t kTooMany = 1000;
  full.tests.assign(kTooMany, std::string(kTooMany, 't'));
  full.gpus.assign(kTooMany, std::string(kTooMany, 'g'));
  full.message = std::string(kTooMany * 2, 'm');
  full.findings.assign(kTooMany, full.findings.front());
  for (kube::ReportedFinding& finding : full.findings) {
    finding.message = full.message;
    for (std::size_t i = 0; i < kTooMany; ++i)
      finding.evidence[std::to_string(i)] = full.message;
  }
  print(full);
  return 0;
}
