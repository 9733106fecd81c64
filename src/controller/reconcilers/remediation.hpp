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
#include "controller/reconcilers/picture.hpp"
#include "controller/steps.hpp"
#include "core/clock.hpp"
#include "kube/client.hpp"
#include "kube/stored_texts.hpp"
#include "net/event_loop.hpp"

namespace autopilot::controller {

struct RetentionLimits {
  std::size_t most = 2000;  // plans, and reports; those that have not ended stay beyond it
  Duration longest = std::chrono::hours{24 * 30};
};

// A plan or report, as far as its end is concerned.
struct Kept {
  std::string path;
  kube::Meta meta;
  WallTime changed{};
  bool has_ended = false;
};
// Deletions of those that are too many or too old, the oldest first. Pure.
[[nodiscard]] std::vector<Write> too_old(std::vector<Kept> objects, const RetentionLimits& limits,
                                         WallTime now);

// Deletes old plans and reports, one after the other. On the loop's thread.
class Retention {
 public:
  static constexpr Duration kEvery = std::chrono::minutes{10};
  static constexpr std::size_t kMostAtOnce = 500;

  Retention(net::EventLoop& loop, kube::Client& client, const Clock& clock, const Picture& picture,
            std::string name_space, std::function<bool()> is_leader, RetentionLimits limits = {});
  Retention(const Retention&) = delete;
  Retention& operator=(const Retention&) = delete;
  ~Retention() = default;

  void start();
  // Now, and not only at its time.
  void look();

 private:
  void go_on();

  net::EventLoop& loop_;
  kube::Client& client_;
  const Clock& clock_;
  const Picture& picture_;
  const std::string space_;
  const std::function<bool()> is_leader_;
  const RetentionLimits limits_;
  std::deque<Write> waiting_;
  net::Exchange exchange_;
  net::Subscription next_;
};

inline constexpr const char* kHeldNodesName = "autopilot-held-nodes";

// Of each node that is held, by its name: since when, by which plan and why, in one line. Of more than `most`
// the first by name, and under "_more" how many others there are. Pure.
[[nodiscard]] kube::Texts held_nodes(const World& world, std::size_t most = 1000);

// Keeps that list in the ConfigMap autopilot-held-nodes, which the chart makes and `helm uninstall` leaves
// and names: what is cordoned outlives the controller. Where there is no such ConfigMap nothing is written.
// Why it cannot be written is logged once for each cause in a row. On the loop's thread.
class HeldNodes {
 public:
  static constexpr Duration kAfterFailure = std::chrono::minutes{1};

  HeldNodes(net::EventLoop& loop, kube::Client& client, const std::string& name_space,
            std::function<bool()> is_leader, Duration after_failure = kAfterFailure);
  HeldNodes(const HeldNodes&) = delete;
  HeldNodes& operator=(const HeldNodes&) = delete;
  ~HeldNodes() = default;

  // To be called again and again: writes what differs from what was last seen there.
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
  std::optional<kube::Texts> shown_;  // nothing: not seen yet
  std::string problem_;               // why it could not be written, as last said
  net::Exchange exchange_;
  net::Subscription again_;
};

struct RemediationOptions {
  std::string name_space;
  ViewOptions view;
  std::string host;  // the name of our pod
};

// What is known of the remediation, for metrics and people.
struct RemediationFigures {
  std::uint64_t plans_made = 0;
  std::string problem;  // why nothing is decided; empty: nothing
  std::vector<TrippedBreaker> breakers;
  ExecutorStats executor;
  std::map<Phase, std::size_t> entries;
};

// What the controller that leads does about bad nodes, for as long as this lives: keeps a picture of the
// cluster, makes a plan whenever something changes in it, and carries it out. It keeps nothing that is not in
// the cluster: whoever leads next goes on. On the loop's thread.
class Remediation {
 public:
  static constexpr Duration kPause = std::chrono::milliseconds{200};  // at least, between two plans
  static constexpr Duration kEvery = std::chrono::seconds{30};        // though nothing changes

  // is_leader: asked before every request that changes something. random: in [0, 1).
  Remediation(net::EventLoop& loop, kube::Client& client, const Clock& clock,
              const RemediationOptions& options, Policy policy, std::function<bool()> is_leader,
              const std::function<double()>& random);
  Remediation(const Remediation&) = delete;
  Remediation& operator=(const Remediation&) = delete;
  ~Remediation() = default;

  void start();
  void use(Policy policy) { picture_.use(std::move(policy)); }
  // The cluster as it is known now.
  [[nodiscard]] const World& world() { return picture_.world(); }
  // A plan is being carried out.
  [[nodiscard]] bool is_busy() const { return executor_.is_busy(); }
  [[nodiscard]] RemediationFigures figures() const;
  // Every plan that is known, the newest first.
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
  Picture picture_;
  Executor executor_;
  Retention retention_;
  HeldNodes held_nodes_;
  net::Subscription next_;
  MonoTime started_{};
  MonoTime last_{};
  MonoTime due_{};        // though nothing changes
  bool is_soon_ = false;  // the next plan is for something that changed
  std::uint64_t plans_made_ = 0;
  std::string problem_;  // with the picture, at the last plan
  std::string told_;     // the one that was said last
  std::vector<TrippedBreaker> breakers_;
};

}  // namespace autopilot::controller
