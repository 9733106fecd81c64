// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/node_pods.hpp"

#include <string_view>
#include <utility>

namespace autopilot::agent {
namespace {

constexpr std::string_view kOwnSettings = "autopilot.ibm.com/";

void keep_text(const std::string& name, const std::string& value, std::size_t& room,
               collect::PodFacts::Texts& kept) {
  const std::size_t size = name.size() + value.size();
  if (size > room) return;
  room -= size;
  kept.emplace(name, value);
}

collect::PodFacts facts_of(const kube::Pod& pod) {
  collect::PodFacts facts;
  facts.uid = pod.meta.uid;
  facts.name_space = pod.meta.name_space;
  facts.name = pod.meta.name;
  std::size_t room = NodePods::kMostTextBytes;
  for (const auto& [name, value] : pod.meta.labels)
    keep_text(name, value, room, facts.labels);
  room = NodePods::kMostTextBytes;
  for (const auto& [name, value] : pod.meta.annotations)
    if (name.starts_with(kOwnSettings)) keep_text(name, value, room, facts.annotations);
  if (!pod.owner_kind.empty())
    facts.owners.push_back({.kind = pod.owner_kind, .name = pod.owner_name, .uid = pod.owner_uid});
  return facts;
}

collect::PodEnd end_of(const kube::ContainerEnd& container, bool is_deleting) {
  collect::PodEnd end{.code = static_cast<int>(container.exit_code),
                      .signal = {},
                      .oom = container.reason == "OOMKilled",
                      .reason = {}};
  if (is_deleting && end.code != 0 && !end.oom) end.reason = jobs::PodReason::deleted;
  return end;
}

std::optional<collect::PodEnd> end_of(const kube::Pod& pod) {
  const kube::ContainerEnd* worst = nullptr;
  for (const kube::ContainerEnd& end : pod.ends)
    if (worst == nullptr || (worst->exit_code == 0 && end.exit_code != 0) || end.reason == "OOMKilled")
      worst = &end;
  if (worst == nullptr) return std::nullopt;
  return end_of(*worst, pod.meta.is_deleting);
}

}  // namespace

void NodePods::put(const kube::Pod& pod, ByUid& pods) {
  if (pod.meta.uid.empty() || (pods.size() >= kMostPods && !pods.contains(pod.meta.uid))) return;
  pods.insert_or_assign(pod.meta.uid,
                        Known{.facts = facts_of(pod),
                              .address = pod.addresses.empty() ? std::string() : pod.addresses.front(),
                              .end = end_of(pod)});
}

void NodePods::begin_list() {
  const std::lock_guard lock(mutex_);
  listed_.emplace();
}

void NodePods::end_list() {
  const std::lock_guard lock(mutex_);
  if (listed_) pods_ = *std::exchange(listed_, std::nullopt);
  gone_.clear();
  has_list_ = true;
}

void NodePods::put(const kube::Pod& pod) {
  const std::lock_guard lock(mutex_);
  put(pod, listed_ ? *listed_ : pods_);
}

void NodePods::remove(const kube::Pod& pod) {
  const std::lock_guard lock(mutex_);
  put(pod, pods_);
  gone_.push_back(pod.meta.uid);
  if (gone_.size() <= kMostGone) return;
  pods_.erase(gone_.front());
  gone_.pop_front();
}

std::optional<collect::PodFactsByUid> NodePods::facts() const {
  const std::lock_guard lock(mutex_);
  if (!has_list_) return std::nullopt;
  collect::PodFactsByUid facts;
  for (const auto& [uid, known] : pods_)
    facts.emplace(uid, known.facts);
  return facts;
}

std::optional<std::string> NodePods::address(const std::string& uid) const {
  const std::lock_guard lock(mutex_);
  const auto known = pods_.find(uid);
  if (known == pods_.end() || known->second.address.empty()) return std::nullopt;
  return known->second.address;
}

std::optional<collect::PodEnd> NodePods::end(const std::string& uid) const {
  const std::lock_guard lock(mutex_);
  const auto known = pods_.find(uid);
  return known == pods_.end() ? std::nullopt : known->second.end;
}

kube::PodListener listener_of(const std::shared_ptr<NodePods>& pods) {
  return {.begin_list = [pods] { pods->begin_list(); },
          .put = [pods](const kube::Pod& pod) { pods->put(pod); },
          .end_list = [pods] { pods->end_list(); },
          .remove = [pods](const kube::Pod& pod) { pods->remove(pod); }};
}

}  // namespace autopilot::agent
