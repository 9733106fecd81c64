// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/jobs/job_evidence.hpp"
#include "agent/jobs/job_outlets.hpp"
#include "agent/jobs/jobs_routes.hpp"
#include "agent/jobs/jobs_runner.hpp"
#include "agent/jobs/node_records.hpp"
#include "agent/jobs/open_sources.hpp"
#include "agent/jobs/record_feed.hpp"
#include "api/job_batch.hpp"
#include "config/config.hpp"
#include "core/event.hpp"
#include "core/snapshot.hpp"
#include "job_hub/receiver.hpp"
#include "learning/validation_result.hpp"
#include "net/event_loop.hpp"
#include "net/key_files.hpp"
#include "net/url.hpp"
#include "nettest/run/way_back.hpp"

namespace autopilot::agent {

struct JobsPartContext {
  net::EventLoop& loop;
  JobsMachine machine;
  bool is_simulated = false;
  bool has_controller = false;  // the agent has a controller that takes records
  // Sends records to the receiver that job_brain_of() names; called on the thread of the runner.
  std::function<void(const std::vector<jobs::Record>&)> send;
  // Gets what this node sees of its jobs, and the reports of jobs that are evaluated here; on the thread of
  // the runner, which may outlive everything else. Empty: nothing gets them.
  std::function<void(const std::vector<jobs::Record>&)> on_own_records;
  std::function<void(const std::vector<jobs::JobReport>&)> on_reports;
  kube::CallerRights rights;
  // On a coordinator: refuses a node that has no agent.
  std::function<Status(const std::string& node)> is_agent;
  // Where the jobs are evaluated here: nodes whose jobs those are, this one included.
  std::size_t nodes = 1;
  net::ReadFile read_file;  // of receivers of alerts
  // Jobs of this node that began and ended; called on the thread of the runner.
  std::function<void(const JobSpan&)> on_begin, on_end;
  Status may_act;  // an error: why this agent acts on no job, whatever `jobs.mode` is
};

// Where the records of this agent are evaluated.
[[nodiscard]] api::JobBrain job_brain_of(const config::Config& config, bool has_controller);

// Where the records of this node are sent; nullopt: they are evaluated here.
[[nodiscard]] std::optional<net::ServerUrl> job_receiver_url(const config::Config& config,
                                                             bool has_controller);

// All that the agent has to do with jobs: nothing runs if jobs.enabled is false. On the loop's thread.
class JobsPart {
 public:
  JobsPart(const config::Config& config, JobsPartContext context);

  void add_to(net::HttpServer& server);
  void start();
  void stop();
  // What the checks of this node state.
  void note(const NodeSnapshot& snapshot);
  void note(const std::vector<Event>& events);
  void note(const learning::ValidationResult& validation);
  // Learned weights of signals for the jobs that are evaluated here; null: the values that ship.
  // False: too many tasks wait; offer them again.
  [[nodiscard]] bool use_weights(jobs::SignalWeightsPtr weights);
  // The jobs of this node that its controller or coordinator suspects to hang, from now on.
  void suspect(std::vector<api::SuspectedJob> suspected);
  // What this agent knows about a job. `done` is called once, on the loop; nullopt: the controller evaluates
  // it, or it is unknown.
  void ask(const std::string& job, std::function<void(std::optional<jobs::JobReport>)> done);
  // Empty: jobs are not watched.
  [[nodiscard]] std::string metrics() const;

 private:
  void open_outlets(const config::Config& config);
  void note_acted(const jobs::WantedAction& action);

  JobsPartContext context_;
  api::JobBrain brain_at_;
  NodeRecords node_records_;
  std::shared_ptr<RecordFeed> feed_;
  bool has_suspects_ = false;
  std::uint64_t noted_ = 0;                // generation of the last snapshot
  std::shared_ptr<JobEvidence> evidence_;  // null: jobs are not watched
  std::unique_ptr<JobsRunner> runner_;
  std::optional<JobOutlets> outlets_;             // where the jobs are evaluated here
  std::optional<job_hub::JobReceiver> receiver_;  // of a coordinator
  nettest::WayBack way_back_;
};

}  // namespace autopilot::agent
