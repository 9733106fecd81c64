// SPDX-License-Identifier: Apache-2.0
#include "collect/discovery/job_identity.hpp"

#include <array>
#include <cstdint>
#include <utility>

#include "core/parse.hpp"
#include "core/stable_hash.hpp"

namespace autopilot::collect {
namespace {

// Label names as of November 2026, from the documentation of each project.
struct OwnerRule {
  std::string_view kind;
  std::string_view label;      // on pods: the name of the owner; empty: none
  std::string_view uid_label;  // on pods: its UID; empty: none
  bool serves = false;         // inference
};

// The outermost first: a TrainJob owns a JobSet, which owns Jobs.
constexpr auto kOwners = std::to_array<OwnerRule>({
    {"TrainJob", "", "", false},
    {"PyTorchJob", "training.kubeflow.org/job-name", "", false},
    {"TFJob", "", "", false},
    {"XGBoostJob", "", "", false},
    {"PaddleJob", "", "", false},
    {"JAXJob", "", "", false},
    {"MPIJob", "", "", false},
    {"RayJob", "", "", false},
    {"RayService", "", "", true},
    {"RayCluster", "ray.io/cluster", "", false},
    {"InferenceService", "serving.kserve.io/inferenceservice", "", true},
    {"LeaderWorkerSet", "leaderworkerset.sigs.k8s.io/name", "", true},
    {"JobSet", "jobset.sigs.k8s.io/jobset-name", "jobset.sigs.k8s.io/jobset-uid", false},
    {"VolcanoJob", "volcano.sh/job-name", "", false},
    {"Deployment", "", "", true},
    {"StatefulSet", "", "", true},
    {"Job", "batch.kubernetes.io/job-name", "batch.kubernetes.io/controller-uid", false},
    {"PodGroup", "kueue.x-k8s.io/pod-group-name", "", false},
});

// Groups of pods within an inference service: the pods of one are one replica.
constexpr std::string_view kGroupOfLeader = "leaderworkerset.sigs.k8s.io/group-index";
constexpr std::size_t kUidPiece = 8;

std::string_view text_of(const PodFacts::Texts& texts, std::string_view name) {
  const auto found = texts.find(name);
  return found == texts.end() ? std::string_view{} : std::string_view(found->second);
}

struct Owner {
  std::string kind;
  std::string name;
  std::string uid;
  bool serves = false;
};

// Volcano's kind is also "Job"; its label distinguishes the two.
bool matches(const OwnerRule& rule, const PodOwner& owner, const PodFacts& pod) {
  if (rule.kind == "VolcanoJob") return owner.kind == "Job" && text_of(pod.labels, rule.label) == owner.name;
  return owner.kind == rule.kind;
}

std::optional<Owner> owner_by(const OwnerRule& rule, const PodFacts& pod) {
  const std::string kind(rule.kind == "VolcanoJob" ? std::string_view("Job") : rule.kind);
  for (const PodOwner& owner : pod.owners)
    if (matches(rule, owner, pod)) return Owner{kind, owner.name, owner.uid, rule.serves};
  if (rule.label.empty()) return std::nullopt;
  const std::string_view name = text_of(pod.labels, rule.label);
  if (name.empty()) return std::nullopt;
  return Owner{kind, std::string(name), std::string(text_of(pod.labels, rule.uid_label)), rule.serves};
}

std::optional<Owner> owner_of(const PodFacts& pod) {
  for (const OwnerRule& rule : kOwners)
    if (auto owner = owner_by(rule, pod)) return owner;
  if (pod.owners.empty()) return std::nullopt;
  const PodOwner& direct = pod.owners.front();
  return Owner{direct.kind, direct.name, direct.uid, false};
}

// Two runs of one name differ in the UID; all pods of a run have the same.
std::string with_uid(std::string text, std::string_view uid) {
  if (!uid.empty()) text.append("-").append(uid.substr(0, kUidPiece));
  return text;
}

// Addresses that mean another machine on each node.
bool is_of_this_node(std::string_view address) {
  return address == "localhost" || address.starts_with("127.") || address == "::1" || address == "0.0.0.0" ||
         address == "::";
}

std::string user_of(const host::Process& process) {
  return process.user ? "uid" + std::to_string(*process.user) : "uid-unknown";
}

std::optional<JobIdentity> slurm_job(const host::Process& process, bool trusts_variables) {
  constexpr std::string_view kPrefix = "slurm ";
  const host::Launch& launch = process.launch;
  std::string_view id = process.owner.job;
  if (id.starts_with(kPrefix))
    id.remove_prefix(kPrefix.size());
  else
    id = trusts_variables ? launch.variable("SLURM_JOB_ID") : std::string_view{};
  if (!parse_number<std::uint64_t>(id)) return std::nullopt;
  JobIdentity job{.key = "slurm/" + std::string(id), .name = std::string(launch.variable("SLURM_JOB_NAME"))};
  if (job.name.empty()) job.name = "slurm " + std::string(id);
  job.owner = "Slurm job " + std::string(id);
  return job;
}

std::optional<JobIdentity> named_job(const host::Process& process) {
  const std::string_view name = process.launch.variable("AUTOPILOT_JOB");
  if (name.empty()) return std::nullopt;
  return JobIdentity{.key = user_of(process) + "/" + std::string(name), .name = std::string(name)};
}

// torchrun's id of a run. Empty: it has none.
std::string_view run_of(const host::Launch& launch) {
  const std::string_view run = launch.variable("TORCHELASTIC_RUN_ID");
  return run == "none" ? std::string_view{} : run;
}

std::optional<JobIdentity> rendezvous_job(const host::Process& process, std::string_view node) {
  const host::Launch& launch = process.launch;
  if (launch.variable("RANK").empty() || launch.variable("WORLD_SIZE").empty()) return std::nullopt;
  const std::string shared = shared_rendezvous(launch);
  if (!shared.empty()) return JobIdentity{.key = user_of(process) + "/" + shared, .name = shared};
  const std::string_view port = launch.variable("MASTER_PORT");
  const std::string_view run = run_of(launch);
  if (port.empty() && run.empty()) return std::nullopt;
  // In each network namespace the port is another one.
  const std::string local = run.empty() ? "localhost:" + std::string(port) : std::string(run);
  std::string key = std::string(node) + "/" + user_of(process) + "/" + local;
  if (process.network_namespace != 0) key += "/net" + std::to_string(process.network_namespace);
  return JobIdentity{.key = std::move(key), .name = local};
}

// "host:port" of JAX's coordinator.
std::optional<JobIdentity> jax_job(const host::Process& process) {
  const std::string_view address = process.launch.variable("JAX_COORDINATOR_ADDRESS");
  if (address.empty() || is_of_this_node(address.substr(0, address.rfind(':')))) return std::nullopt;
  return JobIdentity{.key = user_of(process) + "/" + std::string(address), .name = std::string(address)};
}

std::optional<JobIdentity> mpi_job(const host::Process& process) {
  const std::string_view name = process.launch.variable("PMIX_NAMESPACE");
  if (name.empty()) return std::nullopt;
  return JobIdentity{.key = user_of(process) + "/mpi/" + std::string(name), .name = std::string(name)};
}

}  // namespace

JobIdentity identify_by_launcher(const host::Process& launcher, std::string_view node) {
  const std::string_view port = launcher.launch.argument("--control-port");
  const std::string_view address = port.substr(0, port.rfind(':'));
  if (!port.empty() && !is_of_this_node(address))
    return {.key = bounded_key(user_of(launcher) + "/mpi/" + std::string(port)), .name = std::string(port)};
  const std::string name = to_printable(launcher.task.name);
  return {.key = bounded_key(std::string(node) + "/" + name + "-" + std::to_string(launcher.task.pid) + "-" +
                             std::to_string(launcher.task.started_ticks)),
          .name = name};
}

std::string bounded_key(std::string key) {
  key = to_printable(key);
  if (key.size() <= kLongestKey) return key;
  const std::string end = "-" + std::to_string(stable_hash(key).value());
  return key.substr(0, kLongestKey - end.size()) + end;
}

std::string shared_rendezvous(const host::Launch& launch) {
  const std::string_view address = launch.variable("MASTER_ADDR");
  const std::string_view port = launch.variable("MASTER_PORT");
  if (address.empty() || port.empty() || is_of_this_node(address)) return {};
  if (const std::string_view run = run_of(launch); !run.empty())
    return std::string(run) + "@" + std::string(address);
  return std::string(address) + ":" + std::string(port);
}

JobIdentity identify_pod(const PodFacts& pod) {
  const auto owner = owner_of(pod);
  const std::string space = pod.name_space + "/";
  if (!owner)
    return {.key = bounded_key(with_uid(space + pod.name, pod.uid)), .name = pod.name, .pod = pod.name};
  JobIdentity job{.key = bounded_key(with_uid(space + owner->name, owner->uid)),
                  .name = owner->name,
                  .owner = owner->kind + " " + space + owner->name,
                  .pod = pod.name};
  if (!owner->serves) return job;
  job.kind = jobs::JobKind::inference;
  const std::string_view group = text_of(pod.labels, kGroupOfLeader);
  job.replica = bounded_key(group.empty() ? pod.name : owner->name + "-" + std::string(group));
  return job;
}

std::optional<JobIdentity> identify_by_launch(const host::Process& process, std::string_view node,
                                              bool trusts_slurm_variables) {
  auto job = slurm_job(process, trusts_slurm_variables);
  if (!job) job = named_job(process);
  if (!job) job = rendezvous_job(process, node);
  if (!job) job = jax_job(process);
  if (!job) job = mpi_job(process);
  if (job) job->key = bounded_key(std::move(job->key));
  return job;
}

}  // namespace autopilot::collect
