// SPDX-License-Identifier: Apache-2.0
#include "learning/adoption/propose_signals.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "learning/signals/signal_replay.hpp"

namespace autopilot::learning {
namespace {

constexpr WallTime kSeen{std::chrono::days(20'000)};
constexpr double kShippedPrior = 0.05;
const std::vector<SignalInUse> kSignals{{"clock", 4, false}, {"heat", 1.5, false}, {"xid", 4, true}};

SignalFinding labelled(int number, std::vector<std::string> signals, bool is_faulty, double trust) {
  return {.finding = "f" + std::to_string(number),
          .place = "n" + std::to_string(number % 20),
          .time = kSeen + std::chrono::minutes(number),
          .signals = std::move(signals),
          .answer = is_faulty ? LabelAnswer::faulty : LabelAnswer::healthy,
          .trust = trust};
}

// The clock is right in `right` of 10 findings, the Xid in all.
std::vector<SignalFinding> findings_with(int right, double trust, int count = 200) {
  std::vector<SignalFinding> findings;
  for (int i = 0; i < count; ++i)
    findings.push_back(i % 4 == 3 ? labelled(i, {"xid"}, true, trust)
                                  : labelled(i, {"clock"}, i / 4 % 10 < right, trust));
  return findings;
}

// Of strongly suspected nodes, people label four of ten healthy.
std::vector<SignalFinding> contradicting_feedback() {
  std::vector<SignalFinding> findings;
  for (int i = 0; i < 100; ++i)
    findings.push_back(labelled(i, {"clock", "heat", "xid"}, i % 10 < 6, 0.7));
  return findings;
}

double probability(const LearnedSignals& learned, const std::string& signal, double shipped) {
  const double prior = learned.prior > 0 ? learned.prior : kShippedPrior;
  const auto found = std::ranges::find(learned.weights, signal, &LearnedWeight::signal);
  const double odds =
      std::log(prior / (1 - prior)) + (found == learned.weights.end() ? shipped : found->log_odds);
  return 1 / (1 + std::exp(-odds));
}

TEST(SignalWeightFit, a_signal_that_is_mostly_wrong_no_longer_accuses) {
  const auto learned = learn_weights(kSignals, kShippedPrior, findings_with(1, 0.95));
  ASSERT_TRUE(learned) << learned.error().what;
  EXPECT_LT(probability(*learned, "clock", 4), 0.35);
  EXPECT_GT(probability(*learned, "xid", 4), 0.5);
  for (const LearnedWeight& one : learned->weights) {
    EXPECT_NE(one.signal, "xid");  // a fact
    EXPECT_LT(one.low, one.log_odds);
    EXPECT_GT(one.high, one.log_odds);
  }
}

TEST(SignalWeightFit, the_values_that_ship_stay_if_the_labels_agree_with_them) {
  const auto learned = learn_weights(kSignals, kShippedPrior, findings_with(7, 0.95));
  ASSERT_TRUE(learned);
  EXPECT_NEAR(probability(*learned, "clock", 4), 0.74, 0.06);
}

TEST(SignalWeightFit, few_or_one_sided_labels_are_refused) {
  const auto few = learn_weights(kSignals, kShippedPrior, findings_with(5, 0.95, 20));
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().code, Errc::unavailable);
  EXPECT_FALSE(learn_weights(kSignals, kShippedPrior, findings_with(10, 0.95)));  // none is healthy
  EXPECT_FALSE(learn_weights(kSignals, kShippedPrior, findings_with(5, 0.5)));    // agreement of detectors
}

TEST(SignalWeightFit, the_order_of_the_findings_has_no_influence) {
  std::vector<SignalFinding> findings = findings_with(2, 0.9);
  const auto first = learn_weights(kSignals, kShippedPrior, findings);
  std::mt19937 random(7);
  for (int i = 0; i < 5; ++i) {
    std::shuffle(findings.begin(), findings.end(), random);
    EXPECT_EQ(*learn_weights(kSignals, kShippedPrior, findings), *first);
  }
}

// Of nearly all right findings, people label 40 % the wrong way round.
TEST(SignalWeightFit, wrong_feedback_ends_no_accusation) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    std::vector<SignalFinding> findings = findings_with(9, 0.7);
    for (SignalFinding& one : findings)
      if (random() % 10 < 4)
        one.answer = one.answer == LabelAnswer::faulty ? LabelAnswer::healthy : LabelAnswer::faulty;
    const auto learned = learn_weights(kSignals, kShippedPrior, findings);
    if (!learned) continue;
    EXPECT_GT(probability(*learned, "clock", 4), 0.5) << seed;
    EXPECT_GT(probability(*learned, "xid", 4), 0.5) << seed;
  }
}

TEST(SignalWeightFit, feedback_against_strong_evidence_is_refused) {
  const auto learned = learn_weights(kSignals, kShippedPrior, contradicting_feedback());
  ASSERT_FALSE(learned);
  EXPECT_EQ(learned.error().code, Errc::conflict);
  EXPECT_NE(learned.error().what.find("40 of 100"), std::string::npos) << learned.error().what;
}

SignalScores scores_around(double middle, double spread, int nodes = 30, int count = 60) {
  std::mt19937 random(3);
  SignalScores scores;
  for (int node = 0; node < nodes; ++node)
    for (int i = 0; i < count; ++i) {
      double sum = 0;
      for (int k = 0; k < 12; ++k)
        sum += static_cast<double>(random()) / 4294967296.0;
      scores["clock"].push_back(
          {"n" + std::to_string(node), kSeen + i * std::chrono::minutes(30), middle + spread * (sum - 6)});
    }
  return scores;
}

TEST(SignalMargins, are_lowered_where_healthy_nodes_stay_far_from_them) {
  const auto fit = learn_margins(scores_around(0.15, 0.03), {}, {}, 10);
  ASSERT_TRUE(fit);
  ASSERT_EQ(fit->margins.size(), 1U);
  EXPECT_EQ(fit->margins[0].factor, kLeastMarginFactor);
  EXPECT_EQ(fit->nodes, 30U);
}

TEST(SignalMargins, are_raised_only_for_signals_whose_findings_were_wrong) {
  const SignalScores near = scores_around(0.8, 0.15);
  EXPECT_TRUE(learn_margins(near, {}, {}, 10)->margins.empty());
  const auto fit = learn_margins(near, {}, {"clock"}, 10);
  ASSERT_EQ(fit->margins.size(), 1U);
  EXPECT_GT(fit->margins[0].factor, 1.2);
}

TEST(SignalMargins, stay_with_few_nodes_or_a_signal_that_healthy_nodes_never_show) {
  EXPECT_TRUE(learn_margins(scores_around(0.15, 0.03, 10), {}, {}, 10)->margins.empty());
  EXPECT_TRUE(learn_margins(scores_around(-0.5, 0.01), {}, {}, 10)->margins.empty());
  EXPECT_FALSE(learn_margins(scores_around(0.15, 0.03), {}, {}, 0));
}

TEST(SignalMargins, windows_at_labelled_faults_do_not_count) {
  SignalScores scores = scores_around(0.15, 0.03);
  for (Score& score : scores["clock"])
    if (score.place == "n3" && score.time < kSeen + std::chrono::hours(2)) score.value = 3;
  const std::vector<LabelledFault> faults{{"n3", kSeen, kSeen + std::chrono::hours(2)}};
  EXPECT_EQ(learn_margins(scores, faults, {}, 10)->margins.size(), 1U);
  EXPECT_TRUE(learn_margins(scores, {}, {}, 10)->margins.empty());
}

bool is_stated(const std::vector<std::string>& sentences, std::string_view part) {
  return std::ranges::any_of(sentences,
                             [part](const std::string& one) { return one.find(part) != std::string::npos; });
}

TEST(SignalProposal, feedback_of_people_raises_no_margin_and_tests_do) {
  SignalInput input{.signals = kSignals, .prior = kShippedPrior, .scores = scores_around(0.8, 0.15)};
  for (int i = 0; i < 4; ++i)
    input.findings.push_back(labelled(i, {"clock"}, false, 0.8));
  EXPECT_FALSE(propose_signals(input).proposal);
  for (SignalFinding& one : input.findings)
    one.trust = 0.9;
  const SignalOutcome tested = propose_signals(input);
  ASSERT_TRUE(tested.proposal);
  EXPECT_NE(tested.proposal->proposal.to.find("margin of clock times"), std::string::npos);
}

TEST(SignalProposal, feedback_against_strong_evidence_changes_no_margin_either) {
  SignalInput input{.signals = kSignals, .prior = kShippedPrior, .scores = scores_around(0.15, 0.03)};
  ASSERT_TRUE(propose_signals(input).proposal);  // without labels the margin is lowered
  input.findings = contradicting_feedback();
  const SignalOutcome outcome = propose_signals(input);
  EXPECT_FALSE(outcome.proposal);
  EXPECT_TRUE(is_stated(outcome.refused, "weights of signals: people label 40 of 100"));
  EXPECT_TRUE(is_stated(outcome.refused, "margins of signals: they stay"));
}

TEST(SignalProposal, labels_that_contradict_each_other_change_nothing) {
  SignalInput input{.signals = kSignals,
                    .prior = kShippedPrior,
                    .findings = findings_with(1, 0.95),
                    .scores = scores_around(0.15, 0.03)};
  const auto dispute = [&input](std::size_t count) {
    for (std::size_t i = 0; i < input.findings.size(); ++i)
      input.findings[i].is_disputed = i < count;
    return propose_signals(input);
  };
  EXPECT_TRUE(dispute(50).proposal);  // a quarter
  const SignalOutcome outcome = dispute(51);
  EXPECT_FALSE(outcome.proposal);
  EXPECT_TRUE(is_stated(outcome.refused, "51 of 200 findings have labels that contradict each other"));
  EXPECT_TRUE(is_stated(outcome.refused, "margins of signals: they stay"));
}

TEST(SignalProposal, a_proposal_whose_replay_is_worse_is_taken_back_with_the_numbers) {
  const SignalInput input{.signals = kSignals, .prior = kShippedPrior, .findings = findings_with(1, 0.95)};
  const SignalReplay shipped{.faults = 163, .detected = 157};
  SignalOutcome outcome = propose_signals(input);
  withhold(outcome, what_is_worse(shipped, shipped));
  EXPECT_TRUE(outcome.proposal);
  withhold(outcome, what_is_worse(shipped, {.faults = 163, .detected = 155}));
  EXPECT_FALSE(outcome.proposal);
  EXPECT_TRUE(is_stated(outcome.refused, "F1 is 0.9748 with what was learned and 0.9812 without it"));
}

TEST(SignalReplays, are_worse_with_a_lower_f1_more_accusations_or_more_contradicted_labels) {
  const SignalReplay before{.faults = 10, .detected = 8, .false_findings = 2, .false_accusations = 1};
  SignalReplay after = before;
  after.detected = 9;
  EXPECT_FALSE(what_is_worse(before, after));
  after.false_accusations = 2;
  EXPECT_TRUE(what_is_worse(before, after));
  EXPECT_EQ(SignalReplay{}.f1(), 1);
  EXPECT_FALSE(what_is_worse(SignalJudgement{60, 48, 0}, SignalJudgement{0, 0, 12}));
  EXPECT_TRUE(what_is_worse(SignalJudgement{60, 12, 0}, SignalJudgement{0, 0, 48}));
}

TEST(SignalProposal, states_what_stays_and_what_is_missing) {
  SignalInput input{.signals = kSignals,
                    .prior = kShippedPrior,
                    .findings = findings_with(7, 0.95),
                    .scores = scores_around(0.15, 0.03, 10)};
  for (SignalInUse& signal : input.signals)
    signal.is_fixed = true;
  const SignalOutcome few = propose_signals(input);
  EXPECT_TRUE(is_stated(few.refused, "margins of signals: there are scores of 10 nodes; a margin needs 16"));
  input.scores = scores_around(-0.5, 0.01);
  EXPECT_EQ(propose_signals(input).unchanged.back(), "margins of signals");
}

TEST(SignalProposal, states_what_changes_on_which_records_and_has_one_id) {
  const SignalInput input{.signals = kSignals, .prior = kShippedPrior, .findings = findings_with(1, 0.95)};
  const SignalOutcome outcome = propose_signals(input);
  ASSERT_TRUE(outcome.proposal);
  const Proposal& proposal = outcome.proposal->proposal;
  EXPECT_EQ(proposal.kind, ProposalKind::signals);
  EXPECT_NE(proposal.sentence.find("clock weighs"), std::string::npos) << proposal.sentence;
  EXPECT_EQ(proposal.basis.records, 200U);
  EXPECT_EQ(proposal.basis.places, 20U);
  EXPECT_EQ(propose_signals(input).proposal->proposal.id, proposal.id);
  Version used = *outcome.proposal;
  for (int step = 0; step < 2; ++step)
    ASSERT_TRUE(adopt(used, {}, {.now = kSeen, .author = "ops", .note = "tried", .is_now = true}));
  SignalInput again = input;
  const std::vector<Version> versions{used};
  again.versions = versions;
  EXPECT_FALSE(propose_signals(again).proposal);  // in use already
  EXPECT_EQ(propose_signals(again).unchanged, std::vector{std::string(kSignalsSubject)});
}

Fault job_finding(int number) {
  return {.id = "f" + std::to_string(number),
          .place = {.node = "n" + std::to_string(number)},
          .begin = kSeen,
          .detected = kSeen,
          .end = kSeen + std::chrono::hours(1),
          .job = "a",
          .signals = "clock heat"};
}

TEST(SignalHistory, feedback_and_validations_settle_findings_by_their_trust) {
  const std::vector<Fault> faults{job_finding(1), job_finding(2), job_finding(3), job_finding(4)};
  const std::vector<Label> labels{{.id = "l1", .fault = "f1", .answer = LabelAnswer::faulty},
                                  {.id = "l2", .fault = "f2", .answer = LabelAnswer::healthy},
                                  {.id = "l3", .fault = "f3", .answer = LabelAnswer::healthy}};
  const auto ran = [](const std::string& node, int hours) {
    return NodeJob{.id = node + "/j",
                   .place = {.node = node},
                   .job = "b",
                   .start = kSeen,
                   .end = kSeen + std::chrono::hours(hours),
                   .outcome = JobOutcome::completed};
  };
  const std::vector<NodeJob> jobs{ran("n2", 30), ran("n3", 30)};
  const Validation failed{.id = "v",
                          .place = {.node = "n3"},
                          .start = kSeen + std::chrono::hours(2),
                          .depth = Depth::quick,
                          .verdict = Verdict::failed};
  const auto found = findings_of_history(faults, labels, jobs, {}, std::vector{failed});
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].answer, LabelAnswer::faulty);
  EXPECT_EQ(found[0].trust, 0.7);
  EXPECT_EQ(found[1].answer, LabelAnswer::healthy);
  EXPECT_EQ(found[2].answer, LabelAnswer::faulty);  // the test outweighs the person
  EXPECT_EQ(found[2].trust, 0.9);
  EXPECT_TRUE(found[2].is_disputed);
  EXPECT_FALSE(found[1].is_disputed);
  EXPECT_EQ(found[3].answer, LabelAnswer::unclear);
  EXPECT_EQ(found[0].signals, (std::vector<std::string>{"clock", "heat"}));
}

}  // namespace
}  // namespace autopilot::learning
