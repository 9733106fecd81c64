// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <unistd.h>

#include "cli/agent_client.hpp"
#include "cli/configuration/settings_check.hpp"
#include "cli/doctor/rows.hpp"
#include "cli/output/table.hpp"
#include "cli/settings.hpp"
#include "config/forms.hpp"
#include "core/parse.hpp"
#include "host/clock/system_clock.hpp"
#include "host/process/child_runner.hpp"
#include "logging/build_info.hpp"

namespace autopilot::cli {
namespace {

constexpr Duration kPatienceOfSystemctl = std::chrono::seconds{5};

DoctorRow agent_topic(std::string topic, RowState state, std::string what, std::string adds = {},
                      std::string command = {}) {
  return {.topic = std::move(topic),
          .state = state,
          .what = std::move(what),
          .adds = std::move(adds),
          .command = std::move(command),
          .checks = {}};
}

DoctorRow configuration_row() {
  const CheckedSettings checked = check_agent_settings("");
  const auto variables = check_environment();
  const std::size_t problems = checked.problems.size() + variables.size();
  if (problems == 0)
    return agent_topic(
        "configuration", RowState::ok,
        checked.exists ? checked.file + " is valid" : "defaults: " + checked.file + " does not exist");
  const SettingsProblem& first = checked.problems.empty() ? variables.front() : checked.problems.front();
  const std::string place = first.line > 0 ? first.file + ":" + std::to_string(first.line) : first.file;
  return agent_topic("configuration", RowState::problem,
                     std::to_string(problems) + (problems == 1 ? " problem: " : " problems, first: ") +
                         place + ": " + first.what,
                     "an agent starts", "autopilot config check");
}

// The version in the metrics of an agent: autopilot_build_info{version="1.2",...} 1
std::string version_in(std::string_view metrics) {
  constexpr std::string_view kFamily = "\nautopilot_build_info{";
  constexpr std::string_view kLabel = "version=\"";
  const std::size_t family = metrics.find(kFamily);
  if (family == std::string_view::npos) return {};
  const std::string_view line = metrics.substr(family + 1, metrics.find('\n', family + 1) - family - 1);
  const std::size_t label = line.find(kLabel);
  if (label == std::string_view::npos) return {};
  const std::string_view rest = line.substr(label + kLabel.size());
  return std::string(rest.substr(0, rest.find('"')));
}

struct AnsweringAgent {
  std::string place;
  std::string version;  // empty: not reported
  NodeSnapshot node;
};

DoctorRow agent_row(const AnsweringAgent& agent, const Examined& examined) {
  const std::string own_version(logging::build_info().version);
  std::string what = "answers at " + agent.place;
  if (!agent.version.empty()) what += ", version " + agent.version;
  if (agent.node.boot_id != examined.machine.boot_id)
    return agent_topic("agent", RowState::problem,
                       what + "; it watches another machine (" + agent.node.node + ")",
                       "the state of this machine", "autopilot agent");
  const Coverage& coverage = agent.node.coverage;
  what += "; " + std::to_string(coverage.looked) + " of " + std::to_string(coverage.of) + " checks ran";
  if (!agent.version.empty() && agent.version != own_version)
    return agent_topic("agent", RowState::limited, what + "; this program is version " + own_version,
                       "the same checks and messages in both", "sudo systemctl restart autopilot");
  return agent_topic("agent", RowState::ok, std::move(what));
}

// What the agent itself reports as limited.
void add_reported_rows(const AnsweringAgent& agent, std::vector<DoctorRow>& rows) {
  const SelfStatus& self = agent.node.self;
  if (!agent.node.coverage.missing_rights.empty())
    rows.push_back(agent_topic(
        "agent permissions", RowState::limited,
        "the agent lacks " + joined(agent.node.coverage.missing_rights),
        std::to_string(agent.node.coverage.of - agent.node.coverage.looked) + " checks that could not run",
        "sudo systemctl edit autopilot: AmbientCapabilities= (docs/privileges.md)"));
  if (!self.journal_problem.empty())
    rows.push_back(agent_topic("agent journal", RowState::problem, self.journal_problem,
                               "incidents survive a restart", "journalctl -u autopilot"));
  if (self.configuration_refused > 0)
    rows.push_back(agent_topic("agent settings", RowState::limited,
                               "the agent refused a changed configuration and keeps the previous one",
                               "the changes take effect", "autopilot config check"));
  if (self.helpers_stuck > 0)
    rows.push_back(agent_topic("agent helpers", RowState::problem,
                               std::to_string(self.helpers_stuck) + " helper processes hang in the kernel",
                               "answers of their devices", "autopilot check"));
  if (self.cluster && !self.cluster->problem.empty())
    rows.push_back(agent_topic("Kubernetes API", RowState::problem, self.cluster->problem,
                               "label, conditions and report of this node", "docs/kubernetes.md"));
}

// Whether an agent answers.
bool add_agent(const Examined& examined, const std::string& socket, std::vector<DoctorRow>& rows) {
  const auto found = find_agent(socket);
  if (!found) {
    rows.push_back(agent_topic("agent", RowState::problem, found.error().what));
    return false;
  }
  const AgentClient client(found->target);
  auto node = client.node();
  if (!node) {
    rows.push_back(agent_topic("agent", RowState::limited,
                               "no agent answers at " + net::to_string(found->target),
                               "incidents, growth of counters between checks, the API and metrics",
                               "sudo systemctl enable --now autopilot, or: autopilot agent"));
    return false;
  }
  const AnsweringAgent agent{net::to_string(found->target), version_in(client.get("/metrics").value_or("")),
                             *std::move(node)};
  rows.push_back(agent_row(agent, examined));
  add_reported_rows(agent, rows);
  return true;
}

// Properties of the unit; empty: systemd does not run here.
std::map<std::string, std::string> read_unit() {
  std::map<std::string, std::string> properties;
  const auto variables = host::own_environment();
  const auto program = host::find_program("systemctl", variables);
  if (!program) return properties;
  host::ChildRunner runner;
  const auto ended = runner.run(
      {*program,
       {"show", "autopilot.service", "--property=LoadState,ActiveState,SubState,UnitFileState,Result"},
       variables},
      host::SystemClock{}.now().mono + kPatienceOfSystemctl);
  if (!ended || ended->end != host::ChildEnd::exited || ended->status.code != 0) return properties;
  for (const std::string_view line : split(ended->output, '\n'))
    if (const std::size_t equals = line.find('='); equals != std::string_view::npos)
      properties.emplace(line.substr(0, equals), line.substr(equals + 1));
  return properties;
}

DoctorRow service_row() {
  const auto unit = read_unit();
  const std::string load = variable(unit, "LoadState");
  const std::string active = variable(unit, "ActiveState");
  if (unit.empty()) return agent_topic("service", RowState::not_applicable, "systemd does not answer here");
  if (load != "loaded")
    return agent_topic("service", RowState::not_applicable, "autopilot.service is not installed");
  const std::string what = "autopilot.service: " + active + ", " + variable(unit, "SubState") + ", " +
                           variable(unit, "UnitFileState");
  if (active == "active") return agent_topic("service", RowState::ok, what);
  if (active == "failed")
    return agent_topic("service", RowState::problem, what + " (" + variable(unit, "Result") + ")",
                       "the agent runs, also after a reboot", "journalctl -u autopilot -n 20");
  return agent_topic("service", RowState::limited, what, "the agent runs, also after a reboot",
                     "sudo systemctl enable --now autopilot");
}

// "4711MiB"
std::string whole_mib(std::uint64_t bytes) {
  constexpr std::uint64_t kMib = std::uint64_t{1} << 20;
  return std::to_string(bytes / kMib) + "MiB";
}

// The folder itself, or the nearest folder above that exists.
std::filesystem::path existing_folder(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::filesystem::path next = folder;
  while (!std::filesystem::exists(next, ignored) && next.has_parent_path() && next != next.parent_path())
    next = next.parent_path();
  return next;
}

// Of the folder where an agent of this user keeps its state.
DoctorRow disk_row(const config::Config& settings, bool has_agent) {
  const std::filesystem::path folder = existing_folder(settings.state_dir);
  std::error_code error;
  const auto space = std::filesystem::space(folder, error);
  if (error) return agent_topic("disk", RowState::problem, folder.string() + ": " + error.message());
  const std::uint64_t wanted =
      settings.journal.bytes + (settings.history.enabled ? settings.history.bytes : 0);
  std::string what = settings.state_dir + ": " + whole_mib(space.available) + " available, " +
                     config::format_size(wanted) + " used at most";
  if (::access(folder.c_str(), W_OK) != 0 && !has_agent)
    return agent_topic("disk", RowState::limited, what + "; this user has no permission to write there",
                       "an agent of this user keeps its incidents", "state_dir in the configuration");
  if (space.available < wanted)
    return agent_topic("disk", RowState::limited, std::move(what),
                       "the journal and the history reach their age limit",
                       "journal.bytes and history.bytes in the configuration, or free space");
  return agent_topic("disk", RowState::ok, std::move(what));
}

}  // namespace

void add_agent_rows(const Examined& examined, const std::string& socket, std::vector<DoctorRow>& rows) {
  rows.push_back(configuration_row());
  if (!examined.choice.is_this_machine()) return;
  const bool has_agent = add_agent(examined, socket, rows);
  rows.push_back(service_row());
  rows.push_back(disk_row(examined.settings, has_agent));
}

}  // namespace autopilot::cli
