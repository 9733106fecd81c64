// SPDX-License-Identifier: Apache-2.0
#include "host/process/process_table.hpp"

#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "core/parse.hpp"

namespace autopilot::host {
namespace {

constexpr int kMostAncestors = 64;
// Only the first PID namespace, that of the machine, shows the kernel's own thread number two.
constexpr std::string_view kSecondThread = "/proc/2/comm";

bool is_python(std::string_view name) {
  return name.starts_with("python") || name.starts_with("pypy");
}

// "net:[4026531992]"
std::uint64_t inode_in(std::string_view text) {
  const std::size_t open = text.find('[');
  if (open == std::string_view::npos || !text.ends_with(']')) return 0;
  return parse_number<std::uint64_t>(text.substr(open + 1, text.size() - open - 2)).value_or(0);
}

// In a machine tree the name is in a file: a link of this form leads nowhere.
std::uint64_t network_namespace_of(const Files& files, const std::string& folder) {
  const std::string path = folder + "/ns/net";
  const auto name = files.is_tree() ? files.read_word(path) : files.resolve(path);
  return name ? inode_in(*name) : 0;
}

void read_status(const Files& files, const std::string& folder, Process& process) {
  const auto status = files.read(folder + "/status");
  if (!status) return;
  for (const std::string_view line : split(*status, '\n')) {
    const bool is_user = line.starts_with("Uid:");
    if (!is_user && !line.starts_with("NSpid:")) continue;
    const auto words = split_words(line);
    // Real, effective, saved; the pid in each namespace, the innermost last.
    if (is_user && words.size() > 2) process.user = parse_number<std::uint32_t>(words[2]);
    if (!is_user && words.size() > 1)
      process.inner_pid = parse_number<std::int64_t>(words.back()).value_or(0);
  }
}

}  // namespace

std::optional<TaskState> ProcessTable::read_task(std::int64_t pid) {
  const auto text = files_.read(process_folder(pid) + "/stat");
  if (!text) return std::nullopt;
  auto task = parse_task_state(*text);
  if (!task || task->state == 'Z' || task->state == 'X') return std::nullopt;
  if (!task->is_kernel_thread) return *std::move(task);
  if (kernel_threads_.size() < kMostThreadsRemembered) kernel_threads_.insert(pid);
  return std::nullopt;
}

void ProcessTable::add(TaskState task, std::map<std::int64_t, Process>& before) {
  const std::int64_t pid = task.pid;
  const auto found = before.find(pid);
  const bool is_known = found != before.end() && found->second.task.started_ticks == task.started_ticks &&
                        found->second.task.name == task.name;
  if (is_known && reads_[pid] >= kRoundsRead) {
    Process& process = processes_.emplace(pid, std::move(found->second)).first->second;
    process.task = std::move(task);
    return;
  }
  if (!is_known) reads_[pid] = 0;
  const bool is_blocked = task.state == 'D';
  if (!is_blocked) ++reads_[pid];
  // An ending process gives its environment back first: what was read of it remains true.
  Process process = is_known ? std::move(found->second) : Process{};
  process.is_candidate = false;
  process.task = std::move(task);
  if (const auto cgroups = files_.read(process_folder(pid) + "/cgroup"))
    process.owner = parse_cgroups(*cgroups);
  processes_.emplace(pid, std::move(process));
}

bool ProcessTable::is_below_launcher(std::int64_t pid) const {
  auto process = processes_.find(pid);
  for (int depth = 0; depth < kMostAncestors && process != processes_.end(); ++depth) {
    process = processes_.find(process->second.task.parent);
    if (process == processes_.end()) return false;
    if (process->second.launch.is_launcher || is_launcher_name(process->second.task.name)) return true;
  }
  return false;
}

void ProcessTable::read_closed(Process& process, const Process& before) {
  auto facts = reader_->facts(process.task.pid, process.task.started_ticks);
  if (!facts) {
    reads_[process.task.pid] = 0;  // the reader may answer in the next round
    if (facts.error().code != Errc::not_found) reader_problem_ = facts.error().what;
  }
  const bool is_newer = facts && (before.launch.environment.empty() || !facts->environment.empty());
  process.launch.environment = is_newer ? std::move(facts->environment) : before.launch.environment;
  process.launch.is_cut = is_newer ? facts->is_cut : before.launch.is_cut;
  process.network_namespace = is_newer ? facts->network_namespace : before.network_namespace;
  if (facts || !process.launch.environment.empty()) process.launch_error.reset();
}

bool ProcessTable::read_candidate(Process& process) {
  process.is_candidate = true;
  // Where it waits for memory from a dead file server, reading its memory would wait as well.
  if (process.task.state == 'D') {
    if (process.launch.environment.empty()) process.launch_error = Errc::unavailable;
    return true;
  }
  const std::string folder = process_folder(process.task.pid);
  auto environment = files_.read_beginning(folder + "/environ", Launch::kEnvironmentBytes);
  process.launch_error.reset();
  if (environment && environment->empty() && !process.launch.environment.empty()) return true;
  const Process before = process;
  process.launch = {};
  if (environment) {
    process.launch.is_cut = environment->size() == Launch::kEnvironmentBytes;
    parse_environment(*environment, process.launch);
    // It may hold secrets.
    ::explicit_bzero(environment->data(), environment->size());
  } else {
    if (environment.error().code == Errc::not_found) return false;
    process.launch_error = environment.error().code;
  }
  if (auto arguments = files_.read_beginning(folder + "/cmdline", Launch::kArgumentBytes)) {
    parse_arguments(*arguments, process.launch);
    ::explicit_bzero(arguments->data(), arguments->size());
  }
  process.network_namespace = network_namespace_of(files_, folder);
  read_status(files_, folder, process);
  if (process.launch_error == Errc::denied && reader_ != nullptr) read_closed(process, before);
  return true;
}

void ProcessTable::read_candidates(const std::set<std::int64_t>& on_gpus) {
  const auto read_each = [this](const auto& is_of_job) {
    for (auto each = processes_.begin(); each != processes_.end();) {
      Process& process = each->second;
      const bool has_ended = !process.is_candidate && is_of_job(process) && !read_candidate(process);
      each = has_ended ? processes_.erase(each) : std::next(each);
    }
  };
  read_each([&](const Process& process) {
    return on_gpus.contains(process.task.pid) || !process.owner.pod_uid.empty() ||
           !process.owner.job.empty() || is_python(process.task.name) || is_launcher_name(process.task.name);
  });
  // Now all launchers are known.
  read_each([this](const Process& process) { return is_below_launcher(process.task.pid); });
}

// True: it was a kernel thread or a process without a job, and is not read in this round.
bool ProcessTable::take_resting(std::int64_t pid, const std::set<std::int64_t>& on_gpus, Before& before) {
  // The rounds of the processes differ, so that each round costs the same.
  if ((pid + round_) % kRestingRounds == 0) return false;
  if (before.kernel_threads.contains(pid)) {
    kernel_threads_.insert(pid);
    return true;
  }
  const auto found = before.processes.find(pid);
  if (found == before.processes.end() || found->second.is_candidate || on_gpus.contains(pid) ||
      reads_[pid] < kRoundsRead)
    return false;
  processes_.insert(before.processes.extract(found));
  return true;
}

Status ProcessTable::refresh(const std::set<std::int64_t>& on_gpus) {
  const std::vector<std::string> names = TRY(files_.list("/proc"));
  ++round_;
  sees_machine_ = files_.read_word(kSecondThread).value_or("") == "kthreadd";
  Before before{std::exchange(processes_, {}), std::exchange(kernel_threads_, {})};
  left_out_ = 0;
  reader_problem_.clear();
  for (const std::string& name : names) {
    const auto pid = parse_number<std::int64_t>(name);
    if (!pid || take_resting(*pid, on_gpus, before)) continue;
    if (processes_.size() >= most_) {
      ++left_out_;
      continue;
    }
    if (auto task = read_task(*pid)) add(*std::move(task), before.processes);
  }
  std::erase_if(reads_, [this](const auto& each) { return !processes_.contains(each.first); });
  if (processes_.empty()) return fail(Errc::unavailable, "/proc: no process is shown");
  read_candidates(on_gpus);
  return {};
}

}  // namespace autopilot::host
