// SPDX-License-Identifier: Apache-2.0
#include "cli/why/target.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "core/parse.hpp"
#include "host/process/processes.hpp"
#include "host/storage/filesystems.hpp"

namespace autopilot::cli {
namespace {

constexpr std::size_t kShortestContainer = 8;
constexpr std::size_t kMaxRead = 8192;
constexpr std::size_t kMaxPids = 512;

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// "8b7c1f8e-0d55-4f9c-a2a3-1d2f3a4b5c6d"
bool is_uuid(std::string_view text) {
  constexpr std::size_t kLength = 36;
  if (text.size() != kLength) return false;
  return std::ranges::all_of(split(text, '-'), is_hex) && split(text, '-').size() == 5;
}

std::optional<std::string> slurm_job(std::string_view text) {
  for (const std::string_view prefix : {"slurm ", "slurm/", "slurm:", "job "})
    if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  const bool is_number = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  return is_number ? std::optional("slurm " + std::string(text)) : std::nullopt;
}

void add_pod(why::Target& target, std::string name_space, std::string name, const host::PodNames& pods) {
  GpuUserOwner owner;
  owner.pod_namespace = std::move(name_space);
  owner.pod = std::move(name);
  for (const auto& [uid, known] : pods) {
    if (known.second != owner.pod) continue;
    if (!owner.pod_namespace.empty() && known.first != owner.pod_namespace) continue;
    GpuUserOwner by_uid;
    by_uid.pod_uid = uid;
    target.owners.push_back(std::move(by_uid));
  }
  target.owners.push_back(std::move(owner));
}

void read_words(why::Target& target, const host::PodNames& pods) {
  const std::string& text = target.text;
  GpuUserOwner owner;
  if (const auto job = slurm_job(text)) {
    owner.job = *job;
    target.owners.push_back(owner);
    const auto pid = parse_number<std::int64_t>(text);
    if (pid && *pid > 0) target.pids.push_back(*pid);
  }
  if (is_uuid(text)) {
    owner.pod_uid = text;
    target.owners.push_back(owner);
  } else if (text.size() >= kShortestContainer && is_hex(text)) {
    owner.container = text;
    target.owners.push_back(owner);
  } else if (const auto slash = text.find('/'); slash != std::string::npos && owner.job.empty()) {
    add_pod(target, text.substr(0, slash), text.substr(slash + 1), pods);
  } else if (owner.job.empty()) {
    add_pod(target, "", text, pods);
    target.process = text;
  }
}

bool is_of_owner(const GpuUserOwner& owner, const why::Target& target) {
  return std::ranges::any_of(
      target.owners, [&owner](const GpuUserOwner& wanted) { return why::is_same_owner(wanted, owner); });
}

// Adds the running processes of the container, pod, job or name.
void add_processes(why::Target& target, const host::Files& files, const host::PodNames& pods) {
  const auto pids = host::list_processes(files);
  if (!pids) return;
  std::size_t read = 0;
  for (const std::int64_t pid : *pids) {
    if (target.pids.size() >= kMaxPids || ++read > kMaxRead) continue;
    if (std::ranges::find(target.pids, pid) != target.pids.end()) continue;
    const auto process = host::read_gpu_user(files, pid, pods);
    if (!process) continue;
    const bool is_named = !target.process.empty() && process->process == target.process;
    const bool is_owned = is_of_owner(process->owner, target);
    target.is_also_job = target.is_also_job || is_owned;
    if (is_named || is_owned) target.pids.push_back(pid);
  }
}

void add_start(why::Target& target, const host::Host& host) {
  const Instant now = host.clock.now();
  const WallTime boot = now.wall - now.mono.time_since_epoch();
  for (const std::int64_t pid : target.pids) {
    const auto task = host::read_task_state(host.files, pid);
    if (!task) continue;
    target.is_running = true;
    const auto started = boot + std::chrono::milliseconds{static_cast<std::int64_t>(task->started_ticks) *
                                                          (1000 / host::kTicksPerSecond)};
    if (!target.started || started < *target.started) target.started = started;
  }
}

// The filesystem of the folder in which the process works.
void add_mounts(why::Target& target, const host::Host& host) {
  const auto mounts = host.filesystems.mounts();
  if (!mounts) return;
  for (const std::int64_t pid : target.pids) {
    const auto folder = host.files.resolve(host::process_folder(pid) + "/cwd");
    if (!folder) continue;
    std::string longest;
    for (const host::Mount& mount : *mounts) {
      const std::string& point = mount.mount_point;
      const bool holds = point == "/" || *folder == point || folder->starts_with(point + "/");
      if (holds && point.size() > longest.size()) longest = point;
    }
    if (!longest.empty() && std::ranges::find(target.mounts, longest) == target.mounts.end())
      target.mounts.push_back(longest);
  }
}

}  // namespace

why::Target find_target(const std::string& text, const host::Host& host) {
  why::Target target;
  target.text = text;
  if (text.empty()) return target;
  const host::PodNames pods = host::read_pod_names(host.files);
  read_words(target, pods);
  add_processes(target, host.files, pods);
  add_start(target, host);
  add_mounts(target, host);
  return target;
}

std::string describe(const why::Target& target, const host::Files& files) {
  if (target.is_machine()) return "this machine";
  std::size_t running = 0;
  std::string name;
  for (const std::int64_t pid : target.pids)
    if (const auto task = host::read_task_state(files, pid)) {
      ++running;
      name = task->name;
    }
  if (running == 0) return target.text + " (does not run now)";
  if (running == 1) return target.text + " (" + name + ", runs)";
  return target.text + " (" + std::to_string(running) + " processes run)";
}

}  // namespace autopilot::cli
