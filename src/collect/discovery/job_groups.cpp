// SPDX-License-Identifier: Apache-2.0
#include "collect/discovery/job_groups.hpp"

#include <algorithm>
#include <climits>
#include <set>
#include <tuple>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::collect {
namespace {

constexpr std::size_t kMostRanks = 1024;    // of a job on one node
constexpr std::size_t kMostChildren = 256;  // of a rank
constexpr std::size_t kContainerDigits = 12;

using host::Process;

std::string text_of(const Process& process) {
  return to_printable(process.task.name) + ", pid " + std::to_string(process.task.pid);
}

bool is_launcher(const Process& process) {
  return process.launch.is_launcher || host::is_launcher_name(process.task.name);
}

// A process that states a rank.
struct Claim {
  const Process* process = nullptr;
  StatedRank stated;
};

struct Members {
  JobIdentity identity;  // of the first
  std::vector<const Process*> processes;
};

// One job from its processes.
class JobBuilder {
 public:
  JobBuilder(const ProcessTree& tree, const GpuHolders& holders,
             const std::map<std::int64_t, JobIdentity>& identities, std::vector<std::string>& not_seen)
      : tree_(tree), holders_(holders), identities_(identities), not_seen_(not_seen) {}

  // nullopt: not a job: no process is on a GPU or states a rank.
  std::optional<FoundJob> build(const Members& members) {
    job_ = {.identity = members.identity};
    job_.identity.replica.clear();
    job_.identity.pod.clear();
    for (const Process* process : members.processes)
      if (!process->launch.server.empty()) job_.identity.kind = jobs::JobKind::inference;
    read_claims(members);
    if (claims_.empty() || !choose_stated()) choose_unstated(members);
    if (job_.ranks.empty()) return std::nullopt;
    describe_ranks();
    return std::move(job_);
  }

 private:
  [[nodiscard]] const std::set<int>* gpus_of(const Process& process) const {
    const auto found = holders_.by_pid.find(process.task.pid);
    if (found == holders_.by_pid.end() || is_gpu_service_name(process.task.name)) return nullptr;
    return &found->second;
  }

  // Claims of the surest source that any process of the job has.
  void read_claims(const Members& members) {
    std::vector<std::pair<const Process*, StatedRanks>> all;
    std::optional<RankSource> best;
    for (const Process* process : members.processes) {
      if (is_launcher(*process) || is_wrapper_name(process->task.name)) continue;
      StatedRanks stated = stated_ranks(process->launch);
      if (!stated.problems.empty())
        not_seen_.push_back(stated.problems.front() + " in the environment of " + text_of(*process) +
                            ", which is not a rank: the variable is ignored. Correct the launcher");
      if (stated.ranks.empty()) continue;
      best = std::min(best.value_or(stated.ranks.front().source), stated.ranks.front().source);
      all.emplace_back(process, std::move(stated));
    }
    job_.source = best;
    for (const auto& [process, stated] : all)
      for (const StatedRank& rank : stated.ranks)
        if (rank.source == best) claims_[rank.rank].push_back({process, rank});
  }

  template <class IsWanted>
  [[nodiscard]] std::vector<const Claim*> outermost(const std::vector<Claim>& claims,
                                                    IsWanted is_wanted) const {
    std::set<std::int64_t> wanted;
    for (const Claim& claim : claims)
      if (is_wanted(*claim.process)) wanted.insert(claim.process->task.pid);
    std::vector<const Claim*> found;
    for (const Claim& claim : claims)
      if (wanted.contains(claim.process->task.pid) &&
          tree_.ancestor(*claim.process,
                         [&](const Process& above) { return wanted.contains(above.task.pid); }) == nullptr)
        found.push_back(&claim);
    return found;
  }

  // The claims of one rank that could be its main process. More than one: the rank is stated twice.
  [[nodiscard]] std::vector<const Claim*> mains_of(const std::vector<Claim>& claims) const {
    const auto on_gpus =
        outermost(claims, [this](const Process& process) { return gpus_of(process) != nullptr; });
    if (on_gpus.size() == 1) return on_gpus;
    auto roots = outermost(claims, [](const Process&) { return true; });
    if (roots.size() == 1 || !on_gpus.empty()) return roots.size() == 1 ? roots : on_gpus;
    // A helper that left its parent, such as a daemon that uploads metrics.
    const auto is_orphan = [](const Claim* claim) { return claim->process->task.parent <= 1; };
    const auto orphans = std::ranges::count_if(roots, is_orphan);
    if (static_cast<std::size_t>(orphans) < roots.size()) std::erase_if(roots, is_orphan);
    return roots;
  }

  // False: a rank is stated twice; job_.ranks is empty then.
  bool choose_stated() {
    const Process* newest = nullptr;
    for (const auto& [rank, claims] : claims_) {
      const auto mains = mains_of(claims);
      if (mains.size() > 1) {
        not_seen_.push_back("Job " + job_.identity.key + ": " + text_of(*mains[0]->process) + ", and " +
                            text_of(*mains[1]->process) + ", state the same rank " + std::to_string(rank) +
                            "; its ranks are numbers of this node. Start each rank with a number of its own");
        job_.ranks.clear();
        job_.world.reset();
        return false;
      }
      const Claim& main = *mains.front();
      if (newest == nullptr || main.process->task.started_ticks >= newest->task.started_ticks) {
        newest = main.process;
        job_.world = main.stated.world;
      }
      job_.ranks.push_back({.rank = rank, .main = main.process});
      local_ranks_[main.process->task.pid] = main.stated.local_rank;
    }
    return true;
  }

  // Every process on a GPU that no ancestor shares; without GPUs, every process that states a rank.
  void choose_unstated(const Members& members) {
    job_.source.reset();
    for (const Process* process : members.processes) {
      const std::set<int>* gpus = gpus_of(*process);
      if (gpus == nullptr) continue;
      const Process* above = tree_.ancestor(*process, [&](const Process& each) {
        const std::set<int>* others = gpus_of(each);
        return others != nullptr &&
               std::ranges::any_of(*others, [&](int gpu) { return gpus->contains(gpu); });
      });
      if (above == nullptr) job_.ranks.push_back({.main = process});
    }
    if (!job_.ranks.empty()) return;
    for (const auto& [rank, claims] : claims_)
      for (const Claim* claim : mains_of(claims))
        job_.ranks.push_back({.main = claim->process});
  }

  void describe_ranks() {
    if (job_.ranks.size() > kMostRanks) {
      not_seen_.push_back("Job " + job_.identity.key + " has " + std::to_string(job_.ranks.size()) +
                          " ranks on this node; only the first " + std::to_string(kMostRanks) +
                          " are watched");
      job_.ranks.resize(kMostRanks);
    }
    std::set<std::int64_t> mains;
    for (const FoundRank& rank : job_.ranks)
      mains.insert(rank.main->task.pid);
    for (FoundRank& rank : job_.ranks)
      describe(rank, mains);
    if (job_.source) return;
    std::ranges::sort(job_.ranks, {}, [](const FoundRank& rank) {
      return std::tuple(rank.gpus.empty() ? INT_MAX : rank.gpus.front(), rank.main->task.started_ticks,
                        rank.main->task.pid);
    });
  }

  void describe(FoundRank& rank, const std::set<std::int64_t>& mains) {
    const Process& main = *rank.main;
    rank.children = tree_.below(main.task.pid, mains, kMostChildren);
    std::set<int> gpus;
    const auto add = [&](std::int64_t pid) {
      if (const auto held = holders_.by_pid.find(pid); held != holders_.by_pid.end())
        gpus.merge(std::set(held->second));
    };
    add(main.task.pid);
    std::ranges::for_each(rank.children, add);
    // Within a container the indexes are others.
    if (gpus.empty() && main.owner.container.empty())
      if (const auto gpu = visible_gpu(main.launch, local_ranks_[main.task.pid])) gpus.insert(*gpu);
    rank.gpus.assign(gpus.begin(), gpus.end());
    if (rank.rank) rank.role = role_of(main.launch, *rank.rank, job_.world);
    if (const auto own = identities_.find(main.task.pid); own != identities_.end()) {
      rank.replica = own->second.replica;
      rank.pod = own->second.pod;
    }
  }

  const ProcessTree& tree_;
  const GpuHolders& holders_;
  const std::map<std::int64_t, JobIdentity>& identities_;
  std::vector<std::string>& not_seen_;
  FoundJob job_;
  std::map<int, std::vector<Claim>> claims_;  // by rank
  std::map<std::int64_t, std::optional<int>> local_ranks_;
};

// Which process belongs to which job.
class Identities {
 public:
  Identities(const Processes& processes, const ProcessTree& tree, const GpuHolders& holders,
             const PodIdentity& identify_pod, std::string_view node)
      : tree_(tree), node_(node) {
    trusts_slurm_variables_ =
        std::ranges::none_of(processes, [](const auto& each) { return !each.second.owner.job.empty(); });
    for (const auto& [pid, process] : processes)
      if (auto own = own_identity(process, identify_pod)) by_pid_.emplace(pid, *std::move(own));
    for (const auto& [pid, held] : holders.by_pid) {
      const auto process = processes.find(pid);
      if (process == processes.end() || by_pid_.contains(pid) ||
          is_gpu_service_name(process->second.task.name))
        continue;
      by_pid_.emplace(pid, inherited(process->second));
    }
  }

  [[nodiscard]] const std::map<std::int64_t, JobIdentity>& by_pid() const { return by_pid_; }

 private:
  [[nodiscard]] std::optional<JobIdentity> own_identity(const Process& process,
                                                        const PodIdentity& identify_pod) const {
    if (!process.owner.pod_uid.empty()) return identify_pod(process);
    if (!process.is_candidate) return std::nullopt;
    if (auto job = identify_by_launch(process, node_, trusts_slurm_variables_)) return job;
    if (!is_launcher(process) && !stated_ranks(process.launch).ranks.empty())
      if (const Process* launcher = tree_.ancestor(process, is_launcher))
        return identify_by_launcher(*launcher, node_);
    const std::string container = process.owner.container.substr(0, kContainerDigits);
    if (container.empty()) return std::nullopt;
    return JobIdentity{.key = bounded_key(std::string(node_) + "/container-" + container),
                       .name = "container " + container};
  }

  // Of a process on a GPU that states nothing: the job of an ancestor, else its own tree.
  [[nodiscard]] JobIdentity inherited(const Process& process) const {
    const Process* above =
        tree_.ancestor(process, [this](const Process& each) { return by_pid_.contains(each.task.pid); });
    if (above != nullptr) return by_pid_.at(above->task.pid);
    const Process& root = tree_.root(process);
    return {.key = bounded_key(std::string(node_) + "/" + root.task.name + "-" +
                               std::to_string(root.task.pid) + "-" + std::to_string(root.task.started_ticks)),
            .name = to_printable(root.task.name)};
  }

  const ProcessTree& tree_;
  std::string_view node_;
  bool trusts_slurm_variables_ = false;
  std::map<std::int64_t, JobIdentity> by_pid_;
};

// Processes that probably belong to jobs, and whose environment is closed to this process.
void note_unreadable(const Processes& processes, const GpuHolders& holders, Errc error, std::string_view text,
                     std::vector<std::string>& not_seen) {
  std::size_t count = 0;
  const Process* first = nullptr;
  for (const auto& [pid, process] : processes) {
    const bool is_of_job =
        holders.by_pid.contains(pid) || !process.owner.pod_uid.empty() || !process.owner.job.empty();
    if (!is_of_job || process.launch_error != error || is_gpu_service_name(process.task.name)) continue;
    if (count++ == 0) first = &process;
  }
  if (count == 0) return;
  not_seen.push_back("The environment of " + std::to_string(count) +
                     " processes is not readable (the first: " + text_of(*first) + std::string(text));
}

}  // namespace

FoundJobs group_jobs(const Processes& processes, const GpuHolders& holders, const PodIdentity& identify_pod,
                     std::string_view node) {
  FoundJobs found;
  const ProcessTree tree(processes);
  const Identities identities(processes, tree, holders, identify_pod, node);
  std::map<std::string, Members> members;
  for (const auto& [pid, identity] : identities.by_pid()) {
    Members& job = members.try_emplace(identity.key, Members{identity, {}}).first->second;
    job.processes.push_back(&processes.at(pid));
  }
  for (const auto& [key, job] : members)
    if (auto built = JobBuilder(tree, holders, identities.by_pid(), found.not_seen).build(job))
      found.jobs.push_back(*std::move(built));
  note_unreadable(processes, holders, Errc::denied,
                  "): their ranks are unknown. Run the agent as root, or a helper with "
                  "CAP_SYS_PTRACE (docs/ras-helper.md)",
                  found.not_seen);
  note_unreadable(processes, holders, Errc::unavailable,
                  "): they are blocked in the kernel, and their ranks are unknown until they run. Find what "
                  "they wait for: cat /proc/<pid>/stack",
                  found.not_seen);
  return found;
}

}  // namespace autopilot::collect
