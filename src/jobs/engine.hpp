// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "jobs/decision/decide.hpp"
#include "jobs/decision/failure.hpp"
#include "jobs/decision/signal_weights.hpp"
#include "jobs/detectors/peer_scores.hpp"
#include "jobs/findings.hpp"
#include "jobs/records.hpp"

namespace autopilot::jobs {

// Parts of the engine that can be left out, for the ablations of the benchmark.
struct EngineOptions {
  bool uses_roles = true;
  bool uses_persistence = true;
  bool uses_whitening = true;
  bool uses_fusion = true;

  // How far each node is from the margins of the peer rules is collected for take_scores().
  bool collects_scores = false;

  // Limits. What exceeds one is counted in `dropped` and left out.
  std::size_t max_jobs = 4096;
  std::size_t max_nodes = 32768;
};

struct EngineCounts {
  std::uint64_t records = 0;
  std::uint64_t dropped = 0;  // too old, beyond a limit, of an unknown job or node
  std::uint64_t future = 0;   // more than 60 s ahead of the engine's time
};

// The in-flight engine: records in, findings out. Pure: it has no clock, reads nothing, starts nothing. Equal
// records and times give equal findings, in equal order. Not thread-safe.
class Engine {
 public:
  explicit Engine(EngineOptions options = {});
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  // Records of one node or job are ordered by time up to 60 s; older ones are dropped and counted.
  void add(const Record& record);
  // Open findings of an earlier evaluation, in that attempt of a job that is known. They keep their ids, and
  // are unconfirmed until records confirm them.
  void restore(std::string_view job, int attempt, std::vector<JobFinding> findings, WallTime now);
  // Time has come to `now`: evaluates what is complete. Steps of 10 s; a time before the last one is ignored.
  void advance(WallTime now);

  // Findings that are new or changed since the last call: raised, stronger, resolved.
  [[nodiscard]] std::vector<JobFinding> take();
  [[nodiscard]] std::vector<JobState> jobs() const;
  [[nodiscard]] std::optional<JobState> job(std::string_view job) const;
  // Empty for an unknown job.
  [[nodiscard]] std::vector<JobFinding> open_findings(std::string_view job) const;
  // Why the last attempt ended with an error. nullopt: none did, or the job is unknown.
  [[nodiscard]] std::optional<Failure> failure(std::string_view job) const;
  [[nodiscard]] EngineCounts counts() const;
  // Scores that became complete since the last call, in order of job, signal, node and time.
  [[nodiscard]] std::vector<PeerScore> take_scores();

  // Counts for decisions from now on. Default: Policy{}.
  void set_policy(const Policy& policy);
  // Learned weights of signals, from now on; null: the values that ship (the default). The weights have
  // passed check_weights().
  void set_weights(SignalWeightsPtr weights);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace autopilot::jobs
