// SPDX-License-Identifier: Apache-2.0
#include "learning_signals.hpp"

#include <algorithm>
#include <chrono>

#include "api/learned_signals.hpp"
#include "jobs/engine.hpp"
#include "jobs/scoring/score.hpp"
#include "learning/adoption/propose_signals.hpp"
#include "simulator/jobs/generator.hpp"
#include "simulator/jobs/pcg.hpp"
#include "simulator/jobs/scenario.hpp"

namespace autopilot::learning::bench {
namespace {

constexpr Duration kWindow = std::chrono::seconds(10);
constexpr double kPoisoned = 0.4;
constexpr int kDraws = 10'000;

Result<simulated_jobs::Scenario> scenario_of(const SignalPlan& plan, std::uint64_t seed) {
  simulated_jobs::ScenarioOptions options;
  options.nodes = plan.nodes;
  options.hours = plan.hours;
  options.faults_per_1000_node_days = plan.faults_per_1000_node_days;
  options.missing_windows = plan.missing_windows;
  auto scenario = TRY(simulated_jobs::make_scenario(seed, options));
  scenario.silicon = plan.silicon;
  auto random = simulated_jobs::Pcg::mixed(seed, 77);
  for (simulated_jobs::PlannedFault& fault : scenario.faults)
    if (fault.fault_class == simulated_jobs::FaultClass::gpu_clock)
      fault.magnitude = random.uniform(plan.least_clock_loss, plan.most_clock_loss);
  return scenario;
}

struct SeedRun {
  jobs::Labels labels;
  jobs::RunLog log;
  std::vector<jobs::PeerScore> scores;
};

Result<SeedRun> run_seed(const SignalPlan& plan, std::uint64_t seed, const jobs::SignalWeightsPtr& weights,
                         bool collects_scores) {
  simulated_jobs::Generator generator(TRY(scenario_of(plan, seed)));
  jobs::Engine engine({.collects_scores = collects_scores});
  engine.set_weights(weights);
  SeedRun run;
  std::vector<jobs::Record> records;
  WallTime now = generator.scenario().start;
  while (generator.next(records)) {
    now += kWindow;
    for (const jobs::Record& record : records) {
      engine.add(record);
      run.log.add(record);
    }
    engine.advance(now);
    for (const jobs::JobFinding& finding : engine.take())
      run.log.add(finding, now);
    for (jobs::PeerScore& score : engine.take_scores())
      run.scores.push_back(std::move(score));
  }
  run.labels = generator.labels();
  return run;
}

struct Training {
  SignalInput input;
  SignalReplay shipped;  // the values that ship, on the same seeds
};

// Names are the same in each seed: a node of another seed is another machine.
Result<Training> read_training(const SignalPlan& plan) {
  Training training;
  SignalInput& input = training.input;
  input = {.signals = api::shipped_signals(), .prior = api::shipped_prior()};
  for (std::uint64_t seed = plan.first_fit; seed <= plan.last_fit; ++seed) {
    SeedRun run = TRY(run_seed(plan, seed, nullptr, true));
    training.shipped += api::replay_of(jobs::score(run.labels, run.log));
    const std::string prefix = std::to_string(seed) + "/";
    for (SignalFinding& finding : api::signal_findings(jobs::label_findings(run.labels, run.log))) {
      finding.finding = prefix + finding.finding;
      finding.place = prefix + finding.place;
      input.findings.push_back(std::move(finding));
    }
    for (jobs::PeerScore& score : run.scores)
      score.node = prefix + score.node;
    api::add_scores(input.scores, run.scores);
    for (LabelledFault& fault : api::faults_of(run.labels)) {
      fault.place = prefix + fault.place;
      input.faults.push_back(std::move(fault));
    }
  }
  return training;
}

// Labels of people, of which 40 % are the opposite.
SignalInput poisoned(SignalInput input) {
  auto random = simulated_jobs::Pcg::mixed(4242, 1);
  for (SignalFinding& finding : input.findings) {
    finding.trust = trust_of(LabelSource::user);
    if (!random.chance(kPoisoned)) continue;
    finding.answer = finding.answer == LabelAnswer::faulty ? LabelAnswer::healthy : LabelAnswer::faulty;
  }
  return input;
}

Result<jobs::SignalWeightsPtr> weights_in(const std::optional<Version>& proposal) {
  if (!proposal) return jobs::SignalWeightsPtr{};
  return api::weights_of(*proposal);
}

// As `autopilot learn propose`: a proposal that is worse on what it was learned from is not made.
Result<SignalOutcome> propose(const SignalPlan& plan, const SignalInput& input, const SignalReplay& shipped) {
  SignalOutcome outcome = propose_signals(input);
  const jobs::SignalWeightsPtr weights = TRY(weights_in(outcome.proposal));
  if (!weights) return outcome;
  withhold(outcome, what_is_worse(api::judge_findings(input.findings, nullptr),
                                  api::judge_findings(input.findings, weights.get())));
  if (!outcome.proposal) return outcome;
  SignalReplay proposed;
  for (std::uint64_t seed = plan.first_fit; seed <= plan.last_fit; ++seed) {
    const SeedRun run = TRY(run_seed(plan, seed, weights, false));
    proposed += api::replay_of(jobs::score(run.labels, run.log));
  }
  withhold(outcome, what_is_worse(shipped, proposed));
  return outcome;
}

Result<SignalArm> judge(const SignalPlan& plan, std::string name, const jobs::SignalWeightsPtr& weights) {
  SignalArm arm{.name = std::move(name)};
  for (std::uint64_t seed = plan.first_judged; seed <= plan.last_judged; ++seed) {
    const SeedRun run = TRY(run_seed(plan, seed, weights, false));
    const jobs::Score score = jobs::score(run.labels, run.log);
    arm.faults += score.faults;
    arm.detected += score.detected;
    arm.false_findings += score.false_findings;
    arm.false_accusations += score.false_accusations.events;
    arm.node_days += score.exposure.node_days;
    arm.runs.push_back({score.faults, score.detected, score.false_findings});
  }
  return arm;
}

double f1_of(double faults, double detected, double wrong) {
  return faults + detected + wrong == 0 ? 1 : 2 * detected / (faults + detected + wrong);
}

void bootstrap(SignalComparison& comparison) {
  const SignalArm& off = comparison.arms[0];
  const SignalArm& on = comparison.arms[1];
  auto random = simulated_jobs::Pcg::mixed(99, 2);
  std::vector<double> gains;
  const auto seeds = static_cast<std::uint32_t>(off.runs.size());
  for (int draw = 0; draw < kDraws; ++draw) {
    SignalArm sums[2];
    for (std::uint32_t i = 0; i < seeds; ++i) {
      const std::size_t at = random.below(seeds);
      for (const auto& [sum, run] : {std::pair(&sums[0], &off.runs[at]), std::pair(&sums[1], &on.runs[at])}) {
        sum->faults += run->faults;
        sum->detected += run->detected;
        sum->false_findings += run->false_findings;
      }
    }
    gains.push_back(sums[1].f1() - sums[0].f1());
  }
  std::ranges::sort(gains);
  comparison.gain = on.f1() - off.f1();
  comparison.gain_low = gains[kDraws / 40];
  comparison.gain_high = gains[kDraws - kDraws / 40 - 1];
}

}  // namespace

double SignalArm::f1() const {
  return f1_of(static_cast<double>(faults), static_cast<double>(detected),
               static_cast<double>(false_findings));
}

Result<SignalComparison> compare_signals(const SignalPlan& plan) {
  SignalComparison comparison{.plan = plan};
  const Training training = TRY(read_training(plan));
  const SignalInput& input = training.input;
  comparison.labelled = input.findings.size();
  for (const SignalFinding& finding : input.findings)
    comparison.wrong += finding.answer == LabelAnswer::healthy ? 1 : 0;
  for (const auto& [signal, scores] : input.scores)
    comparison.scores += scores.size();
  const auto sentence = [](const SignalOutcome& one) {
    std::string text = one.proposal ? one.proposal->proposal.to : "no change";
    for (const std::string& refused : one.refused)
      text += "; " + refused;
    return text;
  };
  SignalInput only_weights = input;
  only_weights.scores.clear();
  const SignalOutcome on = TRY(propose(plan, input, training.shipped));
  const SignalOutcome of_weights = TRY(propose(plan, only_weights, training.shipped));
  const SignalOutcome wrong = TRY(propose(plan, poisoned(input), training.shipped));
  comparison.learned = sentence(on);
  comparison.poisoned = sentence(wrong);
  comparison.arms.push_back(TRY(judge(plan, "off", nullptr)));
  std::vector<std::string> judged{"no change"};  // what each arm uses
  for (const auto& [name, proposal] : {std::pair<std::string, std::optional<Version>>{"on", on.proposal},
                                       {"only weights", of_weights.proposal},
                                       {"40 % wrong labels", wrong.proposal}}) {
    const std::string used = proposal ? proposal->proposal.to : "no change";
    const auto same = std::ranges::find(judged, used);
    if (same == judged.end()) {
      comparison.arms.push_back(TRY(judge(plan, name, TRY(weights_in(proposal)))));
    } else {
      comparison.arms.push_back(comparison.arms[static_cast<std::size_t>(same - judged.begin())]);
      comparison.arms.back().name = name;
    }
    judged.push_back(used);
  }
  bootstrap(comparison);
  return comparison;
}

}  // namespace autopilot::learning::bench
