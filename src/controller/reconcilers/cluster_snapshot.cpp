// SPDX-License-Identifier: Apache-2.0
#include "controller/reconcilers/cluster_snapshot.hpp"

#include <algorithm>
#include <type_traits>

#include "controller/reconcilers/world_view.hpp"
#include "kube/health_reports.hpp"

namespace autopilot::controller {
namespace {

std::string_view name_in(std::string_view key) {
  return key.substr(key.find('/') + 1);
}

}  // namespace

ClusterSnapshot::ClusterSnapshot(net::EventLoop& loop, kube::Client& client, const Clock& clock,
                                 SnapshotOptions options, Policy policy, std::function<double()> random,
                                 std::function<void()> on_news)
    : loop_(loop),
      client_(client),
      clock_(clock),
      space_(std::move(options.name_space)),
      view_(std::move(options.view)),
      most_(options.most),
      policy_(std::move(policy)),
      random_(std::move(random)),
      on_news_(std::move(on_news)),
      nodes_(follow<kube::Node>("/api/v1/nodes", kube::parse_node, &ClusterSnapshot::take_node)),
      // Pods that have ended hold no devices.
      pods_(follow<kube::Pod>("/api/v1/pods", kube::parse_pod, &ClusterSnapshot::take_pod,
                              "status.phase!=Succeeded,status.phase!=Failed")),
      node_reports_(follow<NodeReport>(kube::health_reports_path(space_), parse_node_report,
                                       &ClusterSnapshot::take_node_report)),
      reports_(follow<kube::HealthCheckReport>(kube::health_check_reports_path(space_),
                                               kube::parse_health_check_report,
                                               &ClusterSnapshot::take_report)),
      plans_(follow<kube::RemediationPlan>(kube::remediation_plans_path(space_), kube::parse_remediation_plan,
                                           &ClusterSnapshot::take_plan)) {}

template <class T>
ClusterSnapshot::Cache<T> ClusterSnapshot::follow(std::string path,
                                                  T (*parse)(const kube::JsonObject& object),
                                                  void (ClusterSnapshot::*take)(const std::string& key),
                                                  const std::string& selector) {
  Kind& kind = kinds_.emplace_back();
  kind.name = path.substr(path.rfind('/') + 1);
  typename kube::ObjectCache<T>::Options kept;
  kept.most = most_;
  kept.on_changed = [this, take](const std::string& key) { (this->*take)(key); };
  kept.on_synced = [this] { on_news_(); };
  kept.on_heard = [this, &kind] { kind.heard = clock_.now().wall; };
  if constexpr (std::is_same_v<T, kube::Pod>)
    kept.is_wanted = [this](const kube::Pod& pod) { return is_of_interest(pod, view_); };
  const auto cache = std::make_shared<kube::ObjectCache<T>>(parse, std::move(kept));
  kube::WatchOptions options;
  options.list.path = std::move(path);
  if (!selector.empty()) options.list.query["fieldSelector"] = selector;
  options.is_exact = true;
  kind.cache = cache;
  kind.watch = std::make_unique<kube::Watch>(loop_, client_, std::move(options), cache->events(), random_);
  kind.problem = [cache = cache.get()] { return cache->problem(); };
  kind.left_out = [cache = cache.get()] { return cache->left_out(); };
  return cache;
}

void ClusterSnapshot::start() {
  for (const Kind& kind : kinds_)
    kind.watch->start();
}

void ClusterSnapshot::use(Policy policy) {
  policy_ = std::move(policy);
  for (const auto& [name, node] : nodes_->objects())
    put_node(name);
  on_news_();
}

void ClusterSnapshot::use_lemons(LemonSearch search) {
  if (world_.set_lemons(std::move(search))) on_news_();
}

const World& ClusterSnapshot::world() {
  world_.as_of = std::ranges::min_element(kinds_, {}, &Kind::heard)->heard;
  world_.is_complete = problem().empty();
  return world_;
}

std::string ClusterSnapshot::problem() const {
  const WallTime now = clock_.now().wall;
  for (const Kind& kind : kinds_) {
    const auto with_cause = [&](const char* what) {
      const auto why = kind.problem();
      return kind.name + what + (why ? ": " + why->what : "");
    };
    if (!kind.watch->is_synced()) return with_cause(": not listed yet");
    if (now - kind.heard > kSilence) return with_cause(": no data for too long");
    if (kind.left_out() > 0) return with_cause(": too many objects");
  }
  return {};
}

void ClusterSnapshot::tell(bool is_news) const {
  if (is_news) on_news_();
}

bool ClusterSnapshot::put_node(const std::string& name) {
  const kube::Node* node = nodes_->find("", name);
  if (node == nullptr) return world_.remove_node(name);
  const NodeReport* node_report = node_reports_->find(space_, name);
  Node fact = node_fact(*node, node_report, policy_, view_);
  const Node* old = world_.node(name);
  const bool is_news = old == nullptr || !says_the_same(*old, fact);
  world_.put(std::move(fact));
  return is_news;
}

void ClusterSnapshot::take_node(const std::string& key) {
  tell(put_node(key));
}

void ClusterSnapshot::take_node_report(const std::string& key) {
  tell(put_node(std::string(name_in(key))));
}

// Another pod can have the same name.
void ClusterSnapshot::take_pod(const std::string& key) {
  const auto objects = pods_->objects().find(key);
  const kube::Pod* pod = objects == pods_->objects().end() ? nullptr : &objects->second;
  const auto known = pod_uids_.find(key);
  bool is_news = false;
  if (known != pod_uids_.end() && (pod == nullptr || known->second != pod->meta.uid)) {
    is_news = world_.remove_pod(known->second);
    pod_uids_.erase(known);
  }
  if (pod != nullptr) {
    pod_uids_.insert_or_assign(key, pod->meta.uid);
    is_news = world_.put(pod_fact(*pod, view_)) || is_news;
  }
  tell(is_news);
}

void ClusterSnapshot::take_report(const std::string& key) {
  const std::string_view name = name_in(key);
  const kube::HealthCheckReport* report = reports_->find(space_, name);
  tell(report == nullptr ? world_.remove_report(name) : world_.put(report_fact(*report)));
}

void ClusterSnapshot::take_plan(const std::string& key) {
  const std::string_view name = name_in(key);
  const kube::RemediationPlan* plan = plans_->find(space_, name);
  tell(plan == nullptr ? world_.remove_entry(name) : world_.put(entry_fact(*plan)));
}

}  // namespace autopilot::controller
