// SPDX-License-Identifier: Apache-2.0
#include "golden/cause_story.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include "checks/kernel_log/decode.hpp"
#include "checks/kernel_log/record_effects.hpp"
#include "core/yaml_text.hpp"
#include "host/open_host.hpp"
#include "incidents/node_state.hpp"
#include "runtime/conclude.hpp"
#include "tests/paths/paths.hpp"

namespace autopilot::golden {
namespace {

using namespace std::chrono_literals;

// Lines that come together are read together, as the agent does when it is woken by the first of them.
constexpr double kTogetherSeconds = 1.0;
// Times of full runs after an event.
constexpr Duration kFullLooks[] = {5s, 35s, 95s};
constexpr Duration kAfterReboot[] = {0s, 30s, 60s, 120s};
// The ring of a kernel forgets.
constexpr std::size_t kRing = 40'000;

class StepClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return now_; }
  void set(Instant now) { now_ = now; }

 private:
  Instant now_;
};

// The text between the word and the next comma.
std::optional<std::string> between(const std::string& text, const std::string& word) {
  const auto at = text.find(word);
  if (at == std::string::npos) return std::nullopt;
  const auto begin = at + word.size();
  return text.substr(begin, text.find(',', begin) - begin);
}

std::vector<simulator::LogRecord> storm_after(const simulator::LogRecord& cause, const Storm& storm,
                                              std::size_t count) {
  const std::string own = between(cause.text, "pid=").value_or("1");
  const std::string name = between(cause.text, "name=").value_or("python3");
  std::vector<simulator::LogRecord> lines;
  lines.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    simulator::LogRecord line;
    line.priority = 4;
    line.seconds =
        cause.seconds + 0.05 + to_seconds(storm.over) * static_cast<double>(i) / static_cast<double>(count);
    std::string gpu = storm.gpus[i % storm.gpus.size()].substr(4);
    gpu.resize(gpu.size() - 2);
    line.text = "NVRM: Xid (PCI:";
    line.text += gpu + "): " + std::to_string(storm.code);
    line.text += ", pid=" + (storm.pid == 0 ? own : std::to_string(storm.pid)) + ", name=" + name;
    line.text += ", Ch " + std::to_string(10'000'000 + i).substr(0, 8);
    lines.push_back(std::move(line));
  }
  return lines;
}

void add_storm(std::vector<simulator::LogRecord>& log, const Storm& storm, double from) {
  std::vector<simulator::LogRecord> causes;
  for (const auto& record : log)
    if (record.seconds >= from) causes.push_back(record);
  for (std::size_t i = 0; i < causes.size(); ++i) {
    const std::size_t share = storm.lines / causes.size() + (i < storm.lines % causes.size() ? 1 : 0);
    auto lines = storm_after(causes[i], storm, share);
    log.insert(log.end(), std::make_move_iterator(lines.begin()), std::make_move_iterator(lines.end()));
  }
}

// One boot of the machine of a scenario.
class Boot {
 public:
  Boot(const simulator::Simulation& simulation, const std::optional<Storm>& storm, MachineBench& bench)
      : simulation_(simulation), bench_(bench), begin_(simulation.pristine().uptime_seconds()) {
    log_ = simulation.at(std::max(Duration{1}, simulation.end() + 10min)).log;
    for (std::size_t i = 1; i < log_.size(); ++i)
      if (log_[i].lost > 0) log_[i].seconds = log_[i - 1].seconds;
    if (storm) add_storm(log_, *storm, begin_);
    std::stable_sort(log_.begin(), log_.end(),
                     [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
    std::uint64_t next = 0;
    for (auto& record : log_) {
      if (record.lost > 0) {
        next += record.lost;
        continue;
      }
      record.sequence = next++;
    }
  }

  // Moments at which something has just happened, since the scenario began.
  [[nodiscard]] std::vector<Duration> moments() const {
    std::set<Duration> at;
    for (const auto& record : log_)
      if (record.seconds > begin_) at.insert(seconds_of(record.seconds - begin_));
    for (const auto& fault : simulation_.faults()) {
      at.insert(fault.at);
      if (fault.until) at.insert(*fault.until);
    }
    std::vector<Duration> moments;
    Duration first{0};
    for (const Duration when : at) {
      if (!moments.empty() && when - first < seconds_of(kTogetherSeconds)) {
        moments.back() = when;
        continue;
      }
      moments.push_back(when);
      first = when;
    }
    return moments;
  }

  [[nodiscard]] std::string boot_id() const {
    const YamlNode* id = simulation_.pristine().machine.find("boot_id");
    return id == nullptr ? "" : id->text;
  }
  [[nodiscard]] Instant now() const { return clock_->now(); }

  Status go_to(Duration when) {
    simulator::Machine machine = simulation_.at(when);
    const double until = begin_ + to_seconds(when) + 1e-6;
    machine.log.clear();
    for (const auto& record : log_)
      if (record.seconds <= until) machine.log.push_back(record);
    if (machine.log.size() > kRing)
      machine.log.erase(machine.log.begin(), machine.log.end() - static_cast<std::ptrdiff_t>(kRing));
    TRY_STATUS(bench_.put(machine));
    clock_->set(TRY(instant_of(machine)));
    if (!opened_.host) {
      host::OpenOptions options;
      options.helper_program = paths::program("autopilot");
      options.nvml_library = paths::program("libnvidia-ml-sim.so");
      options.clock = clock_;
      opened_ = TRY(host::open_tree_host(bench_.directory(), options));
    }
    return {};
  }
  [[nodiscard]] const host::Host& host() const { return *opened_.host; }
  [[nodiscard]] const std::vector<simulator::LogRecord>& log() const { return log_; }

 private:
  static Duration seconds_of(double seconds) {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  }

  const simulator::Simulation& simulation_;
  MachineBench& bench_;
  double begin_;
  std::vector<simulator::LogRecord> log_;
  std::shared_ptr<StepClock> clock_ = std::make_shared<StepClock>();
  host::OpenedHost opened_;
};

class Agent {
 public:
  explicit Agent(const std::string& boot_id)
      : state_([](std::string_view reason) { return catalog::builtin().reason(reason); },
               catalog::builtin().causes(), boot_id) {}

  void restore(const incidents::SavedState& saved, Instant now) { note(state_.restore(saved, now)); }
  [[nodiscard]] incidents::SavedState save() const { return state_.save(); }

  void look(const Boot& boot, bool at_everything) {
    for (const checks::Check& check : checks::builtin_checks()) {
      if (!at_everything && !memories_[check.info.id].reads_kernel_log) continue;
      const Findings said = look(boot, check);
      if (runtime::needs_confirmation(said, state_.findings(check.info.id), catalog::builtin()))
        static_cast<void>(look(boot, check));
      for (const Finding& finding : state_.findings(check.info.id))
        if (finding.health == Health::degraded || finding.health == Health::failed)
          node_ = worse(node_, finding.health);
    }
    for (const Incident& incident : state_.incidents())
      keep(incident);
  }

  [[nodiscard]] const std::map<std::string, ToldIncident>& told() const { return told_; }
  [[nodiscard]] Health node() const { return node_; }
  void go_on_from(const Agent& before) {
    told_ = before.told_;
    node_ = before.node_;
  }

 private:
  struct Memory {
    History history;
    std::uint64_t kernel_log_next = 0;
    bool reads_kernel_log = false;
  };

  // Findings of one run of a check.
  Findings look(const Boot& boot, const checks::Check& check) {
    Memory& memory = memories_[check.info.id];
    const Instant now = boot.now();
    auto observed = check.observe(boot.host(), {now, now.mono + check.info.deadline, memory.kernel_log_next});
    Findings signs;
    if (observed) {
      Observations news;
      for (const Observation& record : observed->observations)
        if (record.sequence && *record.sequence >= memory.kernel_log_next) news.push_back(record);
      signs = checks::symptoms_in(news, catalog::builtin());
      for (const checks::Retraction& over : checks::retractions_in(news, catalog::builtin()))
        note(state_.taken_back(over.gpu, over.code, now));
      memory.reads_kernel_log = observed->kernel_log_next.has_value();
      memory.kernel_log_next = observed->kernel_log_next.value_or(memory.kernel_log_next);
    }
    const bool looked = observed.has_value();
    Findings said = runtime::conclude(check, std::move(observed), check.info.window, now, catalog::builtin(),
                                      Expectation{}, memory.history);
    note(state_.complete_round(check.info.id, now, said,
                               looked ? memory.history.latest().all() : Observations{}, signs));
    return said;
  }

  static Health worse(Health a, Health b) { return b == Health::failed ? b : a == Health::failed ? a : b; }

  void keep(const Incident& incident) {
    ToldIncident& told = told_[incident.id];
    told.last = incident;
    if (incident.health != Health::healthy) told.worst = worse(told.worst, incident.health);
  }
  void note(const incidents::Changes& changes) {
    for (const Incident& incident : changes.incidents) {
      keep(incident);
      if (incident.closed_by.starts_with("merged_into:")) told_.erase(incident.id);
    }
  }

  incidents::NodeState state_;
  std::map<std::string, Memory> memories_;
  std::map<std::string, ToldIncident> told_;
  Health node_ = Health::healthy;
};

Status live(Agent& agent, Boot& boot) {
  const auto moments = boot.moments();
  TRY_STATUS(boot.go_to(Duration{0}));
  agent.look(boot, true);
  for (std::size_t i = 0; i < moments.size(); ++i) {
    TRY_STATUS(boot.go_to(moments[i]));
    agent.look(boot, false);
    for (const Duration later : kFullLooks) {
      if (i + 1 < moments.size() && moments[i + 1] <= moments[i] + later) break;
      TRY_STATUS(boot.go_to(moments[i] + later));
      agent.look(boot, true);
    }
  }
  return {};
}

Result<std::vector<ToldLine>> decode_lines(const std::string& scenario, const simulator::Machine& machine) {
  const std::string file = scenario + "/kmsg.jsonl";
  const std::string text = TRY(simulator::read_text(file, std::size_t{1} << 24));
  const auto records = TRY(simulator::parse_log(text, file));
  const checks::Decoder decoder(catalog::builtin());
  const Instant begin = TRY(instant_of(machine));
  const double uptime = machine.uptime_seconds();
  std::vector<ToldLine> lines;
  for (const simulator::LogRecord& record : records) {
    host::KernelRecord kernel;
    kernel.text = record.text;
    const auto since =
        std::chrono::duration_cast<Duration>(std::chrono::duration<double>(record.seconds - uptime));
    lines.push_back({decoder.decode(kernel), begin.wall + since});
  }
  return lines;
}

}  // namespace

Result<Story> tell(const std::string& scenario, const std::optional<Storm>& storm, MachineBench& bench) {
  const auto source = TRY(simulator::open_source(scenario));
  Boot boot(source.simulation, storm, bench);
  Agent agent(boot.boot_id());
  TRY_STATUS(live(agent, boot));
  Story story;
  story.lines = TRY(decode_lines(scenario, source.simulation.pristine()));
  std::map<std::string, ToldIncident> told = agent.told();
  story.node = agent.node();
  if (std::error_code error; std::filesystem::is_directory(scenario + "/reboot", error)) {
    const auto next = TRY(simulator::open_source(scenario + "/reboot"));
    Boot after(next.simulation, std::nullopt, bench);
    TRY_STATUS(after.go_to(Duration{0}));
    Agent again(after.boot_id());
    again.go_on_from(agent);
    again.restore(agent.save(), after.now());
    for (const Duration when : kAfterReboot) {
      TRY_STATUS(after.go_to(when));
      again.look(after, true);
    }
    told = again.told();
    story.node = again.node();
  }
  for (auto& [id, incident] : told)
    story.incidents.push_back(std::move(incident));
  return story;
}

}  // namespace autopilot::golden
