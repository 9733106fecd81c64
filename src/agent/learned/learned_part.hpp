// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/learned/learned_limits.hpp"
#include "agent/learned/version_store.hpp"
#include "collect/task_thread.hpp"
#include "core/snapshot.hpp"
#include "jobs/decision/signal_weights.hpp"
#include "net/event_loop.hpp"
#include "runtime/runtime.hpp"

namespace autopilot::agent {

struct LearnedPartContext {
  net::EventLoop& loop;
  runtime::Runtime& runtime;
  std::string node;
  std::string folder;  // of the versions
  // Gets the weights of signals in use when they change; null: the values that ship. False: not now; it is
  // called again.
  std::function<bool(jobs::SignalWeightsPtr)> on_weights = [](const jobs::SignalWeightsPtr&) { return true; };
};

// Uses the thresholds that were learned and adopted for machines of this kind, and judges those in shadow
// beside them; and the weights of signals of findings about jobs. Reads the folder on a thread of its own: a
// change has effect within 10 s, without a restart, and whether or not history can be written. A file that
// cannot be used is logged; the version before it stays in use. If the folder cannot be read, what was in use
// stays. On the loop's thread.
class LearnedPart {
 public:
  explicit LearnedPart(LearnedPartContext context);
  void start();

  [[nodiscard]] const LearnedLimits& in_use() const { return used_.in_use; }
  // The families autopilot_learned_*, as Prometheus text.
  [[nodiscard]] std::string metrics() const;

 private:
  struct Look {};
  void look();
  void take(const Result<StoredVersions>& stored);
  void tell_problems(const std::vector<std::string>& problems);
  void use(runtime::LearnedThresholds thresholds);
  void use_weights(const std::vector<learning::Version>& versions);

  LearnedPartContext context_;
  runtime::LearnedThresholds used_;
  std::string weights_;                // version in use; empty: the values that ship
  std::vector<std::string> problems_;  // that were logged
  KnownKinds kinds_;
  collect::TaskThread<Look, Result<StoredVersions>> reader_;
  net::Subscription watch_;
};

}  // namespace autopilot::agent
