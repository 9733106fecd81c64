// SPDX-License-Identifier: Apache-2.0
#include "collect/discovery/job_finder.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "collect/discovery/job_groups.hpp"
#include "collect/discovery/job_memory.hpp"
#include "host/process/process_table.hpp"
#include "host/process/processes.hpp"

namespace autopilot::collect {
namespace {

constexpr std::string_view kSettings = "autopilot.ibm.com/";
constexpr std::string_view kContainerLogs = "/var/log/containers";

void add_sentence(std::vector<std::string>& sentences, std::string sentence) {
  if (sentences.size() < JobFinder::kMostNotSeen && std::ranges::find(sentences, sentence) == sentences.end())
    sentences.push_back(std::move(sentence));
}

// "<pod>_<namespace>_<container>-<id>.log": the kubelet's links, by id of the container.
std::map<std::string, std::string> read_container_names(const host::Files& files) {
  constexpr std::string_view kEnd = ".log";
  constexpr std::size_t kIdLength = 64;
  std::map<std::string, std::string> names;
  const auto links = files.list(kContainerLogs);
  if (!links) return names;
  for (std::string_view link : *links) {
    const std::size_t begin = link.rfind('_');
    if (begin == std::string_view::npos || !link.ends_with(kEnd)) continue;
    link = link.substr(begin + 1, link.size() - begin - 1 - kEnd.size());
    if (link.size() < kIdLength + 2) continue;
    const std::size_t id = link.size() - kIdLength;
    names.emplace(link.substr(id), link.substr(0, id - 1));
  }
  return names;
}

}  // namespace

class JobFinder::State {
 public:
  State(const host::Files& files, std::string node, const host::ProcessReader* reader)
      : files_(files), node_(std::move(node)), table_(files, reader) {}

  Result<SeenJobs> look(const GpuHolders& holders, const PodFactsByUid& pods, WallTime now) {
    std::set<std::int64_t> on_gpus;
    for (const auto& [pid, gpus] : holders.by_pid)
      on_gpus.insert(pid);
    TRY_STATUS(table_.refresh(on_gpus));
    SeenJobs seen{.time = now, .not_seen = holders.not_seen};
    note_limits(holders, seen.not_seen);
    name_pods(pods, seen.not_seen);
    const FoundJobs found = group_jobs(
        table_.processes(), holders, [this](const host::Process& process) { return pod_job(process); },
        node_);
    for (const std::string& sentence : found.not_seen)
      add_sentence(seen.not_seen, sentence);
    remember(found, now, seen.not_seen);
    for (const auto& [key, memory] : jobs_) {
      seen.jobs.push_back(memory.seen());
      describe_pods(seen.jobs.back());
    }
    return seen;
  }

  std::vector<jobs::JobEndRecord> take_ended() { return std::exchange(ended_, {}); }

 private:
  void note_limits(const GpuHolders& holders, std::vector<std::string>& not_seen) const {
    if (table_.left_out() > 0)
      add_sentence(not_seen,
                   std::to_string(table_.left_out()) + " processes are not read: the machine has more than " +
                       std::to_string(host::ProcessTable::kMostProcesses) + ". Jobs may be missing");
    if (!table_.reader_problem().empty())
      add_sentence(not_seen, "Ranks of processes of other users are unknown: " + table_.reader_problem());
    if (table_.sees_machine() || files_.is_tree()) return;
    for (const auto& [pid, gpus] : holders.by_pid)
      if (!table_.processes().contains(pid))
        add_sentence(not_seen,
                     "Process " + std::to_string(pid) + " on GPU " + std::to_string(*gpus.begin()) +
                         " is not visible: the agent is in a PID namespace of its own. Run it with hostPID: "
                         "true, or on the machine itself");
  }

  // What is known of the pods with candidates, from the API server or else from the kubelet's folders.
  void name_pods(const PodFactsByUid& pods, std::vector<std::string>& not_seen) {
    pods_.clear();
    rendezvous_.clear();
    std::optional<host::PodNames> names;
    for (const auto& [pid, process] : table_.processes()) {
      const std::string& uid = process.owner.pod_uid;
      if (uid.empty()) continue;
      if (const std::string shared = shared_rendezvous(process.launch); !shared.empty())
        rendezvous_.emplace(uid, shared);
      if (pods_.contains(uid)) continue;
      if (const auto facts = pods.find(uid); facts != pods.end()) {
        pods_.emplace(uid, facts->second);
        continue;
      }
      if (!names) names = host::read_pod_names(files_);
      PodFacts facts{.uid = uid};
      if (const auto name = names->find(uid); name != names->end())
        std::tie(facts.name_space, facts.name) = name->second;
      pods_.emplace(uid, std::move(facts));
      unowned_.insert(uid);
    }
    std::erase_if(unowned_,
                  [&](const std::string& uid) { return !pods_.contains(uid) || pods.contains(uid); });
    if (!unowned_.empty())
      add_sentence(not_seen,
                   "The owners of " + std::to_string(unowned_.size()) +
                       " pods of this node are unknown, for the API server does not report them: each is "
                       "watched as a job of its own, unless its ranks name a rendezvous. Give the agent's "
                       "service account the permission to list pods");
  }

  [[nodiscard]] std::optional<JobIdentity> pod_job(const host::Process& process) const {
    const auto facts = pods_.find(process.owner.pod_uid);
    if (facts == pods_.end()) return std::nullopt;
    const PodFacts& pod = facts->second;
    std::optional<JobIdentity> own;
    if (!pod.name.empty()) own = identify_pod(pod);
    // Pods of a rendezvous are one job, unless they have owners that say otherwise.
    const auto shared = rendezvous_.find(pod.uid);
    if (shared != rendezvous_.end() && (unowned_.contains(pod.uid) || (own && own->owner.empty())))
      return JobIdentity{
          .key = bounded_key(pod.name_space + "/" + shared->second), .name = shared->second, .pod = pod.name};
    if (own) return own;
    return JobIdentity{.key = node_ + "/pod-" + pod.uid, .name = "pod " + pod.uid};
  }

  void remember(const FoundJobs& found, WallTime now, std::vector<std::string>& not_seen) {
    std::set<std::string> present;
    for (const FoundJob& job : found.jobs) {
      const std::string& key = job.identity.key;
      auto known = jobs_.find(key);
      if (known == jobs_.end()) {
        if (jobs_.size() >= kMostJobs) {
          add_sentence(not_seen, "Job " + key + " is not watched: this node has more than " +
                                     std::to_string(kMostJobs) + " jobs");
          continue;
        }
        known = jobs_.try_emplace(key, node_, next_attempt(key)).first;
      }
      known->second.update(job, now);
      present.insert(key);
    }
    std::erase_if(jobs_, [&](const auto& each) {
      const auto& [key, memory] = each;
      if (present.contains(key) || memory.has_process(table_.processes())) return false;
      ended_.push_back({.time = now, .job = key});
      attempts_.insert_or_assign(key, std::pair(memory.attempt(), now));
      return true;
    });
    std::erase_if(attempts_, [&](const auto& each) { return now - each.second.second > kRememberAttempt; });
    while (attempts_.size() > kMostAttempts)
      attempts_.erase(
          std::ranges::min_element(attempts_, {}, [](const auto& each) { return each.second.second; }));
    if (ended_.size() > kMostAttempts) ended_.erase(ended_.begin(), ended_.end() - kMostAttempts);
  }

  int next_attempt(const std::string& key) {
    const auto before = attempts_.find(key);
    if (before == attempts_.end()) return 1;
    const int attempt = before->second.first + 1;
    attempts_.erase(before);
    return attempt;
  }

  // JobMemory names the container by its id.
  void describe_pods(SeenJob& job) {
    for (JobPod& pod : job.pods) {
      const auto facts = pods_.find(pod.uid);
      if (facts == pods_.end()) continue;
      pod.name_space = facts->second.name_space;
      pod.name = facts->second.name;
      pod.container = container_name(facts->second, pod.container);
      for (const auto& [name, value] : facts->second.annotations)
        if (name.starts_with(kSettings)) pod.settings.emplace(name, value);
    }
  }

  std::string container_name(const PodFacts& pod, const std::string& id) {
    if (const auto name = pod.containers.find(id); name != pod.containers.end()) return name->second;
    if (!container_names_.contains(id)) {
      container_names_ = read_container_names(files_);
      container_names_.try_emplace(id);
    }
    return container_names_.at(id);
  }

  const host::Files& files_;
  std::string node_;
  host::ProcessTable table_;
  PodFactsByUid pods_;                             // of the last search
  std::set<std::string> unowned_;                  // UIDs of pods whose owners are unknown
  std::map<std::string, std::string> rendezvous_;  // by UID of the pod
  std::map<std::string, JobMemory> jobs_;
  std::map<std::string, std::pair<int, WallTime>> attempts_;  // of ended jobs
  std::map<std::string, std::string> container_names_;        // by id
  std::vector<jobs::JobEndRecord> ended_;
};

JobFinder::JobFinder(const host::Files& files, std::string node, const host::ProcessReader* reader)
    : state_(std::make_unique<State>(files, std::move(node), reader)) {}
JobFinder::JobFinder(JobFinder&&) noexcept = default;
JobFinder& JobFinder::operator=(JobFinder&&) noexcept = default;
JobFinder::~JobFinder() = default;

Result<SeenJobs> JobFinder::look(const GpuHolders& holders, const PodFactsByUid& pods, WallTime now) {
  return state_->look(holders, pods, now);
}

std::vector<jobs::JobEndRecord> JobFinder::take_ended() {
  return state_->take_ended();
}

}  // namespace autopilot::collect
