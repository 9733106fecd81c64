// SPDX-License-Identifier: Apache-2.0
#include "preflight/test_choice.hpp"

#include <algorithm>
#include <utility>

#include "preflight/gate.hpp"

namespace autopilot::preflight {

TestChoice choice_of_all(const ChoiceQuestion& question, const Error& why) {
  TestChoice choice;
  choice.tests = question.wanted;
  choice.reason =
      "all diagnostics of the node must pass, because the history of the node cannot choose: " + why.what;
  choice.are_all = true;
  return choice;
}

std::string sentences_of(const TestChoice& choice) {
  std::string text = "; " + choice.reason;
  for (const api::PreflightLeftOut& one : choice.left_out)
    text += "; " + one.id + " is left out: " + one.why;
  return text;
}

// True until the tests are chosen. They depend on the GPUs of the pod, so nothing is chosen before these are
// known, and a pod without GPUs needs no choice.
bool PreflightGate::is_choosing(const Key& key, Question& question, const HeldGpus& held) {
  if (!question.wants_choice || question.choice || held.gpus.empty()) return false;
  if (!question.held && !held.are_its_own) return false;
  if (std::exchange(question.is_choosing, true)) return true;
  const ChoiceQuestion asked{.wanted = question.wanted,
                             .offered = machine_.offered(),
                             .gpus = held.gpus,
                             .limit = std::max(Duration{0}, question.deadline - machine_.clock.now().mono),
                             .max_age = max_age(),
                             .gpus_of_job = static_cast<double>(
                                 held.gpus.size() * std::max<std::size_t>(1, question.pod.gang.value_or(1))),
                             .run_time = question.pod.run_time};
  machine_.choose(
      asked, [this, key, asked](Result<TestChoice> choice) { take_choice(key, asked, std::move(choice)); });
  return true;
}

void PreflightGate::take_choice(const Key& key, const ChoiceQuestion& asked, Result<TestChoice> choice) {
  const auto found = questions_.find(key);
  if (found == questions_.end() || found->second.result || found->second.choice) return;
  if (choice) {
    ++stats_.chosen;
    if (choice->are_all) ++stats_.chosen_all;
    stats_.left_out += choice->left_out.size();
    found->second.choice = *std::move(choice);
  } else {
    ++stats_.choice_failed;
    found->second.choice = choice_of_all(asked, choice.error());
  }
  advance(key);
}

}  // namespace autopilot::preflight
