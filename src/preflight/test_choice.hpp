// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/preflight.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "core/subject.hpp"
#include "preflight/decision.hpp"

namespace autopilot::preflight {

// Which of the tests of the node a pod needs.
struct ChoiceQuestion {
  std::vector<std::string> wanted;   // ids of tests, in the order of the operator
  std::vector<OfferedTest> offered;  // by the node
  std::vector<Subject> gpus;         // that must pass
  Duration limit{};                  // of all tests together
  Duration max_age{};                // of a pass record that counts
  double gpus_of_job = 0;            // as far as the pod states it
  std::optional<Duration> run_time;  // of the job; nullopt: not stated
};

struct TestChoice {
  std::vector<std::string> tests;               // of `wanted`, in its order
  std::vector<api::PreflightLeftOut> left_out;  // the others
  std::string reason;                           // one sentence: why these
  bool are_all = false;                         // all must pass, whatever they cost
  WallTime proofs_since{};                      // an older pass record does not count
};

// Calls back once, never from within the call. An error: all tests run, and the result states why.
using ChooseTests =
    std::function<void(const ChoiceQuestion& question, std::function<void(Result<TestChoice> choice)> done)>;

// The choice if nothing could be chosen.
[[nodiscard]] TestChoice choice_of_all(const ChoiceQuestion& question, const Error& why);
// "; <why these>; <id> is left out: <why>": follows the message of a decision.
[[nodiscard]] std::string sentences_of(const TestChoice& choice);

}  // namespace autopilot::preflight
