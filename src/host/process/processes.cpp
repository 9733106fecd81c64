// SPDX-License-Identifier: Apache-2.0
#include "host/process/processes.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <pwd.h>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kProc = "/proc";
constexpr std::uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD of the ABI of /proc/<pid>/stat

// Places behind the name, counted from the state.
constexpr std::size_t kParent = 1;
constexpr std::size_t kFlags = 6;
constexpr std::size_t kUserTicks = 11;
constexpr std::size_t kKernelTicks = 12;
constexpr std::size_t kStarted = 19;

std::optional<std::uint64_t> switches_of(std::string_view status) {
  std::uint64_t sum = 0;
  int found = 0;
  for (const std::string_view line : split(status, '\n')) {
    const auto words = split_words(line);
    if (words.size() != 2 || !words[0].ends_with("voluntary_ctxt_switches:")) continue;
    const auto count = parse_number<std::uint64_t>(words[1]);
    if (!count) return std::nullopt;
    sum += *count;
    ++found;
  }
  if (found != 2) return std::nullopt;
  return sum;
}

BlockedTask describe(const Files& files, TaskState task) {
  const std::string folder = std::string(kProc) + "/" + std::to_string(task.pid);
  BlockedTask blocked;
  blocked.task = std::move(task);
  if (const auto status = files.read(folder + "/status")) blocked.switches = switches_of(*status);
  // The kernel returns 0 to a reader without the permission.
  if (const auto place = files.read_word(folder + "/wchan"); place && *place != "0")
    blocked.waits_in = to_utf8(*place);
  return blocked;
}

}  // namespace

Result<TaskState> parse_task_state(std::string_view text) {
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  const auto malformed = [] { return fail(Errc::malformed, "stat: not the row of a process"); };
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return malformed();
  const auto pid = parse_number<std::int64_t>(trim(text.substr(0, open)));
  const auto words = split_words(text.substr(close + 1));
  if (!pid || words.size() <= kStarted || words[0].size() != 1) return malformed();
  const auto parent = parse_number<std::int64_t>(words[kParent]);
  const auto flags = parse_number<std::uint64_t>(words[kFlags]);
  const auto started = parse_number<std::uint64_t>(words[kStarted]);
  const auto user = parse_number<std::uint64_t>(words[kUserTicks]);
  const auto kernel = parse_number<std::uint64_t>(words[kKernelTicks]);
  if (!parent || !flags || !started || !user || !kernel) return malformed();
  TaskState task;
  task.pid = *pid;
  task.name = to_utf8(text.substr(open + 1, close - open - 1));
  task.state = words[0].front();
  task.parent = *parent;
  task.is_kernel_thread = (*flags & kKernelThread) != 0;
  task.started_ticks = *started;
  task.cpu_ticks = *user + *kernel;
  return task;
}

Result<TaskState> read_task_state(const Files& files, std::int64_t pid) {
  const std::string text = TRY(files.read(std::string(kProc) + "/" + std::to_string(pid) + "/stat"));
  return parse_task_state(text);
}

Result<TaskIo> parse_task_io(std::string_view text) {
  TaskIo io;
  std::size_t found = 0;
  for (const std::string_view line : split(text, '\n')) {
    const auto colon = line.find(": ");
    if (colon == std::string_view::npos) continue;
    const std::string_view name = line.substr(0, colon);
    std::uint64_t* target = nullptr;
    if (name == "rchar") target = &io.call_read_bytes;
    if (name == "wchar") target = &io.call_written_bytes;
    if (name == "read_bytes") target = &io.storage_read_bytes;
    if (name == "write_bytes") target = &io.storage_written_bytes;
    if (target == nullptr) continue;
    const auto bytes = parse_number<std::uint64_t>(line.substr(colon + 2));
    if (!bytes) return fail(Errc::malformed, "io: " + to_utf8(line.substr(0, 80)) + " is not a number");
    *target = *bytes;
    ++found;
  }
  constexpr std::size_t kRows = 4;
  if (found != kRows) return fail(Errc::malformed, "io: rows are missing");
  return io;
}

Result<TaskIo> read_task_io(const Files& files, std::int64_t pid) {
  const std::string text = TRY(files.read(std::string(kProc) + "/" + std::to_string(pid) + "/io"));
  return parse_task_io(text);
}

Result<Duration> parse_run_delay(std::string_view text) {
  const auto words = split(trim(text), ' ');
  const auto delay = words.size() == 3 ? parse_number<std::int64_t>(words[1]) : std::nullopt;
  if (!delay || *delay < 0)
    return fail(Errc::malformed, "schedstat: " + to_utf8(text.substr(0, 80)) + " is not three numbers");
  return Duration(*delay);
}

Result<Duration> read_run_delay(const Files& files, std::int64_t pid) {
  const std::string text = TRY(files.read(std::string(kProc) + "/" + std::to_string(pid) + "/schedstat"));
  return parse_run_delay(text);
}

Result<std::vector<std::int64_t>> list_processes(const Files& files) {
  std::vector<std::int64_t> pids;
  for (const std::string& name : TRY(files.list(kProc)))
    if (const auto pid = parse_number<std::int64_t>(name)) pids.push_back(*pid);
  return pids;
}

Result<Tasks> read_tasks(const Files& files) {
  Tasks tasks;
  std::optional<Error> problem;
  for (const std::string& name : TRY(files.list(kProc))) {
    if (!parse_number<std::int64_t>(name)) continue;
    if (tasks.looked_at == Tasks::kMostLookedAt) {
      ++tasks.left_out;
      continue;
    }
    const auto text = files.read(std::string(kProc) + "/" + name + "/stat");
    auto task = text ? parse_task_state(*text) : fail(text.error());
    if (!task) {
      if (!problem || problem->code == Errc::not_found) problem = task.error();
      continue;
    }
    ++tasks.looked_at;
    if (task->state == 'Z')
      tasks.zombies.push_back(*std::move(task));
    else if (task->state == 'T' || task->state == 't')
      tasks.stopped.push_back(*std::move(task));
    else if (task->state == 'D' && ++tasks.blocked_count <= Tasks::kMostBlocked)
      tasks.blocked.push_back(describe(files, *std::move(task)));
  }
  if (tasks.looked_at == 0)
    return fail(problem.value_or(Error{Errc::unavailable, "/proc: no process is shown"}));
  return tasks;
}

namespace {

constexpr std::string_view kPodLogs = "/var/log/pods";
constexpr std::size_t kMaxRows = 64;
constexpr std::size_t kIdDigits = 64;
constexpr std::size_t kUidLength = 36;

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// "cri-containerd-<id>.scope", "crio-<id>", "<id>": the id comes last.
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
void read_path(std::string path, GpuUserOwner& owner) {
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

GpuUserOwner parse_cgroups(std::string_view text) {
  GpuUserOwner owner;
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

GpuUserOwner parse_cgroup_path(std::string_view path) {
  GpuUserOwner owner;
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

Result<GpuUser> read_gpu_user(const Files& files, std::int64_t pid, const PodNames& pods) {
  const std::string folder = "/proc/" + std::to_string(pid);
  const std::string row = TRY(files.read(folder + "/stat"));
  const TaskState task = TRY(parse_task_state(row));
  GpuUser gpu_user;
  gpu_user.pid = pid;
  gpu_user.started_ticks = task.started_ticks;
  gpu_user.process = task.name;
  if (const auto cgroups = files.read(folder + "/cgroup")) gpu_user.owner = parse_cgroups(*cgroups);
  if (const auto pod = pods.find(gpu_user.owner.pod_uid); pod != pods.end())
    std::tie(gpu_user.owner.pod_namespace, gpu_user.owner.pod) = pod->second;
  return gpu_user;
}

std::optional<std::string> local_user_name(std::uint32_t uid) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> users(std::fopen("/etc/passwd", "re"), std::fclose);
  if (!users) return std::nullopt;
  std::array<char, 4096> text{};
  passwd entry{};
  passwd* found = nullptr;
  while (::fgetpwent_r(users.get(), &entry, text.data(), text.size(), &found) == 0)
    if (found->pw_uid == uid) return found->pw_name;
  return std::nullopt;
}

}  // namespace autopilot::host
