// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/jobs/job_search.hpp"
#include "agent/jobs/job_spans.hpp"
#include "api/job_batch.hpp"
#include "api/jobs_v1.hpp"
#include "collect/source.hpp"
#include "core/clock.hpp"
#include "job_hub/suspects.hpp"
#include "jobs/assembly.hpp"
#include "jobs/brain.hpp"
#include "jobs/records.hpp"

namespace autopilot::agent {

struct JobSource {
  std::string name;  // a word for people: "telemetry", "logs"
  std::unique_ptr<collect::Source> source;
};

// What the evaluation found since the last time.
struct JobNews {
  std::vector<jobs::Alert> alerts;
  std::vector<jobs::WantedAction> actions;
  std::vector<jobs::JobReport> reports;  // of the jobs of the alerts, each once
};

struct NodeJobsOptions {
  std::string node;
  api::JobBrain brain_at = api::JobBrain::agent;  // controller: records are only sent
  jobs::BrainOptions brain;
  Duration search_every = std::chrono::seconds(10);  // while the node has a job; else three times as long
  Duration poll_every = std::chrono::seconds(1);     // of sources, while the node has a job
  // Gets what this node saw, before it is joined with other nodes. Empty: not sent. Called by run().
  std::function<void(const std::vector<jobs::Record>&)> send;
  // Gets the records of whole jobs, for followers. Called by run().
  std::function<void(const std::vector<jobs::Record>&)> on_records;
  // Gets alerts and actions. Called by run().
  std::function<void(JobNews news)> on_news;
  // Gets the reports that changed, of jobs that are evaluated here. Called by run().
  std::function<void(const std::vector<jobs::JobReport>&)> on_changed;
  // Gets the jobs that are suspected to hang, here or by suspect(), also if there are none. Called by run().
  std::function<void(const std::vector<api::SuspectedJob>&, const collect::SeenJobs&, Instant now)>
      on_suspected;
  // Get jobs of this node that began, and that ended. Called by run(); may be empty.
  std::function<void(const JobSpan&)> on_begin, on_end;
};

struct NodeJobsCounts {
  std::uint64_t searches = 0;
  std::uint64_t searches_failed = 0;
  std::uint64_t polls = 0;
  std::uint64_t records = 0;  // that this node saw
  std::uint64_t dropped = 0;  // by a limit of this object, of the assembly, or of the engine
  std::uint64_t source_errors = 0;
  double search_seconds = 0;  // in total
  double poll_seconds = 0;
};

// Immutable: what readers see.
struct JobsSnapshot {
  api::JobList list;  // reports with everything
  NodeJobsCounts counts;
  job_hub::Suspects suspects;  // of all nodes; empty if the controller evaluates
};

// The jobs of one node: searches them, polls their sources, and evaluates what they report, or only sends it.
// Driven by run(). Not thread-safe; its owner is the thread that searches and polls.
class NodeJobs {
 public:
  static constexpr std::size_t kMostWaiting = 16384;  // records that were added between two runs
  // A source that takes longer holds up the others and is stated in not_seen.
  static constexpr Duration kSlowSource = std::chrono::seconds(1);

  // clock outlives it; it measures how long searches and polls take.
  NodeJobs(NodeJobsOptions options, const Clock& clock, std::unique_ptr<JobSearch> search,
           std::vector<JobSource> sources);

  // Does what is due. Returns when to call again.
  MonoTime run();
  // Records of this node from elsewhere, such as Xids. Beyond the limit they are dropped and counted.
  void add(std::vector<jobs::Record> records);
  // Records that another node sent to this coordinator. is_whole: they begin with all jobs of the node.
  void receive(const std::string& node, std::vector<jobs::Record> records, bool is_whole);

  // The jobs of this node that its controller or coordinator suspects to hang, from now on.
  void suspect(std::vector<api::SuspectedJob> suspected) { suspected_ = std::move(suspected); }

  [[nodiscard]] jobs::Brain& brain() { return brain_; }
  // The last records of nodes and of jobs that run, with the time of now: where a follower begins.
  [[nodiscard]] std::vector<jobs::Record> present() const;
  [[nodiscard]] std::shared_ptr<const JobsSnapshot> snapshot() const;

 private:
  struct Received {
    std::string node;
    std::vector<jobs::Record> records;
    bool is_whole = false;
  };

  void search(Instant now, std::vector<jobs::Record>& records);
  void poll(Instant now, std::vector<jobs::Record>& records);
  void poll_source(JobSource& source, Instant now, std::vector<jobs::Record>& records);
  void evaluate(Instant now, std::vector<jobs::Record>& records);
  void judge(Instant now, const std::vector<jobs::Record>& whole);
  void publish();
  void remember(const jobs::Record& record);
  [[nodiscard]] std::vector<std::string> not_seen() const;

  NodeJobsOptions options_;
  const Clock& clock_;
  std::unique_ptr<JobSearch> search_;
  std::vector<JobSource> sources_;
  std::map<std::string, std::string> source_problems_;  // by name
  JobSpans spans_;
  jobs::Assembly assembly_;
  jobs::Brain brain_;
  job_hub::Suspects suspects_;                // of the brain
  std::vector<api::SuspectedJob> suspected_;  // by another program
  collect::SeenJobs seen_;
  std::string search_problem_;
  std::map<std::string, jobs::JobRecord> stated_;  // of this node, as they were sent last
  std::vector<jobs::Record> waiting_;
  std::vector<Received> received_;
  std::size_t received_records_ = 0;
  std::map<std::string, jobs::NodeRecord> present_nodes_;
  std::map<std::string, jobs::JobRecord> present_jobs_;
  std::optional<MonoTime> next_search_, next_poll_;
  bool polls_once_more_ = false;
  WallTime evaluated_{};
  NodeJobsCounts counts_;
};

}  // namespace autopilot::agent
