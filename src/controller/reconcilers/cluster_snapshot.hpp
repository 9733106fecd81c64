// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/planner/policy.hpp"
#include "controller/planner/world.hpp"
#include "controller/reconcilers/world_view.hpp"
#include "core/clock.hpp"
#include "kube/client.hpp"
#include "kube/health_reports.hpp"
#include "kube/remediation.hpp"
#include "kube/watch.hpp"
#include "net/event_loop.hpp"

namespace autopilot::controller {

struct SnapshotOptions {
  std::string name_space;  // of plans and reports
  ViewOptions view;
  std::size_t most = 100'000;  // limit of objects of one kind; beyond, no plan is made
};

// The leader's snapshot of the cluster: nodes, pods with accelerators, reports of agents, and the ledger. At
// the start, every kind is listed with a consistent read, so that it includes all writes of the previous
// leader. On the loop's thread.
class ClusterSnapshot {
 public:
  // Watches give a sign of life at least once a minute. A watch that was silent for longer than this may have
  // ended.
  static constexpr Duration kSilence = std::chrono::minutes{3};

  // on_news: a change that can require a new plan.
  ClusterSnapshot(net::EventLoop& loop, kube::Client& client, const Clock& clock, SnapshotOptions options,
                  Policy policy, std::function<double()> random, std::function<void()> on_news);
  ClusterSnapshot(const ClusterSnapshot&) = delete;
  ClusterSnapshot& operator=(const ClusterSnapshot&) = delete;
  ~ClusterSnapshot() = default;

  void start();
  // Sets the policy, which assigns nodes to pools.
  void use(Policy policy);

  void use_lemons(LemonSearch search);

  // With its completeness and age updated.
  [[nodiscard]] const World& world();
  [[nodiscard]] const Policy& policy() const { return policy_; }
  // Why no decision can be based on it; empty: no reason.
  [[nodiscard]] std::string problem() const;

  // Null: missing or unknown. Valid until the next change.
  [[nodiscard]] const kube::Node* node(std::string_view name) const { return nodes_->find("", name); }
  [[nodiscard]] const kube::HealthCheckReport* report(std::string_view name) const {
    return reports_->find(space_, name);
  }
  [[nodiscard]] const kube::RemediationPlan* plan(std::string_view name) const {
    return plans_->find(space_, name);
  }
  [[nodiscard]] const auto& reports() const { return reports_->objects(); }
  [[nodiscard]] const auto& plans() const { return plans_->objects(); }

  // Records the server's responses to our writes.
  void note_written(kube::Node node) { nodes_->note_written(std::move(node)); }
  void note_written(kube::HealthCheckReport report) { reports_->note_written(std::move(report)); }
  void note_written(kube::RemediationPlan plan, bool is_new) {
    plans_->note_written(std::move(plan), is_new);
  }

 private:
  // One followed kind of object, without its type.
  struct Kind {
    std::string name;             // for messages
    std::shared_ptr<void> cache;  // declared before the watch, which uses it
    std::unique_ptr<kube::Watch> watch;
    std::function<std::optional<Error>()> problem;
    std::function<std::uint64_t()> left_out;
    WallTime heard{};
  };
  template <class T>
  using Cache = std::shared_ptr<kube::ObjectCache<T>>;

  // Registers a kind, and follows its objects from start() on. take: called for each changed object.
  template <class T>
  [[nodiscard]] Cache<T> follow(std::string path, T (*parse)(const kube::JsonObject& object),
                                void (ClusterSnapshot::*take)(const std::string& key),
                                const std::string& selector = {});

  void take_node(const std::string& key);
  void take_pod(const std::string& key);
  void take_node_report(const std::string& key);
  void take_report(const std::string& key);
  void take_plan(const std::string& key);
  // True: a new plan can be needed.
  bool put_node(const std::string& name);
  void tell(bool is_news) const;

  net::EventLoop& loop_;
  kube::Client& client_;
  const Clock& clock_;
  const std::string space_;
  const ViewOptions view_;
  const std::size_t most_;
  Policy policy_;
  const std::function<double()> random_;
  const std::function<void()> on_news_;
  World world_;
  std::map<std::string, std::string, std::less<>> pod_uids_;  // by the key of the pod
  std::list<Kind> kinds_;
  const Cache<kube::Node> nodes_;
  const Cache<kube::Pod> pods_;
  const Cache<NodeReport> node_reports_;
  const Cache<kube::HealthCheckReport> reports_;
  const Cache<kube::RemediationPlan> plans_;
};

}  // namespace autopilot::controller
