// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/planner/facts.hpp"
#include "core/clock.hpp"
#include "jobs/brain.hpp"
#include "jobs/records.hpp"
#include "learning/records.hpp"

// What the leader knows of the cluster, as records of history. The ids are those of the agents where an agent
// records the same thing, so that histories can be joined. Pure.
namespace autopilot::controller {

// The text, or its hash if history does not store so long an id.
[[nodiscard]] std::string history_id(std::string whole);

[[nodiscard]] learning::Validation validation_of(const jobs::ValidationRecord& record);

// A record for each node of a job that has ended; empty while it runs.
[[nodiscard]] std::vector<learning::HistoryRecord> node_jobs_of(const jobs::JobReport& report);

// Confirmed findings that name a part of a node.
[[nodiscard]] std::vector<learning::Fault> faults_of(const jobs::JobReport& report);

// A node that the controller held and that is back in service; nullopt: it is not, or was never held.
[[nodiscard]] std::optional<learning::Repair> repair_of(const LedgerEntry& entry);

// Which job ran on a node when; jobs that ended are remembered for a while, because a fault can be reported
// after the job that it ended.
class JobsOnNodes {
 public:
  static constexpr Duration kRemembered = std::chrono::minutes(30);
  static constexpr std::size_t kMostOfNode = 8;  // the newest

  void note(const jobs::JobReport& report, WallTime now);
  // The job that a fault with this begin hit: the newest that ran then, or kBefore earlier. Empty: none.
  [[nodiscard]] std::string hit(std::string_view node, WallTime begin) const;
  static constexpr Duration kBefore = std::chrono::minutes(2);

 private:
  struct Run {
    std::string job;
    WallTime begin{};
    std::optional<WallTime> end;
  };
  std::map<std::string, std::deque<Run>, std::less<>> runs_;
};

// The incident behind an open cause of a node; nullopt for the accusation of a job, which faults_of() has.
[[nodiscard]] std::optional<learning::Fault> fault_of(const Node& node, const OpenCause& cause,
                                                      const JobsOnNodes& jobs);

// The agent of the node states its health, later than `begin`, and the fault is not among its causes. An
// unknown state does not end a fault.
[[nodiscard]] bool is_over(const learning::Fault& open, const Node& node);

}  // namespace autopilot::controller
