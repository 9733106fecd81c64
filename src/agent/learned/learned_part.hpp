// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/learned/version_store.hpp"
#include "core/snapshot.hpp"
#include "net/event_loop.hpp"
#include "runtime/runtime.hpp"

namespace autopilot::agent {

struct LearnedPartContext {
  net::EventLoop& loop;
  runtime::Runtime& runtime;
  std::string node;
  std::string folder;  // of the versions
  // Runs the task soon on a thread that may block on the disk.
  std::function<void(std::function<void()> task)> run_blocking;
};

// Uses the thresholds that were learned and adopted for machines of this kind, and judges those in shadow
// beside them. Reads the folder every 10 s: a change needs no restart. A file that cannot be used is
// logged; the version before it stays in use. If the folder cannot be read, what was in use stays. On the
// loop's thread.
class LearnedPart {
 public:
  explicit LearnedPart(LearnedPartContext context);
  void start();

  [[nodiscard]] const LearnedLimits& in_use() const { return used_.in_use; }
  // The families autopilot_learned_*, as Prometheus text.
  [[nodiscard]] std::string metrics() const;

 private:
  struct Mailbox;
  void look();
  void take(const Result<StoredVersions>& stored);
  void tell_problems(const std::vector<std::string>& problems);
  void use(runtime::LearnedThresholds thresholds);

  LearnedPartContext context_;
  runtime::LearnedThresholds used_;
  std::vector<std::string> problems_;  // that were logged
  std::shared_ptr<Mailbox> mailbox_;
  int looks_ = 0;  // since the folder was last read
  net::Subscription watch_;
};

}  // namespace autopilot::agent
