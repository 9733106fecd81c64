// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/clock.hpp"
#include "learning/records.hpp"

// What the weights of the in-flight engine's signals are learned from, and what is learned.
namespace autopilot::learning {

// A finding about a job that accuses a part, and what is known about it afterwards.
struct SignalFinding {
  std::string finding;  // id
  std::string place;    // node, or a leaf
  WallTime time{};
  std::vector<std::string> signals;  // that counted for it: of each family the strongest, each once
  LabelAnswer answer = LabelAnswer::unclear;
  double trust = 0;          // trust_of its label
  bool is_disputed = false;  // sources that can settle it disagree
};

// A signal of the engine, with the log odds in use.
struct SignalInUse {
  std::string signal;
  double log_odds = 0;
  bool is_fixed = false;  // a fact: its weight is never learned
};

struct LearnedWeight {
  std::string signal;
  double log_odds = 0;
  double low = 0, high = 0;  // 95 %
  std::size_t findings = 0;  // labelled ones with the signal
  bool operator==(const LearnedWeight&) const = default;
};

// A factor of the margin by which a part must be worse than its peers.
struct LearnedMargin {
  std::string signal;
  double factor = 1;
  std::size_t scores = 0;  // of healthy nodes
  bool operator==(const LearnedMargin&) const = default;
};

struct LearnedSignals {
  double prior = 0;                    // probability before evidence; 0: as it ships
  std::vector<LearnedWeight> weights;  // by signal
  std::vector<LearnedMargin> margins;  // by signal
  bool operator==(const LearnedSignals&) const = default;

  [[nodiscard]] bool is_empty() const { return prior == 0 && weights.empty() && margins.empty(); }
};

}  // namespace autopilot::learning
