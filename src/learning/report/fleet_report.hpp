// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "core/result.hpp"
#include "learning/report/fault_figures.hpp"
#include "learning/report/finding_quality.hpp"
#include "learning/report/job_figures.hpp"
#include "learning/report/lemon_list.hpp"
#include "learning/report/node_time.hpp"
#include "learning/report/report_records.hpp"

// The figures of one node or of many in an interval, from their history.
namespace autopilot::learning {

struct FleetReport {
  ReportInterval interval;
  NodeTime time;
  FaultFigures faults;
  FindingQuality findings;
  JobFigures jobs;
  ValidationFigures validations;
  std::optional<double> gpu_hour_price;
  LemonList lemons;  // as of the end of the interval
};

// The order of the records has no influence. `gpu_hour_price`: not negative; the unit is the caller's.
// malformed: the interval is empty. exhausted: one of the limits of lemon_list.
[[nodiscard]] Result<FleetReport> make_fleet_report(ReportRecords records, const ReportInterval& interval,
                                                    std::optional<double> gpu_hour_price);

}  // namespace autopilot::learning
