// SPDX-License-Identifier: Apache-2.0
#include "controller/jobs/owner/owners.hpp"

#include <algorithm>
#include <array>
#include <tuple>

namespace autopilot::controller {
namespace {

constexpr std::string_view kSuspend = "/spec/suspend";
constexpr std::string_view kRunPolicySuspend = "/spec/runPolicy/suspend";

constexpr std::array<OwnerKind, 12> kKinds{{
    {"batch", "Job", "jobs", "v1", true, kSuspend},
    {"jobset.x-k8s.io", "JobSet", "jobsets", "v1alpha2", true, kSuspend},
    {"kubeflow.org", "PyTorchJob", "pytorchjobs", "v1", true, kRunPolicySuspend},
    {"kubeflow.org", "MPIJob", "mpijobs", "v2beta1", true, kRunPolicySuspend},
    {"trainer.kubeflow.org", "TrainJob", "trainjobs", "v1alpha1", true, kSuspend},
    {"ray.io", "RayJob", "rayjobs", "v1", false, kSuspend},
    {"ray.io", "RayCluster", "rayclusters", "v1", false, kSuspend},
    {"batch.volcano.sh", "Job", "jobs", "v1alpha1", false, ""},
    {"leaderworkerset.x-k8s.io", "LeaderWorkerSet", "leaderworkersets", "v1", false, ""},
    {"apps", "Deployment", "deployments", "v1", false, ""},
    {"apps", "StatefulSet", "statefulsets", "v1", false, ""},
    {"apps", "ReplicaSet", "replicasets", "v1", false, ""},
}};

// A kind that creates its pods through objects of another kind, whose names begin with its own.
struct Maker {
  std::string_view kind;
  std::string_view made;
  bool has_suffix;  // "-..." after the name; otherwise a suffix is optional
};
constexpr std::array<Maker, 4> kMakers{{{"Deployment", "ReplicaSet", true},
                                        {"RayJob", "RayCluster", true},
                                        {"TrainJob", "JobSet", false},
                                        {"LeaderWorkerSet", "StatefulSet", false}}};

std::string_view group_of(std::string_view api_version) {
  const std::size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
}

bool is_object_name(std::string_view name) {
  constexpr std::size_t kLongest = 253;
  return !name.empty() && name.size() <= kLongest && !name.starts_with('.') && !name.starts_with('-') &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

bool is_named(const OwnerText& text, const std::optional<Owner>& owner) {
  return owner && owner->kind == text.kind && owner->name == text.name;
}

bool is_made_by(const OwnerText& text, const std::optional<Owner>& owner) {
  if (!owner) return false;
  const auto maker = std::ranges::find_if(
      kMakers, [&](const Maker& one) { return one.kind == text.kind && one.made == owner->kind; });
  if (maker == kMakers.end()) return false;
  return owner->name.starts_with(text.name + '-') || (!maker->has_suffix && owner->name == text.name);
}

// The owner as the API server knows it. Of an indirect one, only the kind and the name are known.
std::optional<Owner> confirmed_owner(const OwnerText& text, const Pod& pod) {
  if (pod.name_space != text.name_space) return std::nullopt;
  if (is_named(text, pod.owner)) return pod.owner;
  if (is_named(text, pod.set)) return pod.set;
  if (!is_made_by(text, pod.owner) && !is_made_by(text, pod.set)) return std::nullopt;
  const auto kind = std::ranges::find(kKinds, text.kind, &OwnerKind::kind);
  return Owner{.api_version = std::string(kind->group) + '/' + std::string(kind->version),
               .kind = text.kind,
               .name = text.name,
               .uid = {}};
}

}  // namespace

const OwnerKind* find_owner_kind(std::string_view api_version, std::string_view kind) {
  const auto found = std::ranges::find_if(
      kKinds, [&](const OwnerKind& one) { return one.kind == kind && one.group == group_of(api_version); });
  return found == kKinds.end() ? nullptr : &*found;
}

std::optional<OwnerText> parse_owner_text(std::string_view text) {
  const std::size_t space = text.find(' ');
  const std::size_t slash = text.find('/', space == std::string_view::npos ? 0 : space);
  if (space == std::string_view::npos || slash == std::string_view::npos) return std::nullopt;
  OwnerText owner{.kind = std::string(text.substr(0, space)),
                  .name_space = std::string(text.substr(space + 1, slash - space - 1)),
                  .name = std::string(text.substr(slash + 1))};
  const bool is_kind =
      !owner.kind.empty() && owner.kind.size() <= 63 && std::ranges::all_of(owner.kind, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      });
  if (!is_kind || !is_object_name(owner.name_space) || !is_object_name(owner.name)) return std::nullopt;
  return owner;
}

JobObjects find_job_objects(const World& world, const jobs::JobReport& report) {
  JobObjects objects;
  const auto text = parse_owner_text(report.owner);
  if (!text) return objects;
  for (const std::string& node : report.nodes) {
    for (const std::string& uid : world.pods_on(node)) {
      const Pod* pod = world.pod(uid);
      if (pod == nullptr || objects.pods.size() >= kMaxJobPods) continue;
      auto owner = confirmed_owner(*text, *pod);
      if (!owner) continue;
      if (!objects.owner) objects.owner = std::move(owner);
      objects.pods.push_back(pod);
    }
  }
  if (!objects.owner) return objects;
  objects.name_space = text->name_space;
  objects.kind = find_owner_kind(objects.owner->api_version, objects.owner->kind);
  std::ranges::sort(objects.pods, [](const Pod* a, const Pod* b) {
    return std::tie(a->node, a->name) < std::tie(b->node, b->name);
  });
  return objects;
}

std::string owner_path(const JobObjects& objects) {
  return "/apis/" + objects.owner->api_version + "/namespaces/" + objects.name_space + '/' +
         std::string(objects.kind->plural) + '/' + objects.owner->name;
}

std::string pod_path(const Pod& pod) {
  return "/api/v1/namespaces/" + pod.name_space + "/pods/" + pod.name;
}

}  // namespace autopilot::controller
