// SPDX-License-Identifier: Apache-2.0
#include "cli/why/gather.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <unistd.h>
#include <utility>
#include <vector>

#include "agent/agent.hpp"
#include "api/jobs_v1.hpp"
#include "catalog/catalog.hpp"
#include "cli/agent_client.hpp"
#include "cli/machine.hpp"
#include "cli/moment.hpp"
#include "cli/settings.hpp"
#include "cli/why/log_evidence.hpp"
#include "cli/why/program_log.hpp"
#include "cli/why/state_evidence.hpp"
#include "cli/why/target.hpp"
#include "core/snapshot.hpp"
#include "host/kernel_log/journal_files.hpp"
#include "host/memory/memory_groups.hpp"
#include "host/process/processes.hpp"
#include "runtime/one_shot.hpp"
#include "store/journal.hpp"

namespace autopilot::cli {
namespace {

using why::Evidence;
using why::Source;

constexpr Duration kWindowOfChecks = std::chrono::milliseconds{500};
constexpr Duration kLogDeadline = std::chrono::seconds{10};
constexpr Duration kJournalDeadline = std::chrono::seconds{20};
constexpr Duration kMountDeadline = std::chrono::seconds{1};
constexpr std::size_t kMaxIncidents = 1000;
constexpr std::string_view kAsRoot = "run it as root: sudo autopilot why";

std::string counted(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

// The journal writes boot ids without dashes.
std::string plain_id(std::string id) {
  std::erase(id, '-');
  return id;
}

class Gatherer {
 public:
  Gatherer(const WhyRequest& request, const config::Config& settings, agent::Machine machine,
           const MachineChecks& checks, std::string log)
      : request_(request),
        settings_(settings),
        machine_(std::move(machine)),
        checks_(checks),
        log_(std::move(log)) {
    report_.now = machine_.host->clock.now().wall;
    report_.node = machine_.node;
    report_.is_simulated = machine_.simulated && !is_recording(request.machine);
    report_.target = find_target(request.target, *machine_.host);
    const bool has_window = !request.since.empty() || report_.target.is_machine();
    if (has_window)
      report_.since = parse_moment("--since", request.since, report_.now, report_.now - kWhyWindow)
                          .value_or(report_.now - kWhyWindow);
    pods_ = host::read_pod_names(machine_.host->files);
    tasks_before_ = tasks();
  }

  why::Report run() {
    read_kernel_log();
    read_journal();
    const NodeSnapshot node = read_state();
    read_agent_journal();
    read_groups();
    read_shared_memory();
    read_processes();
    add(evidence_in_log(log_, report_.target));
    read_job();
    report_.target.gpus = gpus_of(report_.target, node);
    if (!request_.log_file.empty()) note_read(request_.log_file, counted(log_.size(), "byte"));
    report_.target_text = describe(report_.target, machine_.host->files);
    name_gpus(node);
    drop_old();
    report_.explanation = why::explain(std::move(evidence_), report_.target, *checks_.facts);
    return std::move(report_);
  }

 private:
  void add(std::vector<Evidence> more) { std::ranges::move(more, std::back_inserter(evidence_)); }

  void note_read(std::string name, std::string detail) {
    report_.sources.push_back({std::move(name), std::move(detail), {}, {}});
  }
  void note_problem(std::string name, std::string problem, std::string remedy = {}) {
    report_.sources.push_back({std::move(name), {}, std::move(problem), std::move(remedy)});
  }
  void note_error(std::string name, const Error& error) {
    const bool is_denied = error.code == Errc::denied && ::geteuid() != 0;
    note_problem(std::move(name), error.what, is_denied ? std::string(kAsRoot) : std::string());
  }

  [[nodiscard]] LogContext context(std::string source, int boots_ago) const {
    return {.source = std::move(source), .boots_ago = boots_ago, .since = report_.since, .pods = pods_};
  }

  void read_kernel_log() {
    const MonoTime deadline = machine_.host->clock.now().mono + kLogDeadline;
    auto log = machine_.host->kernel_log.read_if(0, deadline, {.reader = "why"});
    if (!log) {
      note_error("kernel log", log.error());
      return;
    }
    has_kernel_log_ = true;
    const std::string lost =
        log->lost > 0 ? ", " + std::to_string(log->lost) + " older ones overwritten" : "";
    note_read("kernel log", counted(log->records.size(), "record") + lost);
    add(evidence_in(std::move(log->records), context("kernel log", 0), *checks_.facts));
  }

  void read_journal() {
    const MonoTime deadline = machine_.host->clock.now().mono + kJournalDeadline;
    auto boots =
        host::read_journaled_boots(machine_.host->files, {.since = report_.since, .deadline = deadline});
    if (!boots) {
      note_error("journal of earlier boots", boots.error());
      return;
    }
    note_read("journal", counted(boots->size(), "boot"));
    take_boots(*std::move(boots));
  }

  void take_boots(std::vector<host::JournaledBoot> boots) {
    int boots_ago = 0;
    for (auto boot = boots.rbegin(); boot != boots.rend(); ++boot) {
      const bool is_this = boot->id == plain_id(machine_.boot_id);
      const LogContext from = context("journal", is_this ? 0 : ++boots_ago);
      add(evidence_in(*boot, from));
      if (is_this && has_kernel_log_) continue;
      add(evidence_in({boot->records.begin(), boot->records.end()}, from, *checks_.facts));
    }
  }

  // An agent that answers and watches this machine.
  std::optional<NodeSnapshot> ask_agent() {
    if (!request_.machine.is_this_machine() || request_.no_agent) return std::nullopt;
    const auto target = agent_target(request_.socket, request_.config_file);
    if (!target) return std::nullopt;
    AgentClient agent(*target);
    const std::string place = "agent at " + net::to_string(*target);
    if (!agent.answers()) {
      if (!request_.socket.empty()) note_problem(place, "it does not answer");
      return std::nullopt;
    }
    auto node = agent.node();
    if (!node) {
      note_error(place, node.error());
      return std::nullopt;
    }
    if (node->boot_id != machine_.boot_id) {
      note_problem(place, "it watches another machine");
      return std::nullopt;
    }
    note_read(place, "");
    agent_ = std::move(agent);
    return *std::move(node);
  }

  NodeSnapshot run_checks() {
    runtime::OneShot one_shot;
    one_shot.options.node = machine_.node;
    one_shot.options.boot_id = machine_.boot_id;
    one_shot.options.profile = settings_.profile;
    one_shot.options.simulated = report_.is_simulated;
    one_shot.options.has_accelerator = machine_.has_accelerator;
    one_shot.options.workers.threads = static_cast<int>(checks_.checks.size());
    one_shot.settings.expectation = settings_.expectation;
    one_shot.window = kWindowOfChecks;
    return *runtime::look_once(machine_.host, *checks_.facts, checks_.checks, std::move(one_shot));
  }

  NodeSnapshot read_state() {
    auto from_agent = ask_agent();
    const bool is_of_agent = from_agent.has_value();
    NodeSnapshot node = is_of_agent ? *std::move(from_agent) : run_checks();
    note_checks(node);
    add(evidence_in(node.incidents, std::string(is_of_agent ? "agent" : kOfThisRun), node.time,
                    report_.since));
    return node;
  }

  void note_checks(const NodeSnapshot& node) {
    note_read("checks", std::to_string(node.coverage.looked) + " of " + std::to_string(node.coverage.of));
    if (node.coverage.looked >= node.coverage.of) return;
    std::string rights;
    for (const std::string& right : node.coverage.missing_rights)
      rights += (rights.empty() ? "" : ", ") + right;
    const std::string missing =
        counted(static_cast<std::size_t>(node.coverage.of - node.coverage.looked), "check");
    note_problem(missing, rights.empty() ? "could not run" : "could not run without " + rights,
                 rights.empty() || ::geteuid() == 0 ? std::string() : std::string(kAsRoot));
  }

  // Incidents that closed; open ones come from the agent itself.
  void read_agent_journal() {
    if (!request_.machine.is_this_machine()) return;
    const auto journal = store::Journal::open_read_only(settings_.journal_path());
    if (!journal) {
      if (journal.error().code != Errc::not_found) note_error("journal of the agent", journal.error());
      return;
    }
    const auto incidents = (*journal)->incidents(true, kMaxIncidents);
    if (!incidents) {
      note_error("journal of the agent", incidents.error());
      return;
    }
    note_read("journal of the agent", counted(incidents->size(), "incident"));
    std::vector<Incident> closed;
    std::ranges::copy_if(*incidents, std::back_inserter(closed), [this](const Incident& one) {
      return one.state == IncidentState::closed || !agent_;
    });
    for (Incident& incident : closed)  // without an agent, open ones may have ended meanwhile
      incident.state = IncidentState::closed;
    add(evidence_in(closed, "journal of the agent", report_.now, report_.since));
  }

  // The kernel log has the time and the process; the counters are for processes that may not read it.
  void read_groups() {
    if (!has_kernel_log_) add(evidence_in(host::read_refusing_groups(machine_.host->files)));
    const auto groups = host::read_killed_groups(machine_.host->files);
    if (!groups) {
      if (groups.error().code != Errc::unsupported) note_error("control groups", groups.error());
      return;
    }
    note_read("control groups", std::to_string(groups->read));
    if (!has_kernel_log_) add(evidence_in(*groups));
  }

  void read_shared_memory() {
    constexpr std::size_t kMostMounts = 512;
    const auto mounts = machine_.host->filesystems.mounts();
    if (!mounts) return;
    std::size_t read = 0;
    for (const host::Mount& mount : *mounts) {
      if (!is_shared_memory(mount) || ++read > kMostMounts) continue;
      const auto usage =
          machine_.host->filesystems.usage(mount, machine_.host->clock.now().mono + kMountDeadline);
      if (!usage) continue;
      if (auto full = evidence_of(mount, *usage)) add({*std::move(full)});
    }
  }

  [[nodiscard]] host::Tasks tasks() const {
    return host::read_tasks(machine_.host->files).value_or(host::Tasks{});
  }

  // The other sources are read between the two readings.
  void read_processes() {
    add(evidence_in({.before = std::move(tasks_before_), .now = tasks()}, report_.target,
                    machine_.host->files));
  }

  void read_job() {
    if (report_.target.is_machine() || !agent_) return;
    const auto body = agent_->get("/v1/jobs", {{"job", report_.target.text}});
    const auto job = body ? api::parse_job(*body) : fail(body.error());
    if (!job) return;
    note_read("monitoring of jobs", "knows " + job->state.job);
    if (auto evidence = evidence_of(*job, report_.target)) add({*std::move(evidence)});
  }

  // The kernel log knows addresses only; the driver numbers the GPUs.
  void name_gpus(const NodeSnapshot& node) {
    std::map<std::string, int> indices;
    for (const CheckResult& result : node.results)
      for (const Observation& observation : result.observations)
        if (observation.subject.kind == SubjectKind::gpu && observation.subject.index)
          indices.emplace(observation.subject.key, *observation.subject.index);
    for (Evidence& one : evidence_) {
      Subject& subject = one.finding.subject;
      const auto known = indices.find(subject.key);
      if (subject.kind == SubjectKind::gpu && !subject.index && known != indices.end())
        subject.index = known->second;
    }
  }

  // A state that holds now counts however old it is.
  void drop_old() {
    std::erase_if(evidence_, [this](const Evidence& one) {
      const WallTime last = std::max(one.finding.since, one.finding.last_seen);
      return last != WallTime{} && last < report_.since && !one.holds_now;
    });
  }

  const WhyRequest& request_;
  const config::Config& settings_;
  agent::Machine machine_;
  const MachineChecks& checks_;
  std::string log_;  // of the program
  host::PodNames pods_;
  host::Tasks tasks_before_;
  why::Report report_;
  std::vector<Evidence> evidence_;
  std::optional<AgentClient> agent_;
  bool has_kernel_log_ = false;
};

}  // namespace

Result<why::Report> gather(const WhyRequest& request) {
  const auto settings = TRY(load_settings(request.config_file));
  if (!request.socket.empty()) (void)TRY(net::parse_target(request.socket));
  const auto checks = TRY(checks_of(request.machine, settings));
  std::string log = request.log_file.empty() ? std::string() : TRY(read_program_log(request.log_file));
  auto machine = TRY(open_machine(request.machine, settings, Timeline::at_end, {}));
  return Gatherer(request, settings, std::move(machine), checks, std::move(log)).run();
}

}  // namespace autopilot::cli
