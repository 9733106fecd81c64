// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jobs/decision/fusion.hpp"
#include "jobs/detectors/regression.hpp"
#include "jobs/engine.hpp"
#include "jobs/job_context.hpp"
#include "jobs/network_watch.hpp"
#include "jobs/peer_watch.hpp"
#include "jobs/roles.hpp"

namespace autopilot::jobs {

// A culprit that slows the job, or will: evidence joined, no decision yet.
struct SlowCase {
  Entity culprit;
  std::string cause;
  std::vector<int> ranks;
  double probability = 0;
  std::vector<Evidence> evidence;
  std::vector<std::string> ruled_out;
  WallTime since{};       // first minute with the evidence
  bool is_fatal = false;  // an event states that no job can go on with the part
};

// Whether one job is slower than it should be, and because of what. Once a minute.
class SlowWatch {
 public:
  explicit SlowWatch(const EngineOptions& options);

  // A new attempt. What was learned of step times is kept if the ranks are equal.
  void start(const JobContext& job, bool has_equal_ranks);
  // The steps do other work: what was learned of their times does not hold.
  void forget_pace();
  void add(const CollectivesRecord& record);

  // One minute: `steps` ended in it, collectives were started at this pace; is_training: no other phase, no
  // stall.
  struct Minute {
    WallTime end{};
    Progress::Minute steps;
    std::optional<double> collectives_per_s;
    bool is_training = false;
  };
  [[nodiscard]] std::vector<SlowCase> minute(const JobContext& job, const Minute& minute);

  [[nodiscard]] const std::optional<RegressionFinding>& regression() const { return regression_.present(); }
  // Fraction by which steps are longer: measured, else estimated from the evidence of a culprit.
  [[nodiscard]] std::optional<double> slowdown_by(const SlowCase& found) const;
  // Step time before any regression, in seconds; not set until it is learned.
  [[nodiscard]] std::optional<double> usual_step_s() const { return regression_.baseline_s(); }
  // What the network detector reported for the last minute, accusing or not.
  [[nodiscard]] const std::vector<NetworkFinding>& network() const { return network_findings_; }
  // Ports with errors of late, for the other jobs below their leaves.
  [[nodiscard]] std::span<const NoisyPort> noisy_ports() const { return network_.noisy(); }
  // Of healthy and of faulty minutes; empty unless the option collects_scores is set.
  [[nodiscard]] std::vector<PeerScore> take_scores() { return peers_.take_scores(); }
  // Other jobs filled the network of the job within the last minutes.
  [[nodiscard]] bool is_congested(WallTime now) const;

 private:
  void find_roles_again(const JobContext& job);
  void learn_load(const JobContext& job, WallTime end);
  void feed_regression(const Minute& minute);
  [[nodiscard]] std::vector<SlowCase> peers(const JobContext& job, WallTime end);
  [[nodiscard]] std::vector<SlowCase> network(const JobContext& job, WallTime end);
  void add_slowdown(WallTime end, std::vector<SlowCase>& cases);
  void add_events(const JobContext& job, WallTime end, std::vector<SlowCase>& cases) const;

  EngineOptions options_;
  Roles roles_;
  std::optional<CollectivesRecord> collectives_;
  std::vector<std::vector<RankLoad>> loads_;  // of the last minutes of training, by minute
  bool has_clustered_ = false;
  std::size_t nic_rows_ = 0;
  PeerWatch peers_;
  NetworkWatch network_;
  std::vector<NetworkFinding> network_findings_;
  std::optional<WallTime> congested_;
  struct Seen {
    WallTime first{}, last{};
  };
  std::map<Entity, Seen> seen_;  // culprits of the last minutes
  RegressionDetector regression_;
  int other_phase_ = 0;  // minutes in a row with far fewer collectives than usual
};

}  // namespace autopilot::jobs
