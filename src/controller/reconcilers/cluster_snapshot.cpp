// SPDX-License-Identifier: Apache-2.0
#include "controller/reconcilers/cluster_snapshot.hpp"

#include <algorithm>
#include <type_traits>

#include "controller/reconcilers/world_view.hpp"
#include "kube/health_reports.hpp"

namespace autopilot::controller {
namespace {

// Selects one overload of the parse functions.
template <class T>
using Parse = T (*)(const kube::JsonObject&);

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
      nodes_(static_cast<Parse<kube::Node>>(kube::parse_node),
             options_of<kube::Node>(Kind::nodes, &ClusterSnapshot::take_node)),
      pods_(static_cast<Parse<kube::Pod>>(kube::parse_pod),
            options_of<kube::Pod>(Kind::pods, &ClusterSnapshot::take_pod)),
      node_reports_(parse_node_report,
                    options_of<NodeReport>(Kind::node_reports, &ClusterSnapshot::take_node_report)),
      reports_(static_cast<Parse<kube::HealthCheckReport>>(kube::parse_health_check_report),
               options_of<kube::HealthCheckReport>(Kind::reports, &ClusterSnapshot::take_report)),
      plans_(static_cast<Parse<kube::RemediationPlan>>(kube::parse_remediation_plan),
             options_of<kube::RemediationPlan>(Kind::plans, &ClusterSnapshot::take_plan)) {
  follow(Kind::nodes, "/api/v1/nodes", nodes_);
  // Pods that have ended hold no devices.
  follow(Kind::pods, "/api/v1/pods", pods_, "status.phase!=Succeeded,status.phase!=Failed");
  follow(Kind::node_reports, kube::health_reports_path(space_), node_reports_);
  follow(Kind::reports, kube::health_check_reports_path(space_), reports_);
  follow(Kind::plans, kube::remediation_plans_path(space_), plans_);
}

template <class T>
typename kube::ObjectCache<T>::Options ClusterSnapshot::options_of(
    Kind kind, void (ClusterSnapshot::*take)(const std::string& key)) {
  typename kube::ObjectCache<T>::Options options;
  options.most = most_;
  options.on_changed = [this, take](const std::string& key) { (this->*take)(key); };
  options.on_synced = [this] { on_news_(); };
  options.on_heard = [this, kind] {
    followers_.at(static_cast<std::size_t>(kind)).heard = clock_.now().wall;
  };
  if constexpr (std::is_same_v<T, kube::Pod>)
    options.is_wanted = [this](const kube::Pod& pod) { return is_of_interest(pod, view_); };
  return options;
}

template <class T>
void ClusterSnapshot::follow(Kind kind, std::string path, kube::ObjectCache<T>& cache,
                             const std::string& selector) {
  kube::WatchOptions options;
  Follower& follower = followers_.at(static_cast<std::size_t>(kind));
  follower.name = path.substr(path.rfind('/') + 1);
  options.list.path = std::move(path);
  if (!selector.empty()) options.list.query["fieldSelector"] = selector;
  options.is_exact = true;
  follower.watch = std::make_unique<kube::Watch>(loop_, client_, std::move(options), cache.events(), random_);
  follower.problem = [&cache] { return cache.problem(); };
  follower.left_out = [&cache] { return cache.left_out(); };
}

void ClusterSnapshot::start() {
  for (const Follower& follower : followers_)
    follower.watch->start();
}

void ClusterSnapshot::use(Policy policy) {
  policy_ = std::move(policy);
  for (const auto& [name, node] : nodes_.objects())
    put_node(name);
  on_news_();
}

const World& ClusterSnapshot::world() {
  world_.as_of = std::ranges::min_element(followers_, {}, &Follower::heard)->heard;
  world_.is_complete = problem().empty();
  return world_;
}

std::string ClusterSnapshot::problem() const {
  const WallTime now = clock_.now().wall;
  for (const Follower& follower : followers_) {
    const auto with_cause = [&](const char* what) {
      const auto why = follower.problem();
      return follower.name + what + (why ? ": " + why->what : "");
    };
    if (!follower.watch->is_synced()) return with_cause(": not listed yet");
    if (now - follower.heard > kSilence) return with_cause(": no data for too long");
    if (follower.left_out() > 0) return with_cause(": too many objects");
  }
  return {};
}

void ClusterSnapshot::tell(bool is_news) const {
  if (is_news) on_news_();
}

bool ClusterSnapshot::put_node(const std::string& name) {
  const kube::Node* node = nodes_.find("", name);
  if (node == nullptr) return world_.remove_node(name);
  const NodeReport* node_report = node_reports_.find(space_, name);
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
  const auto objects = pods_.objects().find(key);
  const kube::Pod* pod = objects == pods_.objects().end() ? nullptr : &objects->second;
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
  const kube::HealthCheckReport* report = reports_.find(space_, name);
  tell(report == nullptr ? world_.remove_report(name) : world_.put(report_fact(*report)));
}

void ClusterSnapshot::take_plan(const std::string& key) {
  const std::string_view name = name_in(key);
  const kube::RemediationPlan* plan = plans_.find(space_, name);
  tell(plan == nullptr ? world_.remove_entry(name) : world_.put(entry_fact(*plan)));
}

}  // namespace autopilot::controller
