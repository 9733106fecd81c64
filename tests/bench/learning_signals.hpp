// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "jobs/decision/signal_weights.hpp"

// The in-flight engine with and without learned weights of signals, on a simulated cluster that differs from
// what its values were chosen for.
namespace autopilot::learning::bench {

// One arm on the judged seeds.
struct SignalArm {
  std::string name;
  std::size_t faults = 0, detected = 0, false_findings = 0, false_accusations = 0;
  double node_days = 0;
  struct Run {
    std::size_t faults = 0, detected = 0, false_findings = 0;
  };
  std::vector<Run> runs;  // by seed

  [[nodiscard]] double f1() const;
};

struct SignalPlan {
  std::uint64_t first_fit = 301, last_fit = 320;
  std::uint64_t first_judged = 1601, last_judged = 1620;
  double hours = 12;
  int nodes = 16;
  double faults_per_1000_node_days = 1200;
  // The cluster: clocks of GPUs that hardly differ, small losses of clock, many missing windows.
  double silicon = 0.005;
  double missing_windows = 0.1;
  double least_clock_loss = 0.03, most_clock_loss = 0.06;
};

struct SignalComparison {
  SignalPlan plan;
  std::string learned;   // in words; of the labels as they are
  std::string poisoned;  // what 40 % wrong labels of people give: words, or why they are refused
  std::size_t labelled = 0, wrong = 0, scores = 0;
  std::vector<SignalArm> arms;  // off, on, only weights, 40 % wrong labels
  // F1 of on minus off: the paired bootstrap over seeds, 95 %.
  double gain = 0, gain_low = 0, gain_high = 0;
};

[[nodiscard]] Result<SignalComparison> compare_signals(const SignalPlan& plan);

}  // namespace autopilot::learning::bench
