// SPDX-License-Identifier: Apache-2.0
#include "cli/simulation.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "core/parse.hpp"
#include "host/clock/system_clock.hpp"
#include "host/process/child_runner.hpp"
#include "logging/log.hpp"

namespace autopilot::cli {
namespace {

// Less than a second, except on a machine that is busy with much else.
constexpr Duration kPatience = std::chrono::seconds{60};
// A machine has 12 MiB, and grows with its events.
constexpr std::uintmax_t kRoom = std::uintmax_t{32} << 20;
// Prefix of the folder names.
constexpr std::string_view kFolder = "autopilot-sim-";
// The words that follow may come from a client and are never options.
constexpr const char* kNoMoreOptions = "--";
// A younger folder may not be locked yet.
constexpr auto kClaimedBy = std::chrono::minutes{1};

// The folder, open and locked while in use; empty if another process holds the lock.
host::Fd claimed(const std::string& folder) {
  host::Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd.get() >= 0 && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  return {};
}

// A machine has thousands of files, which take seconds on a disk: use memory if there is room, unless TMPDIR
// is set.
Result<std::filesystem::path> folder_of_machines() {
  std::error_code error;
  const auto temporary = std::filesystem::temp_directory_path(error);
  if (error) return fail_errno(error.value(), "the folder for temporary files, TMPDIR");
  const std::filesystem::path memory = "/dev/shm";
  const auto variables = host::own_environment();
  const bool is_named = std::ranges::any_of(
      variables, [](const std::string& variable) { return variable.starts_with("TMPDIR="); });
  const bool may_write = ::access(memory.c_str(), W_OK | X_OK) == 0;
  const auto space = std::filesystem::space(memory, error);
  return !is_named && may_write && !error && space.available >= kRoom ? memory : temporary;
}

// Folders of killed processes.
void remove_abandoned_folders(const std::filesystem::path& where) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(where, ignored)) {
    if (!entry.path().filename().string().starts_with(kFolder)) continue;
    const host::Fd fd = claimed(entry.path());
    struct stat status {};
    if (fd.get() < 0 || ::fstat(fd.get(), &status) != 0 || status.st_uid != ::geteuid()) continue;
    const WallTime changed{std::chrono::seconds{status.st_mtime}};
    if (host::SystemClock{}.now().wall - changed < kClaimedBy) continue;
    std::filesystem::remove_all(entry.path(), ignored);
  }
}

Result<std::string> beside_this_program(const std::string& name) {
  const std::filesystem::path self = TRY(host::own_executable());
  const auto path = self.parent_path() / name;
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    return fail(Errc::not_found,
                path.string() + " does not exist; install it beside autopilot to use simulated machines");
  return path.string();
}

// Runs autopilot-sim, and returns its output; its standard error becomes the error.
Result<std::string> output_of(const std::string& program, std::vector<std::string> arguments,
                              Duration patience = kPatience) {
  host::Command command{program, std::move(arguments), host::own_environment()};
  host::ChildRunner runner;
  const auto report = TRY(runner.run(command, host::SystemClock{}.now().mono + patience));
  if (report.end == host::ChildEnd::exited && !report.status.was_signalled && report.status.code == 0)
    return report.output;
  std::string complaint(trim(report.errors));
  if (constexpr std::string_view kPrefix = "autopilot-sim: "; complaint.starts_with(kPrefix))
    complaint.erase(0, kPrefix.size());
  return fail(Errc::malformed,
              complaint.empty() ? program + ": " + host::to_string(report.status) : complaint);
}

Status run_to_end(const std::string& program, std::vector<std::string> arguments) {
  (void)TRY(output_of(program, std::move(arguments)));
  return {};
}

}  // namespace

Result<std::string> simulated_faults_json(Duration patience) {
  return output_of(TRY(beside_this_program("autopilot-sim")), {"faults", "-o", "json"}, patience);
}

Result<std::string> simulated_machines_list(Duration patience) {
  return output_of(TRY(beside_this_program("autopilot-sim")), {"machines"}, patience);
}

Result<std::string> simulated_library() {
  return beside_this_program("libnvidia-ml-sim.so");
}

Result<std::string> simulated_cuda_library() {
  return beside_this_program("libcuda-sim.so");
}

Result<std::unique_ptr<Simulation>> Simulation::create(const std::string& source, Timeline timeline) {
  auto program = TRY(beside_this_program("autopilot-sim"));
  const auto where = TRY(folder_of_machines());
  remove_abandoned_folders(where);
  std::string pattern = (where / kFolder).string() + "XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) return fail_errno(errno, pattern);
  std::unique_ptr<Simulation> simulation(new Simulation(std::move(program), std::move(pattern)));
  simulation->claim_ = claimed(simulation->folder_);
  std::vector<std::string> arguments{"create", "--out", simulation->directory()};
  if (timeline == Timeline::at_end) arguments.insert(arguments.end(), {"--at", "end"});
  if (timeline == Timeline::live) arguments.emplace_back("--now");
  arguments.insert(arguments.end(), {kNoMoreOptions, source});
  if (const Status made = run_to_end(simulation->program_, std::move(arguments)); !made)
    return fail(made.error().code, "--simulate: " + made.error().what);
  return simulation;
}

Simulation::~Simulation() {
  player_ = std::jthread();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void Simulation::play(std::function<void()> on_change) {
  player_ = std::jthread([this, on_change = std::move(on_change)](const std::stop_token& stop) {
    host::Command command{program_, {"play", "--end-with-parent", directory()}, host::own_environment()};
    host::ChildRunner runner;
    const auto report =
        runner.run(command, MonoTime::max(), {}, stop, [&on_change](std::string_view) { on_change(); });
    if (stop.stop_requested()) return;
    logging::log_error("the simulated machine has stopped: its player process exited",
                       {{"cause", report ? std::string(trim(report->errors)) : report.error().what}});
  });
}

Status Simulation::inject(const api::InjectRequest& request) const {
  std::vector<std::string> arguments{"inject"};
  if (request.subject.kind != SubjectKind::host || !request.subject.key.empty())
    arguments.insert(arguments.end(), {"--subject", to_string(request.subject)});
  if (request.magnitude)
    arguments.insert(arguments.end(), {"--magnitude", to_string(Value{*request.magnitude})});
  if (request.duration) arguments.insert(arguments.end(), {"--for", format_duration(*request.duration)});
  arguments.insert(arguments.end(), {kNoMoreOptions, directory(), request.fault});
  return run_to_end(program_, std::move(arguments));
}

}  // namespace autopilot::cli
