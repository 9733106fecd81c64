// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/cli.hpp"
#include "cli/moment.hpp"
#include "cli/output/print.hpp"
#include "cli/output/report_pages.hpp"
#include "cli/report_history.hpp"
#include "cli/verbs.hpp"
#include "host/clock/system_clock.hpp"
#include "learning/report/fleet_report.hpp"

namespace autopilot::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> histories;
  std::string since = "30d";
  std::string until;
  std::optional<double> gpu_hour_price;
  std::string format = "text";
};

Result<learning::ReportInterval> interval_of(const ReportOptions& options) {
  const WallTime now = host::SystemClock{}.now().wall;
  learning::ReportInterval interval;
  interval.until = TRY(parse_moment("--until", options.until, now, now));
  interval.since = TRY(parse_moment("--since", options.since, now, now));
  if (interval.since >= interval.until)
    return fail(Errc::malformed, "--since: " + format_time(interval.since) + " is not before the end, " +
                                     format_time(interval.until) + "; choose an earlier --since");
  return interval;
}

int print_report(const ReportOptions& options) {
  const auto interval = interval_of(options);
  if (!interval) return report_usage(interval.error().what);
  auto records = read_report_records(options.histories, interval->since, interval->until);
  if (!records) return report(records.error());
  const auto made = learning::make_fleet_report(std::move(*records), *interval, options.gpu_hour_price);
  if (!made) return report(made.error());
  if (options.format == "json")
    print_document(report_json(*made));
  else if (options.format == "html")
    std::cout << report_html(*made);
  else
    std::cout << report_text(*made, terminal_style());
  return kExitHealthy;
}

}  // namespace

void add_report(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ReportOptions>();
  auto* verb = app.add_subcommand("report", "Summarize faults, findings, jobs and validations of nodes");
  verb->add_option("--since", options->since, "Begin: 30d, 12h or a time (default: 30d)")->type_name("WHEN");
  verb->add_option("--until", options->until, "End: 1d (ago) or a time (default: now)")->type_name("WHEN");
  verb->add_option("--gpu-hour-price", options->gpu_hour_price,
                   "Price of one GPU-hour, in your currency; adds the cost of lost GPU-hours")
      ->check(CLI::Range(0.0, 1e6))
      ->type_name("PRICE");
  verb->add_option("-o,--output", options->format, "text, json or html (one page to print)")
      ->check(CLI::IsMember({"text", "json", "html"}))
      ->type_name("FORMAT");
  add_histories_option(*verb, options->histories);
  verb->footer(
      "Each figure states on how many records it is based. A fault without a label is\n"
      "neither right nor wrong. Histories of several nodes are joined; a node counts\n"
      "from its first record on (docs/reports.md).\n\n"
      "Examples:\n"
      "  sudo autopilot report\n"
      "  autopilot report --since 90d --history gpu-1.db gpu-2.db -o html > report.html\n"
      "  autopilot report --gpu-hour-price 2.5 -o json | jq .lostGpuHours");
  verb->callback([options, &exit_code] { exit_code = print_report(*options); });
}

}  // namespace autopilot::cli
