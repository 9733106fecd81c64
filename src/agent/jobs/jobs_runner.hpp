// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/jobs/node_jobs.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "job_hub/hub.hpp"
#include "jobs/records.hpp"

namespace autopilot::agent {

// The thread of NodeJobs: a source that blocks delays what is known of jobs, and nothing else of the agent.
// All functions are thread-safe and return at once, except stop().
class JobsRunner {
 public:
  static constexpr std::size_t kMostTasks = 64;
  // A thread that does not return by then is left to itself.
  static constexpr Duration kStopPatience = std::chrono::seconds(3);

  // Makes the object on the thread. `clock` outlives the thread, also if it is left to itself.
  using Make = std::function<std::unique_ptr<NodeJobs>()>;
  using Task = std::function<void(NodeJobs& jobs)>;

  JobsRunner(const Clock& clock, Make make);
  JobsRunner(const JobsRunner&) = delete;
  JobsRunner& operator=(const JobsRunner&) = delete;
  ~JobsRunner();

  // Once.
  void start();
  void stop();

  // Runs on the thread, in order. exhausted: too many wait, because a source blocks. A task that waits when
  // the thread ends is destroyed.
  [[nodiscard]] Status post(Task task);
  // Records of this node from elsewhere. Beyond NodeJobs::kMostWaiting they are dropped and counted.
  void add(std::vector<jobs::Record> records);
  // What another node sent. exhausted: too many wait.
  [[nodiscard]] Status receive(job_hub::NodeBatch batch);

  // Never null.
  [[nodiscard]] std::shared_ptr<const JobsSnapshot> snapshot() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace autopilot::agent
