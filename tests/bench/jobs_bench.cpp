// SPDX-License-Identifier: Apache-2.0
// The in-flight engine on simulated jobs (simulator/jobs): what it finds of the faults that were planted,
// what it reports beside them, how soon, and what it costs; the same for the engine without one of its parts,
// and for the methods of job_baselines.hpp. Prints JSON; jobs_bench.py prints the table.
//
//   jobs_bench --seeds 1001-1040 --nodes 16 --hours 24 --rate 800 [--class NAME]... [--magnitude 0.1]
//              [--confounders all|mixed] [--method NAME]...
//   jobs_bench --scale NODES --jobs JOBS --minutes MINUTES [--through engine|receiver]
//   jobs_bench --decisions TRIALS --seed 1 --least-probability 0.6
#include <boost/json.hpp>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <utility>
#include <vector>

#include "job_decisions.hpp"
#include "job_method.hpp"
#include "job_reception.hpp"
#include "job_runs.hpp"
#include "job_tally.hpp"
#include "jobs/scoring/intervals.hpp"

namespace autopilot::jobs::bench {
namespace {

namespace json = boost::json;

json::value shown(const std::optional<Estimate>& estimate) {
  if (!estimate) return nullptr;
  return json::array{estimate->value, estimate->low, estimate->high};
}

json::value shown(std::optional<double> value) {
  return value ? json::value(*value) : json::value(nullptr);
}

// Faults of one kind: recall, localisation, delays.
struct Group {
  std::size_t faults = 0, detected = 0, noticed = 0, confirmed = 0, named = 0, named_right = 0;
  std::vector<double> delays, confirmations;

  void add(const FaultRow& row) {
    ++faults;
    if (row.is_detected) ++detected;
    if (row.is_noticed) ++noticed;
    if (row.delay_s) delays.push_back(*row.delay_s);
    if (row.confirmed_s) confirmations.push_back(*row.confirmed_s);
    if (!row.first_is_right) return;
    ++named;
    if (*row.first_is_right) ++named_right;
  }

  json::object result() {
    const auto share = [](std::size_t hits, std::size_t trials) {
      return shown(proportion(static_cast<double>(hits), static_cast<double>(trials)));
    };
    return {{"faults", faults},
            {"detected", detected},
            {"recall", share(detected, faults)},
            {"noticed", share(noticed, faults)},
            {"named", named},
            {"named_right", named_right},
            {"top1", share(named_right, named)},
            {"delay_median_s", shown(quantile(delays, 0.5))},
            {"delay_p90_s", shown(quantile(delays, 0.9))},
            {"confirmed", confirmations.size()},
            {"confirmed_median_s", shown(quantile(confirmations, 0.5))},
            {"confirmed_p90_s", shown(quantile(confirmations, 0.9))},
            {"confirmed_most_s", shown(quantile(confirmations, 1))}};
  }
};

json::object shown(std::map<std::string, Group>& groups) {
  json::object result;
  for (auto& [name, group] : groups)
    result[name] = group.result();
  return result;
}

json::object shown(const Tally& tally) {
  const auto hits = static_cast<double>(tally.detected);
  const auto wrong = static_cast<double>(tally.false_findings);
  const auto faults = static_cast<double>(tally.faults);
  std::map<std::string, Group> slow;
  std::map<std::string, Group> hangs;
  std::map<std::string, Group> classes;
  for (const FaultRow& row : tally.rows) {
    if (row.effect == Effect::slow) slow[row.magnitude].add(row);
    if (row.effect == Effect::slow) slow["all"].add(row);
    if (row.effect == Effect::hang) hangs[row.source].add(row);
    classes[row.fault_class].add(row);
  }
  json::array each_run;
  for (const Tally::Run& one : tally.each_run)
    each_run.push_back(json::array{one.faults, one.detected, one.false_findings});
  return {{"each_run", each_run},
          {"faults", tally.faults},
          {"detected", tally.detected},
          {"false_findings", tally.false_findings},
          {"unlocalised", tally.unlocalised},
          {"precision", shown(proportion(hits, hits + wrong))},
          {"recall", shown(proportion(hits, faults))},
          {"f1", shown(f1_of(hits, wrong, faults - hits))},
          {"false_accusations", tally.false_accusations},
          {"accusations_per_1000_node_days", shown(rate(tally.false_accusations, tally.node_days / 1000))},
          {"false_hangs", tally.false_hangs},
          {"false_hangs_per_job_day", shown(rate(tally.false_hangs, tally.job_days))},
          {"wrong_culprits", tally.wrong_culprits},
          {"blamed_confounders", tally.blamed_confounders},
          {"node_days", tally.node_days},
          {"job_days", tally.job_days},
          {"cpu_s", tally.cpu_s},
          {"slow", shown(slow)},
          {"hangs", shown(hangs)},
          {"classes", shown(classes)}};
}

double peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

int print_runs(const RunPlan& plan) {
  auto measured = run_all(plan);
  if (!measured) {
    std::fprintf(stderr, "jobs_bench: %s\n", measured.error().what.c_str());
    return 2;
  }
  json::object methods;
  for (const auto& [name, tally] : measured->methods)
    methods[name] = shown(tally);
  const json::object result{{"methods", methods},
                            {"unequal_stages_and_sequences", measured->unequal_accusations},
                            {"unequal_node_days", measured->unequal_node_days},
                            {"cpu_s", measured->cpu_s},
                            {"wall_s", measured->wall_s},
                            {"peak_bytes", peak_bytes()}};
  std::puts(json::serialize(result).c_str());
  return 0;
}

int print_reception(const ScalePlan& plan) {
  const ReceptionCost cost = run_reception(plan);
  const json::object result{{"nodes", plan.nodes},
                            {"jobs", plan.jobs},
                            {"minutes", plan.minutes},
                            {"batches", cost.batches},
                            {"bytes", cost.bytes},
                            {"records", cost.records},
                            {"refused", cost.refused},
                            {"malformed", cost.malformed},
                            {"dropped", cost.dropped},
                            {"running_jobs", cost.jobs},
                            {"receiver_cpu_s_per_minute", cost.receiver_cpu_s / plan.minutes},
                            {"brain_cpu_s_per_minute", cost.brain_cpu_s / plan.minutes},
                            {"heap_bytes", cost.heap_bytes},
                            {"peak_bytes", peak_bytes()}};
  std::puts(json::serialize(result).c_str());
  return 0;
}

int print_scale(const ScalePlan& plan) {
  const ScaleCost cost = run_scale(plan);
  const json::object result{{"nodes", plan.nodes},
                            {"jobs", plan.jobs},
                            {"minutes", plan.minutes},
                            {"records", cost.records},
                            {"findings", cost.findings},
                            {"cpu_s_per_minute", cost.cpu_s / plan.minutes},
                            {"most_cpu_s_of_a_minute", cost.most_cpu_s},
                            {"heap_bytes", cost.heap_bytes},
                            {"peak_bytes", peak_bytes()}};
  std::puts(json::serialize(result).c_str());
  return 0;
}

int print_decisions(const DecisionPlan& plan) {
  const DecisionCosts costs = run_decisions(plan);
  json::object policies;
  for (const PolicyCost& cost : costs.policies)
    policies[cost.name] = {{"lost_hours", cost.lost_hours},
                           {"regret", costs.regret(cost.name)},
                           {"stops", cost.stops},
                           {"false_stops", cost.false_stops}};
  std::puts(json::serialize(json::object{{"trials", plan.trials}, {"policies", policies}}).c_str());
  return 0;
}

template <class T>
bool parse(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool parse_seeds(std::string_view text, RunPlan& plan) {
  const std::size_t at = text.find('-');
  return at != std::string_view::npos && parse(text.substr(0, at), plan.first_seed) &&
         parse(text.substr(at + 1), plan.last_seed) && plan.first_seed <= plan.last_seed;
}

bool parse_class(std::string_view text, RunPlan& plan) {
  for (const simulated_jobs::FaultType& type : simulated_jobs::fault_types())
    if (type.name == text) {
      plan.options.classes.push_back(type.fault_class);
      return true;
    }
  return false;
}

bool parse_confounders(std::string_view text, RunPlan& plan) {
  plan.has_all_confounders = text == "all";
  plan.is_mixed = text == "mixed";
  return plan.has_all_confounders || plan.is_mixed;
}

bool parse_through(std::string_view text, ScalePlan& scale) {
  scale.has_receiver = text == "receiver";
  return scale.has_receiver || text == "engine";
}

struct Plans {
  RunPlan runs;
  ScalePlan scale;
  DecisionPlan decisions{.trials = 0};
};

bool parse_option(std::string_view name, std::string_view value, Plans& plans) {
  auto& [plan, scale, decisions] = plans;
  if (name == "--seeds") return parse_seeds(value, plan);
  if (name == "--nodes") return parse(value, plan.options.nodes.emplace());
  if (name == "--hours") return parse(value, plan.options.hours.emplace());
  if (name == "--rate") return parse(value, plan.options.faults_per_1000_node_days);
  if (name == "--class") return parse_class(value, plan);
  if (name == "--magnitude") return parse(value, plan.options.magnitude.emplace());
  if (name == "--confounders") return parse_confounders(value, plan);
  if (name == "--scale") return parse(value, scale.nodes);
  if (name == "--through") return parse_through(value, scale);
  if (name == "--jobs") return parse(value, scale.jobs) && scale.jobs > 0;
  if (name == "--minutes") return parse(value, scale.minutes) && scale.minutes > 0;
  if (name == "--decisions") return parse(value, decisions.trials);
  if (name == "--seed") return parse(value, decisions.seed);
  if (name == "--least-probability") return parse(value, decisions.least_probability);
  if (name != "--method" || !make_method(value)) return false;
  plan.methods.emplace_back(value);
  return true;
}

int run(const std::vector<std::string_view>& words) {
  Plans plans;
  for (std::size_t i = 0; i < words.size(); i += 2)
    if (i + 1 >= words.size() || !parse_option(words[i], words[i + 1], plans)) {
      std::fprintf(stderr, "jobs_bench: invalid option %s; the options are at the top of jobs_bench.cpp\n",
                   std::string(words[i]).c_str());
      return 2;
    }
  if (plans.runs.methods.empty())
    for (const std::string_view name : method_names())
      plans.runs.methods.emplace_back(name);
  if (plans.decisions.trials > 0) return print_decisions(plans.decisions);
  if (plans.scale.nodes == 0) return print_runs(plans.runs);
  return plans.scale.has_receiver ? print_reception(plans.scale) : print_scale(plans.scale);
}

}  // namespace
}  // namespace autopilot::jobs::bench

int main(int count, char** words) {
  return autopilot::jobs::bench::run({words + 1, words + count});
}
