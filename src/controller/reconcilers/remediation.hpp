// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/executor.hpp"
#include "controller/planner/plan.hpp"
#include "controller/planner/policy.hpp"
#include "controller/planner/world.hpp"
#include "controller/reconcilers/cluster_snapshot.hpp"
#include "controller/steps.hpp"
#include "core/clock.hpp"
#include "kube/client.hpp"
#include "kube/stored_texts.hpp"
#include "net/event_loop.hpp"

namespace autopilot::controller {

struct RetentionLimits {
  std::size_t most = 2000;  // plans and reports each; open ones are kept beyond it
  Duration longest = std::chrono::hours{24 * 30};
};

// The fields of a plan or report that decide about its deletion.
struct Kept {
  std::string path;
  kube::Meta meta;
  WallTime changed{};
  bool has_ended = false;
};
// Deletions of ended objects beyond the limits, the oldest first. Pure.
[[nodiscard]] std::vector<Write> too_old(std::vector<Kept> objects, const RetentionLimits& limits,
                                         WallTime now);

// Deletes old plans and reports, one at a time. On the loop's thread.
class Retention {
 public:
  static constexpr Duration kEvery = std::chrono::minutes{10};
  static constexpr std::size_t kMostAtOnce = 500;

  Retention(net::EventLoop& loop, kube::Client& client, const Clock& clock, const ClusterSnapshot& snapshot,
            std::string name_space, std::function<bool()> is_leader, RetentionLimits limits = {});
  Retention(const Retention&) = delete;
  Retention& operator=(const Retention&) = delete;
  ~Retention() = default;

  void start();
  // Deletes old objects now, outside the interval.
  void look();

 private:
  void go_on();

  net::EventLoop& loop_;
  kube::Client& client_;
  const Clock& clock_;
  const ClusterSnapshot& snapshot_;
  const std::string space_;
  const std::function<bool()> is_leader_;
  const RetentionLimits limits_;
  std::deque<Write> waiting_;
  net::Exchange exchange_;
  net::Subscription next_;
};

inline constexpr const char* kHeldNodesName = "autopilot-held-nodes";

// One line for each held node, by its name: since when, by which plan, and why. Beyond `most` only the first
// by name; "_more" then has the number of the others. Pure.
[[nodiscard]] kube::Texts held_nodes(const World& world, std::size_t most = 1000);

// Keeps that list in the ConfigMap autopilot-held-nodes, which the chart creates and `helm uninstall` keeps,
// because cordons outlive the controller. Without that ConfigMap nothing is written. A failure to write is
// logged once for each consecutive cause. On the loop's thread.
class HeldNodes {
 public:
  static constexpr Duration kAfterFailure = std::chrono::minutes{1};

  HeldNodes(net::EventLoop& loop, kube::Client& client, const std::string& name_space,
            std::function<bool()> is_leader, Duration after_failure = kAfterFailure);
  HeldNodes(const HeldNodes&) = delete;
  HeldNodes& operator=(const HeldNodes&) = delete;
  ~HeldNodes() = default;

  // Call it repeatedly; writes only differences from the last known content.
  void show(kube::Texts held);

 private:
  void look();
  void take(const kube::ApiResult<std::string>& answer);
  void take_written(const kube::ApiResult<std::string>& answer);
  void look_later(const Error& why);

  net::EventLoop& loop_;
  kube::Client& client_;
  const std::string path_;
  const std::function<bool()> is_leader_;
  const Duration after_failure_;
  kube::Texts wanted_;
  std::optional<kube::Texts> shown_;  // nullopt: not read yet
  std::string problem_;               // the last logged failure
  net::Exchange exchange_;
  net::Subscription again_;
};

struct RemediationOptions {
  std::string name_space;
  ViewOptions view;
  std::string host;  // name of our pod
};

// State of the remediation, for metrics and people.
struct RemediationFigures {
  std::uint64_t plans_made = 0;
  std::string problem;  // why there are no decisions; empty: no problem
  std::vector<TrippedBreaker> breakers;
  ExecutorStats executor;
  std::map<Phase, std::size_t> entries;
};

// The remediation of the leader, for as long as this object lives: it keeps a snapshot of the cluster, makes
// a plan after each change, and executes it. All of its state is in the cluster, so that the next leader
// continues. On the loop's thread.
class Remediation {
 public:
  static constexpr Duration kPause = std::chrono::milliseconds{200};  // shortest time between two plans
  static constexpr Duration kEvery = std::chrono::seconds{30};        // longest time without a change

  // is_leader: called before every write. random: in [0, 1).
  Remediation(net::EventLoop& loop, kube::Client& client, const Clock& clock,
              const RemediationOptions& options, Policy policy, std::function<bool()> is_leader,
              const std::function<double()>& random);
  Remediation(const Remediation&) = delete;
  Remediation& operator=(const Remediation&) = delete;
  ~Remediation() = default;

  void start();
  void use(Policy policy) { snapshot_.use(std::move(policy)); }
  // Replaces what the history of the cluster knows of nodes that fail again and again.
  void use_lemons(LemonSearch search) { snapshot_.use_lemons(std::move(search)); }
  // The current snapshot.
  [[nodiscard]] const World& world() { return snapshot_.world(); }
  // True while a plan is executed.
  [[nodiscard]] bool is_busy() const { return executor_.is_busy(); }
  [[nodiscard]] RemediationFigures figures() const;
  // All known plans, the newest first.
  [[nodiscard]] std::string plans_json() const;

 private:
  void look_soon();
  void look();
  void look_at(MonoTime when);
  void rest(bool has_asked);
  void tell(const std::string& brake);

  net::EventLoop& loop_;
  const Clock& clock_;
  const std::function<bool()> is_leader_;
  ClusterSnapshot snapshot_;
  Executor executor_;
  Retention retention_;
  HeldNodes held_nodes_;
  net::Subscription next_;
  MonoTime started_{};
  MonoTime last_{};
  MonoTime due_{};        // longest time without a change
  bool is_soon_ = false;  // the next plan follows a change
  std::uint64_t plans_made_ = 0;
  std::string problem_;  // of the snapshot, at the last plan
  std::string told_;     // the last logged problem
  std::vector<TrippedBreaker> breakers_;
};

}  // namespace autopilot::controller
