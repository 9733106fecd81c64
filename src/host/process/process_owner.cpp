// SPDX-License-Identifier: Apache-2.0
#include "host/process/process_owner.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/parse.hpp"
#include "host/process/tasks.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kPodLogs = "/var/log/pods";
constexpr std::size_t kMaxRows = 64;
constexpr std::size_t kIdDigits = 64;
constexpr std::size_t kUidLength = 36;

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// "cri-containerd-<id>.scope", "crio-<id>", "<id>": the id is what stands last.
std::string_view container_in(std::string_view part) {
  if (part.ends_with(".scope")) part.remove_suffix(6);
  if (part.size() < kIdDigits) return {};
  const std::string_view id = part.substr(part.size() - kIdDigits);
  const bool stands_alone = part.size() == kIdDigits || part[part.size() - kIdDigits - 1] == '-';
  return stands_alone && is_hex(id) ? id : std::string_view{};
}

// 8-4-4-4-12 digits in hexadecimal, or 32 of a pod whose manifest is a file of the node.
bool is_uid(std::string_view text) {
  if (text.size() == 32) return is_hex(text);
  if (text.size() != kUidLength) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (is_dash ? text[i] != '-' : !is_hex(text.substr(i, 1))) return false;
  }
  return true;
}

// "pod<uid>", or "kubepods-burstable-pod<uid with _ for ->.slice".
std::string pod_in(std::string_view part) {
  if (part.ends_with(".slice")) part.remove_suffix(6);
  const auto at = part.rfind("pod");
  if (at == std::string_view::npos || (at > 0 && part[at - 1] != '-')) return {};
  std::string uid(part.substr(at + 3));
  std::ranges::replace(uid, '_', '-');
  return is_uid(uid) ? uid : std::string{};
}

// containerd writes "<slice>:cri-containerd:<id>" as one folder where systemd does not keep its groups.
void read_path(std::string path, WorkloadOwner& owner) {
  // Of a process that outlived its group.
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
  std::ranges::replace(path, ':', '/');
  const auto parts = split(path, '/');
  const bool is_slurm = std::ranges::any_of(parts, [](std::string_view part) {
    return part == "slurm" || part.starts_with("slurm_") || part.ends_with("slurmstepd.scope");
  });
  for (const std::string_view part : parts) {
    if (auto uid = pod_in(part); !uid.empty()) owner.pod_uid = std::move(uid);
    if (const auto id = container_in(part); !id.empty()) owner.container = id;
    if (is_slurm && part.starts_with("job_") && parse_number<std::uint64_t>(part.substr(4)))
      owner.job = "slurm " + std::string(part.substr(4));
  }
}

}  // namespace

WorkloadOwner parse_cgroups(std::string_view text) {
  WorkloadOwner owner;
  std::size_t rows = 0;
  for (const std::string_view row : split(text, '\n')) {
    if (++rows > kMaxRows) break;
    // "<number>:<controllers>:<path>"
    const auto first = row.find(':');
    const auto second = first == std::string_view::npos ? first : row.find(':', first + 1);
    if (second != std::string_view::npos) read_path(std::string(row.substr(second + 1)), owner);
  }
  return owner;
}

WorkloadOwner parse_cgroup_path(std::string_view path) {
  WorkloadOwner owner;
  read_path(std::string(path), owner);
  return owner;
}

PodNames read_pod_names(const Files& files) {
  PodNames names;
  const auto folders = files.list(kPodLogs);
  if (!folders) return names;
  for (const std::string& folder : *folders) {
    // Neither a namespace nor a name may hold '_'.
    const auto parts = split(folder, '_');
    if (parts.size() == 3 && is_uid(parts[2]))
      names.emplace(parts[2], std::pair(std::string(parts[0]), std::string(parts[1])));
  }
  return names;
}

Result<Workload> read_workload(const Files& files, std::int64_t pid, const PodNames& pods) {
  const std::string folder = "/proc/" + std::to_string(pid);
  const std::string row = TRY(files.read(folder + "/stat"));
  const TaskState task = TRY(parse_task_state(row));
  Workload workload;
  workload.pid = pid;
  workload.started_ticks = task.started_ticks;
  workload.process = task.name;
  if (const auto cgroups = files.read(folder + "/cgroup")) workload.owner = parse_cgroups(*cgroups);
  if (const auto pod = pods.find(workload.owner.pod_uid); pod != pods.end())
    std::tie(workload.owner.pod_namespace, workload.owner.pod) = pod->second;
  return workload;
}

}  // namespace autopilot::host
