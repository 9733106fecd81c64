// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/incident.hpp"
#include "core/snapshot.hpp"
#include "host/host.hpp"
#include "jobs/brain.hpp"
#include "jobs/records.hpp"
#include "learning/records.hpp"
#include "net/event_loop.hpp"

namespace autopilot::agent {

struct HistoryPartContext {
  net::EventLoop& loop;
  std::shared_ptr<const host::Host> host;  // clock, release of the kernel
  std::string node;
  bool is_simulated = false;  // injected faults of a real machine are not remembered
  std::string path;           // of history
  std::string journal;        // its incidents are taken over at the start
};

// The path of history: like the journal, a simulated machine has a file of its own.
[[nodiscard]] std::string history_path(const config::Config& config, const std::string& node,
                                       bool is_simulated);

// What the agent writes into history: faults, acknowledgements and feedback, jobs on this node, versions. On
// the loop's thread, unless stated otherwise; nothing waits for the disk, except stop().
class HistoryPart {
 public:
  // A job, or a finding about one, that this run has not found by then has ended while no agent ran.
  static constexpr Duration kJobsAreFound = std::chrono::minutes{15};

  HistoryPart(const config::History& settings, HistoryPartContext context);
  HistoryPart(const HistoryPart&) = delete;
  HistoryPart& operator=(const HistoryPart&) = delete;
  ~HistoryPart();

  void start();
  // Waits for the last records.
  void stop(Duration patience);

  // Incidents that opened, changed or closed.
  void note(const std::vector<Incident>& incidents);
  // Learns the names of the GPUs, and versions.
  void note(const NodeSnapshot& snapshot);

  // The following may be called from any thread, and after this object is gone.

  // A job that ended is joined with the record that history has of it.
  [[nodiscard]] std::function<void(learning::HistoryRecord record)> sink() const;
  // What this node saw of its jobs.
  [[nodiscard]] std::function<void(const std::vector<jobs::Record>& records)> job_sink() const;
  // Reports of jobs that changed: findings that name a culprit, and what people stated about them.
  [[nodiscard]] std::function<void(const std::vector<jobs::JobReport>& reports)> report_sink() const;

  // The families autopilot_history_*, as Prometheus text.
  [[nodiscard]] std::string metrics() const;

 private:
  struct Shared;
  void note_problem();
  void put_versions(std::string driver);
  void end_absent_records();

  HistoryPartContext context_;
  std::shared_ptr<Shared> shared_;
  std::uint64_t noted_ = 0;            // generation of the last snapshot
  std::optional<std::string> driver_;  // version that was written last
  std::string problem_;                // that was logged last
  std::string moved_aside_;
  net::Subscription watch_;
  net::Subscription absent_;
};

}  // namespace autopilot::agent
