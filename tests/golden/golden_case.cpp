// SPDX-License-Identifier: Apache-2.0
#include "golden/golden_case.hpp"

#include <algorithm>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <unistd.h>

#include "core/yaml_text.hpp"
#include "host/open_host.hpp"
#include "incidents/finding_tracker.hpp"
#include "runtime/conclude.hpp"
#include "runtime/workers.hpp"
#include "tests/paths/paths.hpp"

namespace autopilot::golden {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// A case in which something hangs shows it after this time; other cases wait as long as the check would.
constexpr Duration kPatienceWithAHang = 1s;
// As in the runtime: a backend that keeps its deadline reports itself what did not answer.
constexpr Duration kGrace = 500ms;

// Whole machines with labelled incidents, no cases of one check.
constexpr std::string_view kScenarios = "causes";

// The clock of the machine does not move between the rounds. An abandoned run can still read it.
class RoundClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override {
    const std::scoped_lock lock(mutex_);
    return now_;
  }
  void set(Instant now) {
    const std::scoped_lock lock(mutex_);
    now_ = now;
  }

 private:
  mutable std::mutex mutex_;
  Instant now_;
};

std::map<std::string, int> answering_subjects(const History& history) {
  std::set<Subject> subjects;
  for (const Observation& observation : history.latest())
    if (observation.value) subjects.insert(observation.subject);
  std::map<std::string, int> counts;
  for (const Subject& subject : subjects)
    ++counts[std::string(to_string(subject.kind))];
  return counts;
}

// Runs one check on one machine, round by round.
class Looker {
 public:
  Looker(const checks::Check& check, const Expectation& given, MachineBench& bench,
         const simulator::Simulation& simulation)
      : check_(check),
        given_(given),
        bench_(bench),
        simulation_(simulation),
        tracker_([](std::string_view reason) { return catalog::builtin().reason(reason); }, "boot") {}

  Status round(Duration when) {
    const simulator::Machine machine = simulation_.at(when);
    TRY_STATUS(bench_.put(machine));
    clock_->set(TRY(instant_of(machine)));
    if (!opened_.host) TRY_STATUS(open());
    const Instant now = clock_->now();
    auto observed = observe(now, has_a_hang(machine) ? kPatienceWithAHang : check_.info.deadline);
    note(observed);
    const Observations observations = observed ? observed->observations : Observations{};
    last_ = runtime::conclude(check_, std::move(observed), check_.info.window, now, catalog::builtin(),
                              given_, history_);
    static_cast<void>(tracker_.complete_round(check_.info.id, now, last_, observations));
    return {};
  }

  [[nodiscard]] Look look() const {
    Look look;
    look.outcome.health = to_string(runtime::health_of(last_));
    look.outcome.error = error_;
    look.outcome.findings = expected_findings(last_);
    look.outcome.witnesses = witnesses_;
    if (!error_) look.outcome.looked_at = answering_subjects(history_);
    look.outcome.standing = expected_findings(tracker_.findings(check_.info.id));
    for (const Finding& finding : last_)
      look.messages += "  " + to_string(finding.subject) + ": " + finding.message + "\n";
    return look;
  }

 private:
  Status open() {
    host::OpenOptions options;
    options.helper_program = paths::program("autopilot");
    options.nvml_library = paths::program("libnvidia-ml-sim.so");
    options.clock = clock_;
    opened_ = TRY(host::open_tree_host(bench_.directory(), options));
    return {};
  }
  // As the agent does it: on a lane, which is given up when the look outlives its deadline; until that look
  // has returned there is no other. What was given up ends when the bench holds the next machine.
  Result<checks::Observed> observe(Instant now, Duration patience) {
    if (answer_.valid() && answer_.wait_for(patience) != std::future_status::ready)
      return fail(Errc::timed_out, "an earlier look has not returned");
    const auto look = std::make_shared<std::packaged_task<Result<checks::Observed>()>>(
        [host = opened_.host, look = check_.observe,
         request = checks::Request{
             .now = now, .deadline = now.mono + patience, .kernel_log_from = kernel_log_from_}] {
          return look(*host, request);
        });
    answer_ = look->get_future();
    const auto ticket = lanes_.submit([look] { (*look)(); });
    if (answer_.wait_for(patience + kGrace) == std::future_status::ready) return answer_.get();
    lanes_.abandon(ticket);
    return fail(Errc::timed_out, "no answer within " + format_duration(patience));
  }
  void note(const Result<checks::Observed>& observed) {
    error_.reset();
    witnesses_.clear();
    if (!observed) {
      error_ = to_string(observed.error().code);
      return;
    }
    witnesses_ = observed->witnesses;
    kernel_log_from_ = observed->kernel_log_next.value_or(kernel_log_from_);
  }

  const checks::Check& check_;
  const Expectation& given_;
  MachineBench& bench_;
  const simulator::Simulation& simulation_;
  std::shared_ptr<RoundClock> clock_ = std::make_shared<RoundClock>();
  host::OpenedHost opened_;
  History history_;
  incidents::FindingTracker tracker_;
  std::uint64_t kernel_log_from_ = 0;
  Findings last_;
  std::optional<std::string> error_;
  std::vector<std::string> witnesses_;
  std::future<Result<checks::Observed>> answer_;  // of an abandoned run
  runtime::Workers lanes_{{.threads = 1, .max_stuck = 1, .max_queued = 1}};
};

// Memory where there is some: a machine is thousands of files.
std::string bench_directory() {
  static int benches = 0;
  std::error_code error;
  const bool has_memory = fs::is_directory("/dev/shm", error) && ::access("/dev/shm", W_OK) == 0;
  return (has_memory ? fs::path("/dev/shm") : fs::temp_directory_path(error)) /
         ("autopilot-golden-" + std::to_string(::getpid()) + "-" + std::to_string(++benches));
}

}  // namespace

Result<Instant> instant_of(const simulator::Machine& machine) {
  const YamlNode* time = machine.machine.find("time");
  const YamlNode* uptime = machine.machine.find("uptime");
  const auto wall = time == nullptr ? std::nullopt : parse_time(time->text);
  const auto up = uptime == nullptr ? std::nullopt : parse_duration(uptime->text);
  if (!wall || !up) return fail(Errc::malformed, "the machine has no time or uptime");
  return Instant{*wall, MonoTime{*up}};
}

bool has_a_hang(const simulator::Machine& machine) {
  const YamlNode* functions = machine.nvml ? machine.nvml->find("functions") : nullptr;
  const YamlNode* unreadable = machine.machine.find("unreadable");
  return (functions != nullptr &&
          std::any_of(functions->members.begin(), functions->members.end(),
                      [](const YamlMember& member) { return member.value.text == "hang"; })) ||
         (unreadable != nullptr &&
          std::any_of(unreadable->members.begin(), unreadable->members.end(),
                      [](const YamlMember& member) { return member.value.find("hangs") != nullptr; }));
}

std::vector<std::string> directories_in(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error))
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<Case> find_cases(const std::string& golden_directory) {
  std::vector<Case> cases;
  for (const std::string& check : directories_in(golden_directory)) {
    if (check == kScenarios) continue;
    const fs::path folder = fs::path(golden_directory) / check;
    for (const std::string& name : directories_in(folder))
      cases.push_back({check, name, folder / name});
  }
  return cases;
}

MachineBench::MachineBench() : writer_(bench_directory()) {}

MachineBench::~MachineBench() {
  std::error_code ignored;
  fs::remove_all(writer_.directory(), ignored);
}

Result<Look> look_at(const Case& test_case, const Expectation& given, MachineBench& bench) {
  const checks::Check* check = checks::find_check(test_case.check);
  if (check == nullptr) return fail(Errc::not_found, "no check `" + test_case.check + "`");
  const auto source = TRY(simulator::open_source(test_case.directory));
  Looker looker(*check, given, bench, source.simulation);
  for (const Duration when : source.rounds.empty() ? std::vector<Duration>{Duration{0}} : source.rounds)
    TRY_STATUS(looker.round(when));
  return looker.look();
}

}  // namespace autopilot::golden
