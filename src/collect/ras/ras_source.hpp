// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collect/rank_environment.hpp"
#include "collect/source.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/nccl_ras/ras_helper.hpp"

namespace autopilot::collect {

// Asks RAS in the network namespace of a process; returns by the deadline plus a second. Called on a worker.
// host::RasAccess::ask.
using AskRas = std::function<Result<std::string>(const host::RasTarget& target, MonoTime deadline)>;

struct RasSettings {
  std::string node;  // spreads the questions of several nodes over the interval
  Duration interval = std::chrono::seconds{15};
  Duration frozen_interval = std::chrono::seconds{5};     // while counts rest for longer than they usually do
  Duration patience = std::chrono::seconds{10};           // for one answer
  Duration complaint_interval = std::chrono::minutes{1};  // between records that RAS does not answer
};

// NCCL RAS of the jobs of this node. The node with rank 0 asks for the whole job; where no launcher
// states the ranks of the job, every node asks. Records: jobs::CollectivesRecord, with the time of the
// answer; and jobs::AnswerRecord if there is none. It starts one thread, which outlives the object by at most
// `patience`.
class RasSource final : public Source {
 public:
  static constexpr std::size_t kMaxJobs = 64;  // of the node; more are not asked

  RasSource(AskRas ask, EnvironmentOf environment_of, RasSettings settings);
  RasSource(const RasSource&) = delete;
  RasSource& operator=(const RasSource&) = delete;
  ~RasSource() override;

  void poll(const SeenJobs& jobs, WallTime now, std::vector<jobs::Record>& records) override;
  [[nodiscard]] std::vector<std::string> not_seen() const override;

 private:
  class Worker;
  class Schedule;

  std::unique_ptr<Worker> worker_;
  std::unique_ptr<Schedule> schedule_;
};

}  // namespace autopilot::collect
