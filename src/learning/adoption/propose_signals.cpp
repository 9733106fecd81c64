// SPDX-License-Identifier: Apache-2.0
#include "learning/adoption/propose_signals.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include "learning/values/labels.hpp"

namespace autopilot::learning {
namespace {

constexpr Duration kAfterFinding = std::chrono::days(2);
// A margin hides faults, so feedback of people never raises one.
constexpr double kTrustOfTests = 0.9;
constexpr std::string_view kWeightsPart = "weights of signals";
constexpr std::string_view kMarginsPart = "margins of signals";

std::string short_number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", value);  // NOLINT(cert-err33-c): three digits always fit
  return text.data();
}

// Signals of findings that tests or diagnoses refute.
std::set<std::string> refuted_signals(std::span<const SignalFinding> findings) {
  constexpr int kLeastRefuted = 3;
  std::map<std::string, int> counts;
  for (const SignalFinding& one : findings) {
    if (one.answer != LabelAnswer::healthy || one.trust < kTrustOfTests) continue;
    for (const std::string& signal : std::set<std::string>(one.signals.begin(), one.signals.end()))
      ++counts[signal];
  }
  std::set<std::string> refuted;
  for (const auto& [signal, count] : counts)
    if (count >= kLeastRefuted) refuted.insert(signal);
  return refuted;
}

struct SignalBasis {
  ProposalBasis basis;
  std::set<std::string> places;

  void add(const std::string& place, WallTime time) {
    if (basis.records == 0 || time < basis.first) basis.first = time;
    basis.last = std::max(basis.last, time);
    ++basis.records;
    places.insert(place);
    basis.places = places.size();
  }
};

ProposalBasis basis_of_signals(const SignalInput& input, const LearnedSignals& learned) {
  SignalBasis basis;
  if (learned.prior > 0 || !learned.weights.empty())
    for (const SignalFinding& one : input.findings)
      if (one.trust >= kLeastTrust && one.answer != LabelAnswer::unclear) basis.add(one.place, one.time);
  for (const LearnedMargin& margin : learned.margins)
    for (const Score& score : input.scores.at(margin.signal))
      basis.add(score.place, score.time);
  return basis.basis;
}

std::string refusal(std::string_view part, const std::string& why) {
  return std::string(part) + ": " + why;
}

void add_margins(const SignalInput& input, LearnedSignals& learned, SignalOutcome& outcome) {
  auto fit =
      learn_margins(input.scores, input.faults, refuted_signals(input.findings), input.findings_budget);
  if (!fit) {
    outcome.refused.push_back(refusal(kMarginsPart, fit.error().what));
  } else if (fit->nodes < kLeastScoredNodes) {
    outcome.refused.push_back(refusal(kMarginsPart, "there are scores of " + std::to_string(fit->nodes) +
                                                        " nodes; a margin needs " +
                                                        std::to_string(kLeastScoredNodes)));
  } else {
    if (fit->margins.empty()) outcome.unchanged.emplace_back(kMarginsPart);
    learned.margins = std::move(fit->margins);
  }
}

void add_return_to_shipped(const Version& used, SignalOutcome& outcome) {
  outcome.unchanged.clear();
  outcome.refused.push_back(
      "what is learned equals the values that ship. Return to them with: autopilot learn revert " +
      used.proposal.id);
}

bool is_test_that_failed(const Validation& validation, const Fault& fault) {
  const WallTime begin = fault.detected.value_or(fault.begin);
  const bool is_there = validation.place.cluster == fault.place.cluster &&
                        validation.place.node == fault.place.node && validation.verdict == Verdict::failed;
  return is_there && validation.depth != Depth::passive && validation.start >= begin &&
         (!fault.end || validation.start <= *fault.end + kAfterFinding);
}

std::vector<std::string> words_in(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (end > begin) words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

}  // namespace

std::string words_of(const LearnedSignals& learned) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (learned.prior > 0) add("prior " + short_number(learned.prior));
  for (const LearnedWeight& one : learned.weights)
    add(one.signal + " weighs " + short_number(one.log_odds) + " (" + short_number(one.low) + " to " +
        short_number(one.high) + ", " + std::to_string(one.findings) + " findings)");
  for (const LearnedMargin& one : learned.margins)
    add("margin of " + one.signal + " times " + short_number(one.factor));
  return text;
}

SignalOutcome propose_signals(const SignalInput& input) {
  SignalOutcome outcome;
  LearnedSignals learned;
  auto weights = learn_weights(input.signals, input.prior, input.findings);
  const bool is_contradicted = !weights && weights.error().code == Errc::conflict;
  if (weights) {
    learned = *std::move(weights);
    if (learned.is_empty()) outcome.unchanged.emplace_back(kWeightsPart);
  } else {
    outcome.refused.push_back(refusal(kWeightsPart, weights.error().what));
  }
  if (is_contradicted && !input.scores.empty())
    outcome.refused.push_back(
        refusal(kMarginsPart,
                "they stay, because the labels of the findings contradict each other or the "
                "evidence"));
  else if (!input.scores.empty())
    add_margins(input, learned, outcome);
  const Version* used = in_use(input.versions, ProposalKind::signals, kSignalsSubject, "");
  const auto* before = used == nullptr ? nullptr : std::get_if<LearnedSignals>(&used->learned);
  if (learned.is_empty()) {
    if (before != nullptr && !outcome.unchanged.empty()) add_return_to_shipped(*used, outcome);
    return outcome;
  }
  outcome.unchanged.clear();
  if (before != nullptr && words_of(*before) == words_of(learned)) {
    outcome.unchanged.emplace_back(kSignalsSubject);
    return outcome;
  }
  const std::uint32_t from = used == nullptr ? 0 : used->proposal.to_version;
  Proposal draft{.kind = ProposalKind::signals,
                 .subject = std::string(kSignalsSubject),
                 .from = before == nullptr ? "the values that ship" : words_of(*before),
                 .to = words_of(learned),
                 .from_version = from,
                 .to_version = from + 1,
                 .basis = basis_of_signals(input, learned)};
  draft.sentence = "For " + draft.subject + ": " + draft.to + "; instead of " + draft.from;
  const WallTime created = draft.basis.last;
  outcome.proposal = Version{make_proposal(std::move(draft), created), std::move(learned), {}};
  return outcome;
}

void withhold(SignalOutcome& outcome, const std::optional<std::string>& worse) {
  if (!worse || !outcome.proposal) return;
  outcome.proposal.reset();
  outcome.refused.push_back(*worse);
}

std::vector<SignalFinding> findings_of_history(std::span<const Fault> faults, std::span<const Label> labels,
                                               std::span<const NodeJob> jobs, std::span<const Repair> repairs,
                                               std::span<const Validation> validations) {
  std::vector<Fault> of_jobs;
  std::vector<Label> all(labels.begin(), labels.end());
  for (const Fault& fault : faults) {
    if (!is_of_job(fault) || fault.signals.empty()) continue;
    // It ends when the job is no longer hit; jobs that run well after that speak for the node.
    of_jobs.push_back(fault);
    of_jobs.back().end.reset();
    for (const Validation& validation : validations)
      if (is_test_that_failed(validation, fault))
        all.push_back({.id = validation.id,
                       .place = fault.place,
                       .time = validation.start,
                       .fault = fault.id,
                       .answer = LabelAnswer::faulty,
                       .source = LabelSource::repeat_test});
  }
  std::vector<SignalFinding> findings;
  const std::vector<SettledFault> settled = settle(of_jobs, all, jobs, repairs);
  for (const Fault& fault : of_jobs) {
    const auto known = std::ranges::lower_bound(settled, fault.id, {}, &SettledFault::fault);
    findings.push_back({.finding = fault.id,
                        .place = fault.place.node,
                        .time = known->time,
                        .signals = words_in(fault.signals),
                        .answer = known->answer,
                        .trust = known->trust,
                        .is_disputed = known->is_disputed});
  }
  return findings;
}

}  // namespace autopilot::learning
