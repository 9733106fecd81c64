// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "jobs/findings.hpp"

// What limits automatic actions, whatever the decision is.
namespace autopilot::jobs {

struct GuardLimits {
  int evictions_an_hour = 3;
  double nodes_a_day = 0.01;      // part of the cluster's nodes; at least one node
  double unhealthy_nodes = 0.05;  // part that became unhealthy in 30 min, from which nothing acts
  int least_unhealthy = 3;        // assumption: fewer share no cause in a small cluster
  int retries_of_entity = 1;      // automatic actions of a job without progress: for one culprit,
  int retries_of_cause = 1;       // for one cause,
  int retries_of_job = 3;         // in total
  std::size_t jobs = 4096;        // remembered; a new job beyond that is not acted on
  std::size_t records = 65536;    // remembered evictions, and unhealthy nodes
};

enum class Rail : std::uint8_t {
  none,         // allowed
  unknown,      // the culprit or its health is unknown
  breaker,      // too many nodes became unhealthy at once
  hourly,       // evictions in the last hour
  daily,        // nodes evicted in the last day
  stop_of_job,  // one automatic stop of a job in 6 h without progress
  retry_entity,
  retry_cause,
  retry_job,
  memory,  // a limit of this object
};

// An action that waits for permission.
struct Request {
  std::string job;
  Choice choice = Choice::keep_running;
  Entity culprit;
  std::string cause;      // key of the finding's cause: the class in the retry ledger
  bool is_known = false;  // the finding rests on data that was measured, not on missing data
};

struct Permission {
  bool is_allowed = false;
  Rail rail = Rail::none;
  std::string sentence;  // why not, for a person; empty if allowed
  bool pages = false;    // the rail itself needs a person: the breaker
};

// Time is passed in and must not fall; an earlier time counts as the latest known. Not thread-safe.
class GuardRails {
 public:
  explicit GuardRails(GuardLimits limits = {});

  // Nodes of the cluster. 0: unknown, and nothing is allowed.
  void set_nodes(std::size_t nodes) { nodes_ = nodes; }
  // The health of the node changed from healthy to degraded or failed, or the node was lost.
  void became_unhealthy(std::string_view node, WallTime time);
  // The job has a new durable checkpoint: its retries and its last stop no longer count.
  void made_progress(std::string_view job, WallTime time);
  void ended(std::string_view job);

  [[nodiscard]] Permission ask(const Request& request, WallTime now) const;
  // Records an action that was done, by permission or by a person.
  void acted(const Request& request, WallTime now);

  // The second half of an action that acted() has counted. Its node and its eviction count once, so only what
  // concerns the whole cluster is checked.
  [[nodiscard]] Permission ask_to_finish(const Request& request, WallTime now) const;
  // The second half was done. It counts for the job again, whose checkpoint between the halves is progress.
  void finished(const Request& request, WallTime now);

  // Nothing acts: more than 5 % of the nodes, and at least 3, became unhealthy within the last 30 min. It
  // recovers by itself when they no longer did.
  [[nodiscard]] bool is_breaker_open(WallTime now) const;

 private:
  struct Ledger {
    WallTime last_stop{};  // the epoch: none
    std::map<Entity, int> entities;
    std::map<std::string, int, std::less<>> causes;
    int total = 0;
  };
  struct Eviction {
    WallTime time{};
    std::string node;
  };

  [[nodiscard]] Permission check_known(const Request& request) const;
  [[nodiscard]] Permission check_breaker(WallTime now) const;
  [[nodiscard]] Permission check_cluster(const Request& request, WallTime now) const;
  [[nodiscard]] Permission check_job(const Request& request, WallTime now) const;
  [[nodiscard]] std::size_t unhealthy_since(WallTime time) const;
  void count_for_job(const Request& request);
  void forget(WallTime now);

  GuardLimits limits_;
  std::size_t nodes_ = 0;
  std::map<std::string, WallTime, std::less<>> unhealthy_;  // last change to unhealthy
  std::deque<Eviction> evictions_;                          // of the last day
  std::map<std::string, Ledger, std::less<>> jobs_;
  WallTime latest_{};
  bool is_full_ =
      false;  // a record was dropped: counts would be too low, and nothing acts until a day passed
  WallTime full_since_{};
};

}  // namespace autopilot::jobs
