// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "controller/executor.hpp"
#include "controller/planner/plan.hpp"
#include "controller/planner/policy.hpp"
#include "controller/planner/world.hpp"
#include "controller/reconcilers/held_nodes.hpp"
#include "controller/reconcilers/picture.hpp"
#include "controller/reconcilers/retention.hpp"
#include "core/clock.hpp"
#include "kube/client.hpp"
#include "net/event_loop.hpp"

namespace autopilot::controller {

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
