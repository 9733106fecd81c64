// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/history/history_records.hpp"
#include "controller/planner/world.hpp"
#include "core/clock.hpp"
#include "job_hub/hub.hpp"
#include "learning/records.hpp"
#include "logging/metrics_text.hpp"
#include "store/history/history.hpp"
#include "store/history/history_writer.hpp"

namespace autopilot::controller {

struct ClusterHistoryOptions {
  std::string path;
  store::HistoryRetention retention;
};

// The history of the cluster, of the replica that leads: jobs on nodes, validations, faults and returns to
// service. Nothing waits for the disk, except the destructor, for at most a second; what the disk does not
// take is bounded, then dropped and counted. On the loop's thread.
class ClusterHistory {
 public:
  static constexpr Duration kLook = std::chrono::seconds{30};  // between two calls of look()
  static constexpr Duration kLearn = std::chrono::hours{1};    // between searches for lemons
  static constexpr std::size_t kRecordsAtOnce = 64;            // of one item of the writer
  static constexpr std::size_t kMostItems = 512;               // that wait for the disk
  static constexpr std::size_t kMostKnown = 16'384;            // open faults, and findings that were written

  // The clock outlives the process's threads.
  ClusterHistory(std::shared_ptr<const Clock> clock, const ClusterHistoryOptions& options);
  ClusterHistory(const ClusterHistory&) = delete;
  ClusterHistory& operator=(const ClusterHistory&) = delete;
  ~ClusterHistory();

  // This replica leads from now on: what another one left open is read from the file.
  void lead();
  // What the brain has found.
  void note(const job_hub::HubResults& results);
  // Call it every kLook with a complete snapshot of the cluster.
  void look(const World& world);
  // Nodes that fail again and again, of the last search that ended since the last call; nullopt: no new one.
  [[nodiscard]] std::optional<LemonSearch> take_lemons();

  // The families autopilot_controller_history_*.
  void add_metrics(logging::MetricsText& metrics) const;
  // Waits until what was put is written; for tests.
  [[nodiscard]] Status flush(Duration patience) { return writer_.flush(patience); }

 private:
  struct Shared;

  void put(std::vector<learning::HistoryRecord> records);
  void note_findings(const jobs::JobReport& report, std::vector<learning::HistoryRecord>& records);
  void read_open_faults();
  void take_stored();
  void note_causes(const World& world, std::vector<learning::HistoryRecord>& records);
  void end_faults(const World& world, WallTime now, std::vector<learning::HistoryRecord>& records);
  void note_returns(const World& world, std::vector<learning::HistoryRecord>& records);
  void learn_when_due(const World& world, Instant now);
  void log_problem();

  const std::shared_ptr<const Clock> clock_;
  const std::shared_ptr<Shared> shared_;
  store::HistoryWriter writer_;
  JobsOnNodes jobs_;
  std::map<std::string, WallTime, std::less<>> ended_jobs_;                  // written, by key: their end
  std::map<std::string, std::optional<WallTime>, std::less<>> findings_;     // written, with their end
  std::optional<std::map<std::string, learning::Fault, std::less<>>> open_;  // nullopt: not read yet
  std::weak_ptr<void> reading_;  // of open faults: expired when the writer is done or refused
  WallTime returns_until_{};     // plans that changed earlier are recorded
  std::map<std::string, WallTime, std::less<>> returns_;  // written, by plan
  std::optional<MonoTime> learned_;
  bool has_new_fault_ = false;
  std::string problem_;  // that was logged last
};

}  // namespace autopilot::controller
