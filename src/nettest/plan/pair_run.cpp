// SPDX-License-Identifier: Apache-2.0
#include "nettest/plan/pair_run.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "nettest/plan/round_plan.hpp"
#include "nettest/plan/rounds.hpp"

namespace autopilot::nettest {
namespace {

constexpr std::size_t kMostFlows = 1024;

bool is_share(double value) {
  return std::isfinite(value) && value > 0 && value <= 1;
}

Status check(const PairSettings& settings) {
  const bool are_counts_right = settings.samples >= 1 && settings.samples <= settings.most_samples &&
                                settings.most_samples <= kMostFlows && settings.cross_flows >= 1 &&
                                settings.cross_flows <= kMostFlows && settings.most_rounds >= 1;
  if (!are_counts_right)
    return fail(Errc::malformed,
                "pair tests: samples, flows and rounds must be at least 1, samples at most "
                "most_samples, and both at most " +
                    std::to_string(kMostFlows));
  if (!is_share(settings.least_loss) || !is_share(settings.aimed_error) ||
      !is_share(settings.false_accusations) || !is_share(settings.share_of_line_rate))
    return fail(Errc::malformed, "pair tests: a share must be above 0 and at most 1");
  return {};
}

Status check_rates(const Fabric& fabric) {
  for (const FabricNode& node : fabric.nodes())
    for (const RailNic& nic : node.nics)
      if (!nic.line_rate)
        return fail(Errc::malformed,
                    "pair tests: a share of the line rate is set, but the line rate of node " + node.name +
                        ", rail " + nic.rail + " is unknown");
  return {};
}

std::string name_of(const PairResult& result) {
  return "pair tests: result of test " + std::to_string(result.id);
}

Status check(const PairResult& result, const PairTest& test) {
  const bool is_empty = result.forward.empty() && result.backward.empty();
  if (is_empty != result.missing.has_value())
    return fail(Errc::malformed, name_of(result) + ": expected either values or a reason for their absence");
  for (const std::vector<double>* values : {&result.forward, &result.backward}) {
    if (values->size() > test.flows.size())
      return fail(Errc::malformed, name_of(result) + ": more values than flows");
    if (!std::ranges::all_of(*values, [](double value) { return std::isfinite(value) && value > 0; }))
      return fail(Errc::malformed, name_of(result) + ": a value is not a positive number");
  }
  return {};
}

}  // namespace

Result<PairRun> PairRun::create(Fabric fabric, const PairSettings& settings) {
  TRY_STATUS(check(settings));
  if (settings.share_of_line_rate < 1) TRY_STATUS(check_rates(fabric));
  if (settings.all_pairs && fabric.nodes().size() > kMostForAllPairs)
    return fail(Errc::exhausted, "the all-pairs test supports at most " + std::to_string(kMostForAllPairs) +
                                     " nodes, but the fabric has " + std::to_string(fabric.nodes().size()));
  return PairRun(std::move(fabric), settings);
}

PairRun::PairRun(Fabric fabric, const PairSettings& settings)
    : fabric_(std::move(fabric)), settings_(settings), gone_(fabric_.nodes().size()) {}

std::vector<Record> PairRun::plan_round() {
  const Known known{fabric_, records_, gone_, settings_, rounds_};
  if (settings_.all_pairs) {
    if (is_confirming_) return {};
    std::vector<Record> round = all_pairs_round(known);
    if (!round.empty()) return round;
    is_confirming_ = true;
  } else if (rounds_ == 0) {
    return first_round(known);
  } else if (rounds_ == settings_.most_rounds) {
    return {};
  }
  const Readings readings = read_records(fabric_, records_, gone_, settings_);
  const Ends ends(fabric_.nics(), readings, settings_);
  return nettest::next_round(known, readings, ends,
                             read_flows(fabric_, records_, readings, ends, gone_, settings_));
}

std::vector<PairTest> PairRun::next_round() {
  if (is_over_) return {};
  std::vector<Record> round = plan_round();
  expect(fabric_, round, settings_);
  std::vector<PairTest> tests;
  tests.reserve(round.size());
  for (Record& record : round) {
    record.test.id = static_cast<std::uint32_t>(records_.size());
    tests.push_back(record.test);
    records_.push_back(std::move(record));
  }
  if (tests.empty())
    is_over_ = true;
  else
    ++rounds_;
  return tests;
}

Status PairRun::take(PairResult result) {
  if (result.id >= records_.size()) return fail(Errc::not_found, name_of(result) + ": unknown test");
  Record& record = records_[result.id];
  if (record.result) return fail(Errc::conflict, name_of(result) + " twice");
  TRY_STATUS(check(result, record.test));
  record.result = std::move(result);
  return {};
}

Status PairRun::leave(NodeNumber node) {
  if (node >= gone_.size()) return fail(Errc::not_found, "pair tests: unknown node " + std::to_string(node));
  gone_[node] = true;
  return {};
}

Verdict PairRun::verdict() const {
  Verdict verdict = make_verdict(fabric_, records_, gone_, settings_);
  verdict.is_complete = is_over_;
  verdict.rounds = rounds_;
  return verdict;
}

}  // namespace autopilot::nettest
