// SPDX-License-Identifier: Apache-2.0
// Post-flight learning on fleets that are drawn by seed: degraded nodes found by learned baselines and by the
// open rules of SuperBench, a shift of firmware, budgets of false findings, and the choice of diagnostics;
// and the in-flight engine with learned weights of signals. Prints JSON; learning_bench.py prints the table.
//
//   learning_bench detection|shift|breakdown|budget|selection|signals FIRST_SEED LAST_SEED
#include <boost/json.hpp>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "learning_budget.hpp"
#include "learning_detection.hpp"
#include "learning_selection.hpp"
#include "learning_signals.hpp"

namespace autopilot::learning::bench {
namespace {

namespace json = boost::json;

json::value shown(const Detection& one) {
  return json::object{{"rule", one.rule},
                      {"magnitude", one.magnitude},
                      {"contamination", one.contamination},
                      {"fleets", one.fleets},
                      {"refused", one.refused},
                      {"bad", one.bad},
                      {"found", one.found},
                      {"healthy", one.healthy},
                      {"wrong", one.wrong},
                      {"precision", one.precision()},
                      {"recall", one.recall()},
                      {"f1", one.f1()},
                      {"auc", one.auc},
                      {"gain", json::array{one.gain_low, one.gain_high}}};
}

json::value shown(const Shift& one) {
  return json::object{{"rule", one.rule},       {"spread", one.spread}, {"fleets", one.fleets},
                      {"refused", one.refused}, {"nodes", one.nodes},   {"failed", one.failed},
                      {"worst", one.worst}};
}

json::value shown(const Breakdown& one) {
  return json::object{
      {"magnitude", one.magnitude}, {"fleets", one.fleets}, {"refused", one.refused}, {"wrong", one.wrong}};
}

json::value shown(const BudgetResult& one) {
  return json::object{
      {"method", one.method},       {"scores", one.scores},
      {"asked", one.asked},         {"findings", one.findings},
      {"node_days", one.node_days}, {"rate", json::array{one.per_1000_node_days, one.low, one.high}},
      {"seeds", one.seeds},         {"within", one.within}};
}

json::value shown(const PolicyCost& one) {
  return json::object{{"policy", one.policy},   {"faults", one.faults},
                      {"escaped", one.escaped}, {"diagnostics", one.diagnostics},
                      {"losses", one.losses},   {"false_positives", one.false_positives},
                      {"total", one.total()}};
}

template <class T>
int print(const std::vector<T>& results) {
  json::array rows;
  for (const T& result : results)
    rows.push_back(shown(result));
  std::puts(json::serialize(rows).c_str());
  return 0;
}

json::value shown(const SignalArm& one) {
  return json::object{{"name", one.name},
                      {"faults", one.faults},
                      {"detected", one.detected},
                      {"false_findings", one.false_findings},
                      {"false_accusations", one.false_accusations},
                      {"node_days", one.node_days},
                      {"f1", one.f1()}};
}

int print_signals(const Seeds& seeds) {
  SignalPlan plan;
  plan.first_judged = seeds.first;
  plan.last_judged = seeds.last;
  const auto compared = compare_signals(plan);
  if (!compared) {
    std::fprintf(stderr, "learning_bench: %s\n", compared.error().what.c_str());
    return 2;
  }
  json::array arms;
  for (const SignalArm& arm : compared->arms)
    arms.push_back(shown(arm));
  std::puts(json::serialize(
                json::object{{"fit", json::array{plan.first_fit, plan.last_fit}},
                             {"nodes", plan.nodes},
                             {"hours", plan.hours},
                             {"rate", plan.faults_per_1000_node_days},
                             {"silicon", plan.silicon},
                             {"missing_windows", plan.missing_windows},
                             {"clock_loss", json::array{plan.least_clock_loss, plan.most_clock_loss}},
                             {"labelled", compared->labelled},
                             {"wrong", compared->wrong},
                             {"scores", compared->scores},
                             {"learned", compared->learned},
                             {"poisoned", compared->poisoned},
                             {"arms", arms},
                             {"gain", json::array{compared->gain, compared->gain_low, compared->gain_high}}})
                .c_str());
  return 0;
}

bool parse_seed(std::string_view text, std::uint64_t& seed) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  return error == std::errc() && end == text.data() + text.size();
}

int run(const std::vector<std::string_view>& words) {
  Seeds seeds;
  if (words.size() == 3 && parse_seed(words[1], seeds.first) && parse_seed(words[2], seeds.last) &&
      seeds.first <= seeds.last) {
    if (words[0] == "detection") return print(run_detection(seeds));
    if (words[0] == "shift") return print(run_shift(seeds));
    if (words[0] == "breakdown") return print(run_breakdown(seeds));
    if (words[0] == "budget") return print(run_budget(seeds));
    if (words[0] == "selection") return print(run_selection(seeds));
    if (words[0] == "signals") return print_signals(seeds);
  }
  std::fputs("learning_bench: invalid arguments; they are at the top of learning_bench.cpp\n", stderr);
  return 2;
}

}  // namespace
}  // namespace autopilot::learning::bench

int main(int count, char** words) {
  return autopilot::learning::bench::run({words + 1, words + count});
}
