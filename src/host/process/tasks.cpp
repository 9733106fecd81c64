// SPDX-License-Identifier: Apache-2.0
#include "host/process/tasks.hpp"

#include "core/parse.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kProc = "/proc";
constexpr std::uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD of the ABI of /proc/<pid>/stat

// Places behind the name, counted from the state.
constexpr std::size_t kParent = 1;
constexpr std::size_t kFlags = 6;
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
  // The kernel says 0 to a reader without the right.
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
  if (!parent || !flags || !started) return malformed();
  TaskState task;
  task.pid = *pid;
  task.name = to_utf8(text.substr(open + 1, close - open - 1));
  task.state = words[0].front();
  task.parent = *parent;
  task.is_kernel_thread = (*flags & kKernelThread) != 0;
  task.started_ticks = *started;
  return task;
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
    else if (task->state == 'D' && ++tasks.blocked_count <= Tasks::kMostBlocked)
      tasks.blocked.push_back(describe(files, *std::move(task)));
  }
  if (tasks.looked_at == 0)
    return fail(problem.value_or(Error{Errc::unavailable, "/proc: no process is shown"}));
  return tasks;
}

}  // namespace autopilot::host
