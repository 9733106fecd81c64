// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "diagnostics/cluster/pvc_steps.hpp"

namespace autopilot::diagnostics::testing {

using namespace std::chrono_literals;

inline constexpr const char* kRunKey = "autopilot.ibm.com/pvc-run";

// What a cluster does with claims and pods, and how one test is driven against it. A claim is protected for
// as long as a pod is there.
class PvcCluster {
 public:
  std::optional<kube::StorageClass> storage_class = kube::StorageClass{{}, "example.org/disk", false, false};
  std::optional<Duration> gives_after = 2s;  // nothing: it gives no volume
  std::string unscheduled;                   // what the scheduler says of every pod
  bool is_stuck = false;                     // what is to go does not
  std::string stuck;                         // likewise, the claim of that name alone
  Duration goes_after = 1s;

  void tick(MonoTime now) {
    for (auto& [claim, since] : claims_)
      if (gives_after && claim.phase == "Pending" && is_wanted(claim) && now - since >= *gives_after)
        claim.phase = "Bound";
    if (is_stuck) return;
    std::erase_if(
        pods_, [&](const auto& one) { return one.first.meta.is_deleting && now - one.second >= goes_after; });
    std::erase_if(claims_, [&](const auto& one) {
      return one.first.meta.is_deleting && one.first.meta.name != stuck && pods_.empty() &&
             now - one.second >= goes_after;
    });
  }

  [[nodiscard]] PvcWorld world() const {
    PvcWorld world{storage_class, {}, {}};
    for (const auto& [claim, since] : claims_)
      world.claims.push_back(claim);
    for (const auto& [pod, since] : pods_)
      world.pods.push_back(pod);
    return world;
  }
  [[nodiscard]] bool is_empty() const { return claims_.empty() && pods_.empty(); }

  // What the API server answers.
  kube::ApiOutcome write(const PvcStep& step, const PvcNames& names, MonoTime now) {
    using Kind = PvcStep::Kind;
    ++writes;
    if (step.kind == Kind::create_claim) return add(claims_, "Pending", names, now);
    if (step.kind == Kind::create_consumer) return add(pods_, "Pending", names, now);
    if (step.kind == Kind::remove_claim) return remove(claims_, step, now);
    return remove(pods_, step, now);
  }

  int writes = 0;

 private:
  template <class Object>
  using Since = std::vector<std::pair<Object, MonoTime>>;  // made, or asked to go

  [[nodiscard]] bool is_wanted(const kube::PersistentVolumeClaim& claim) const {
    return !storage_class->waits_for_consumer || std::ranges::any_of(pods_, [&](const auto& pod) {
      return pod.first.meta.name == claim.meta.name;
    });
  }
  template <class Object>
  kube::ApiOutcome add(Since<Object>& objects, const std::string& phase, const PvcNames& names,
                       MonoTime now) {
    for (const auto& [object, since] : objects)
      if (object.meta.name == names.object) return kube::ApiOutcome::conflict;
    Object object;
    object.meta.name = names.object;
    object.meta.uid = "uid-" + std::to_string(++made_);
    object.meta.annotations[names.run_key] = names.run;
    object.phase = phase;
    if constexpr (requires { object.unscheduled; }) object.unscheduled = unscheduled;
    objects.emplace_back(std::move(object), now);
    return kube::ApiOutcome::ok;
  }
  template <class Object>
  kube::ApiOutcome remove(Since<Object>& objects, const PvcStep& step, MonoTime now) {
    for (auto& [object, since] : objects) {
      if (object.meta.name != step.name) continue;
      if (object.meta.uid != step.uid) return kube::ApiOutcome::conflict;
      if (!std::exchange(object.meta.is_deleting, true)) since = now;
      return kube::ApiOutcome::ok;
    }
    return kube::ApiOutcome::not_found;
  }

  Since<kube::PersistentVolumeClaim> claims_;
  Since<kube::Pod> pods_;
  int made_ = 0;
};

inline std::optional<kube::PersistentVolumeClaim> claim_of(const PvcWorld& world, const std::string& name) {
  for (const auto& claim : world.claims)
    if (claim.meta.name == name) return claim;
  return std::nullopt;
}
inline std::optional<kube::Pod> pod_of(const PvcWorld& world, const std::string& name) {
  for (const auto& pod : world.pods)
    if (pod.meta.name == name) return pod;
  return std::nullopt;
}

// Does the next step of a test, and reports. The outcome of a request: what the cluster says, or `in_place`.
inline PvcStep do_step(PvcTest& test, PvcCluster& cluster, MonoTime now,
                       std::optional<kube::ApiOutcome> in_place = {}) {
  using Kind = PvcStep::Kind;
  PvcStep step = test.step(now);
  if (step.kind == Kind::wait || step.kind == Kind::finished) return step;
  const bool is_look = step.kind == Kind::look || step.kind == Kind::look_at_own;
  const auto outcome =
      in_place ? *in_place : (is_look ? kube::ApiOutcome::ok : cluster.write(step, test.names(), now));
  const PvcWorld world = cluster.world();
  if (outcome != kube::ApiOutcome::ok)
    test.failed(outcome, {kube::code_of(outcome), "refused"}, now);
  else if (step.kind == Kind::look)
    test.saw(world, now);
  else if (step.kind == Kind::look_at_own)
    test.saw_own(claim_of(world, test.names().object), pod_of(world, test.names().object), now);
  else
    test.wrote(now);
  return step;
}

}  // namespace autopilot::diagnostics::testing
