// SPDX-License-Identifier: Apache-2.0
#include "cli/learn_evaluate.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/cli.hpp"
#include "cli/output/hazard_tables.hpp"
#include "cli/output/print.hpp"
#include "cli/trace_file.hpp"
#include "core/parse.hpp"
#include "core/result.hpp"
#include "learning/hazard/hazard_evaluation.hpp"

namespace autopilot::cli {
namespace {

struct EvaluateOptions {
  std::string trace;
  std::string fit;  // empty: the model is fitted on the trace
  std::optional<std::size_t> nodes;
  std::optional<double> fit_until;
  double horizon = 28;
  std::uint64_t seed = 1;
  std::string format = "table";
};

constexpr double kMostDays = 36500;  // as in a trace

// "174.186"
std::string day_text(double days) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.7g", days);
  return text.data();
}

// Validators of CLI11: an empty text accepts the value.
std::string check_horizon(const std::string& text) {
  const auto days = parse_number<double>(text);
  if (days && *days > 0 && *days <= kMostDays) return {};
  return "expected more than 0 and at most " + day_text(kMostDays) + " days, not '" + text + "'";
}

std::string check_fit_until(const std::string& text) {
  const auto day = parse_number<double>(text);
  if (day && *day > 0 && *day <= kMostDays) return {};
  return "expected a day after 0 and up to " + day_text(kMostDays) + ", not '" + text + "'";
}

std::string check_seed(const std::string& text) {
  if (parse_number<std::uint64_t>(text)) return {};
  return "expected a whole number from 0 to 18446744073709551615, not '" + text + "'";
}

struct Trace {
  std::vector<learning::FaultEvent> events;
  learning::TraceFaults paired;
  learning::FleetHistory fleet;
};

Result<Trace> make_trace(std::vector<learning::FaultEvent> events, const EvaluateOptions& options,
                         const std::string& path) {
  Trace trace;
  trace.events = std::move(events);
  trace.paired = learning::pair_events(trace.events);
  auto fleet = learning::make_fleet_history(trace.paired.faults, options.nodes, trace.paired.end_day);
  if (!fleet) return fail(fleet.error().code, path + ": " + fleet.error().what);
  trace.fleet = std::move(*fleet);
  tell_trace_problems(path, trace.paired.problems);
  return trace;
}

// The first day of an event.
double begin_of(const std::vector<learning::FaultEvent>& events) {
  double begin = events.front().day;
  for (const learning::FaultEvent& event : events)
    begin = std::min(begin, event.day);
  return begin;
}

struct Inputs {
  std::vector<learning::ModelFit> models;  // empty: to be fitted on the first part of `judged`
  Trace judged;
  double fit_until = 0;
};

Result<Inputs> read_one_trace(const EvaluateOptions& options) {
  Inputs inputs;
  std::vector<learning::FaultEvent> events = TRY(read_fault_trace(options.trace));
  inputs.judged = TRY(make_trace(std::move(events), options, options.trace));
  inputs.fit_until = options.fit_until.value_or(inputs.judged.fleet.end_day / 2);
  return inputs;
}

// A trace that goes on where the other ends is one history with it.
Result<Inputs> read_two_traces(const EvaluateOptions& options) {
  Inputs inputs;
  std::vector<learning::FaultEvent> events = TRY(read_fault_trace(options.fit));
  const Trace fitted = TRY(make_trace(std::move(events), options, options.fit));
  inputs.models = TRY(learning::fit_models(fitted.fleet, fitted.fleet.end_day));
  inputs.fit_until = options.fit_until.value_or(fitted.fleet.end_day);
  events = TRY(read_fault_trace(options.trace));
  if (begin_of(events) >= fitted.fleet.end_day)
    events.insert(events.begin(), fitted.events.begin(), fitted.events.end());
  inputs.judged = TRY(make_trace(std::move(events), options, options.trace));
  return inputs;
}

// Days that are left to judge, before anything is computed.
Status check_split(const EvaluateOptions& options, const Inputs& inputs) {
  const double end = inputs.judged.fleet.end_day;
  const std::string trace = options.trace + " ends on day " + day_text(end);
  const std::string split =
      (options.fit_until ? "--fit-until: day " : "a fit until day ") + day_text(inputs.fit_until);
  if (inputs.fit_until >= end)
    return fail(Errc::malformed,
                split + " leaves nothing to judge: " + trace + "; choose an earlier day with --fit-until");
  if (end - inputs.fit_until >= options.horizon) return {};
  const std::string remedy =
      end > options.horizon ? "fit until day " + day_text(std::floor((end - options.horizon) * 1000) / 1000) +
                                  " at most, or shorten the --horizon"
                            : "shorten the --horizon";
  return fail(Errc::malformed, split + " leaves " + day_text(end - inputs.fit_until) +
                                   " days to judge, less than the horizon of " + day_text(options.horizon) +
                                   " days: " + trace + "; " + remedy);
}

int evaluate_trace(const EvaluateOptions& options) {
  auto inputs = options.fit.empty() ? read_one_trace(options) : read_two_traces(options);
  if (!inputs) return report(inputs.error());
  if (const Status split = check_split(options, *inputs); !split) return report(split.error());
  if (!options.nodes)
    tell("--nodes is not set: the " + std::to_string(inputs->judged.fleet.node_count()) +
         " nodes with a fault count as the whole fleet. Rates are too high and lifts are wrong if there are "
         "more; set --nodes to the size of the fleet");
  learning::HazardEvaluationOptions settings;
  settings.fit_until_day = inputs->fit_until;
  settings.horizon_days = options.horizon;
  settings.seed = options.seed;
  const auto result = inputs->models.empty() ? learning::evaluate_hazard(inputs->judged.fleet, settings)
                                             : learning::evaluate_hazard(inputs->judged.fleet,
                                                                         std::move(inputs->models), settings);
  if (!result) return report(result.error());
  const TraceCounts counts{inputs->judged.events.size(), inputs->judged.paired.faults.size(),
                           inputs->judged.paired.problems};
  if (options.format == "json")
    print_document(hazard_json(*result, counts));
  else
    std::cout << render_hazard(*result, counts, terminal_style());
  return kExitHealthy;
}

void add_evaluate_options(CLI::App& verb, EvaluateOptions& options) {
  verb.add_option("--trace", options.trace, "Fault trace to judge (docs/learning.md has the format)")
      ->required()
      ->type_name("FILE");
  verb.add_option("--fit", options.fit, "Fit on this trace instead of the first part of the other")
      ->type_name("FILE");
  verb.add_option("--nodes", options.nodes, "Nodes of the fleet, including nodes without a fault")
      ->check(CLI::Range(std::size_t{1}, learning::kMostNodes))
      ->type_name("N");
  verb.add_option(
          "--fit-until", options.fit_until,
          "Fit until this day and judge the rest (default: half of the trace, or the last day of --fit)")
      ->type_name("DAY")
      ->check(check_fit_until);
  verb.add_option("--horizon", options.horizon,
                  "Days within which a fault counts for the ranking (default: 28)")
      ->type_name("DAYS")
      ->check(check_horizon);
  verb.add_option("--seed", options.seed, "Seed of the bootstrap intervals (default: 1)")
      ->type_name("N")
      ->check(check_seed);
  verb.add_option("-o,--output", options.format, "table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->type_name("FORMAT");
}

}  // namespace

void add_learn_evaluate(CLI::App& learn, int& exit_code) {
  auto options = std::make_shared<EvaluateOptions>();
  auto* verb = learn.add_subcommand("evaluate", "Judge hazard, probation and lemon score on a fault trace");
  add_evaluate_options(*verb, *options);
  verb->footer(
      "Fits on one part of the trace and judges the other: the lift of a probation\n"
      "after a return to service, the nodes that rank first, and the 7-day hazard.\n"
      "Intervals are of 95 %, by bootstrap over nodes. The same seed gives the same\n"
      "output.\n\n"
      "Examples:\n"
      "  autopilot learn evaluate --trace faults.json --nodes 400\n"
      "  autopilot learn evaluate --trace faults.json --nodes 400 --fit-until 100\n"
      "  autopilot learn evaluate --fit first.json --trace second.json --nodes 400\n"
      "  autopilot learn evaluate --trace faults.json --nodes 400 -o json | jq .ranking");
  verb->callback([options, &exit_code] { exit_code = evaluate_trace(*options); });
}

}  // namespace autopilot::cli
