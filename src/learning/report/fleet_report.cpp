// SPDX-License-Identifier: Apache-2.0
#include "learning/report/fleet_report.hpp"

#include <vector>

namespace autopilot::learning {

Result<FleetReport> make_fleet_report(ReportRecords records, const ReportInterval& interval,
                                      std::optional<double> gpu_hour_price) {
  if (interval.since >= interval.until)
    return fail(Errc::malformed, "the interval is empty: it begins at " + format_time(interval.since) +
                                     " and ends at " + format_time(interval.until) +
                                     "; --since must be before --until");
  join_records(records);
  const std::vector<SettledFault> settled = settle_all(records);
  FleetReport report;
  report.interval = interval;
  report.gpu_hour_price = gpu_hour_price;
  report.time = node_time(records, interval);
  report.faults = fault_figures(records, settled, report.time, interval);
  report.findings = finding_quality(records, settled, interval);
  report.jobs = job_figures(records, interval, gpu_hour_price);
  report.validations = validation_figures(records, interval);
  report.lemons = TRY(lemon_list(records, interval.until));
  return report;
}

}  // namespace autopilot::learning
