// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "jobs/brain.hpp"
#include "jobs/records.hpp"

// Where the records of many nodes become findings about jobs: in the controller of a cluster, or in the agent
// that is the coordinator of some hosts.
namespace autopilot::job_hub {

// What one node sent at one time.
struct NodeBatch {
  std::string node;
  std::string lines;  // of docs/reference/job-telemetry.md, unparsed: the sender may be wrong
  std::vector<jobs::Record> records{};  // of this process, instead of `lines`
  Duration clock_offset{0};             // added to all times: the node's clock is wrong by that
  bool is_whole = false;                // begins with the node and all of its jobs

  // Counts for the limits of the hub.
  [[nodiscard]] std::size_t bytes() const { return lines.size() + records.size() * sizeof(jobs::Record); }
};

struct ReadBatch {
  std::vector<jobs::Record> records;  // at the times of this machine's clock
  std::size_t malformed = 0;          // lines that were left out
  std::string problem;                // of the last one of them; empty: there is none
};
[[nodiscard]] ReadBatch read_records(NodeBatch&& batch);

// What the brain has found since the last time.
struct HubResults {
  std::vector<jobs::JobReport> changed;  // and those of the alerts and actions
  std::vector<jobs::Alert> alerts;
  std::vector<jobs::WantedAction> actions;
  std::vector<jobs::ValidationRecord> validations;

  [[nodiscard]] bool is_empty() const {
    return changed.empty() && alerts.empty() && actions.empty() && validations.empty();
  }
};

// Counters since construction. `waiting` and what has no other remark are gauges.
struct HubStats {
  std::uint64_t batches = 0;    // counter
  std::uint64_t records = 0;    // counter: parsed
  std::uint64_t malformed = 0;  // counter: lines that were left out
  std::uint64_t dropped =
      0;  // counter: by the assembly and the engine: too old, of an unknown job, beyond a limit
  std::uint64_t refused = 0;  // counter: batches without room in the queue
  std::size_t waiting = 0;    // batches
  std::size_t waiting_bytes = 0;
  Duration lag{0};             // from offer() to the brain, of the last batch
  double cpu_seconds = 0;      // counter: of the hub's thread
  std::size_t jobs = 0;        // that run
  std::size_t nodes = 0;       // of jobs that run
  std::size_t findings = 0;    // open ones
  std::string last_malformed;  // node and problem of the last line that was left out; empty: none was
};

// The assembly and the brain on a thread of their own. From any thread, unless stated otherwise.
class JobHub {
 public:
  struct Limits {
    std::size_t batches = 16'384;  // that wait
    std::size_t bytes = std::size_t{64} << 20;
    std::size_t questions = 64;
  };
  // Called on the hub's thread; must not block, and must not call offer() or ask().
  using OnResults = std::function<void(HubResults results)>;

  JobHub(const Clock& clock, const jobs::BrainOptions& options, OnResults on_results, Limits limits);
  // Waits for the current batch and drops the others; questions that wait are not answered.
  ~JobHub();
  JobHub(const JobHub&) = delete;
  JobHub& operator=(const JobHub&) = delete;

  // Never blocks. False: there is no room; the node sends it again later.
  [[nodiscard]] bool offer(NodeBatch batch);
  // Runs the function on the hub's thread, after the batches that were offered before. False: too many wait.
  [[nodiscard]] bool ask(std::function<void(jobs::Brain& brain, WallTime now)> question);
  // How many nodes the cluster has, for the guard rails; 0: unknown.
  void set_nodes(std::size_t nodes);
  void set_policy(const jobs::Policy& policy);

  [[nodiscard]] HubStats stats() const;

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace autopilot::job_hub
