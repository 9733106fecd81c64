// SPDX-License-Identifier: Apache-2.0
#include "scenario/simulation.hpp"

#include <algorithm>
#include <filesystem>

#include "core/yaml_text.hpp"
#include "machine/description.hpp"
#include "tree/tree_store.hpp"

namespace autopilot::simulator {
namespace {

constexpr std::string_view kSchema = "autopilot.scenario/v1";

void read_timeline(const YamlNode& list, Scenario& scenario, YamlProblems& problems) {
  for (const YamlNode& item : list.items) {
    Fault fault = read_fault(item, problems);
    if (!fault.id.empty() && find_fault_type(fault.id) == nullptr)
      problems.add(item.line,
                   "unknown fault `" + fault.id.substr(0, 80) + "` (autopilot-sim faults lists them)");
    if (fault.until && *fault.until <= fault.at)
      problems.add(item.line, "`until` is before the start of the fault");
    scenario.timeline.push_back(std::move(fault));
  }
}

}  // namespace

Result<Scenario> parse_scenario(std::string_view text, const std::string& file) {
  YamlProblems problems(file);
  const YamlNode document = parse_yaml(text, problems);
  TRY_STATUS(problems.status());
  Scenario scenario;
  {
    YamlMap map(document, "scenario", problems);
    const std::string schema = map.required_word("schema");
    if (!schema.empty() && schema != kSchema)
      map.problem(map.line_of("schema"), "`schema` must be " + std::string(kSchema));
    scenario.title = map.word("title").value_or("");
    scenario.machine = map.word("machine").value_or("");
    if (const YamlNode* timeline = map.list("timeline")) read_timeline(*timeline, scenario, problems);
    if (const YamlNode* node = map.map("expect")) {
      YamlMap expect(*node, "expect", problems);
      scenario.expected =
          expect.choice<Verdict>("verdict", parse_verdict, {"PASS", "WARN", "EVICT", "TESTING"})
              .value_or(Verdict::none);
    }
  }
  TRY_STATUS(problems.status());
  return scenario;
}

namespace {

constexpr std::size_t kMaxScenarioBytes = std::size_t{1} << 20;

// Moves the machine's clocks; the boot time is unchanged.
void move_clock(Machine& machine, Duration elapsed) {
  const YamlNode* time = machine.machine.find("time");
  const auto wall = time == nullptr ? std::nullopt : parse_time(time->text);
  const YamlNode* uptime = machine.machine.find("uptime");
  const auto up = uptime == nullptr ? std::nullopt : parse_duration(uptime->text);
  if (!wall || !up || elapsed == Duration{0}) return;
  yaml_member(machine.machine, "time") = yaml_word(format_time(*wall + elapsed));
  yaml_member(machine.machine, "uptime") = yaml_word(format_duration(*up + elapsed));
}

}  // namespace

Status Simulation::add(const Fault& fault) {
  if (faults_.size() >= kMaxFaults)
    return fail(Errc::exhausted, "more than " + std::to_string(kMaxFaults) + " faults");
  faults_.push_back(TRY(resolve_fault(fault, pristine_)));
  return {};
}

Status Simulation::recover(std::string_view id, Duration elapsed) {
  bool found = false;
  for (Fault& fault : faults_) {
    if (fault.id != id || fault.at > elapsed || (fault.until && *fault.until <= elapsed)) continue;
    fault.until = std::max(elapsed, fault.at + Duration{1});
    found = true;
  }
  if (!found) return fail(Errc::not_found, "no active fault `" + std::string(id) + "`");
  return {};
}

Machine Simulation::at(Duration elapsed) const {
  Machine machine = pristine_;
  const std::size_t before = machine.log.size();
  std::vector<Fault> begun;
  for (const Fault& fault : faults_)
    if (fault.at <= elapsed) begun.push_back(fault);
  std::stable_sort(begun.begin(), begun.end(), [](const Fault& a, const Fault& b) { return a.at < b.at; });
  for (const Fault& fault : begun)
    apply_fault(fault, elapsed, machine);
  std::stable_sort(machine.log.begin() + static_cast<std::ptrdiff_t>(before), machine.log.end(),
                   [](const LogRecord& a, const LogRecord& b) { return a.seconds < b.seconds; });
  move_clock(machine, elapsed);
  return machine;
}

void Simulation::go_live(Instant now, Duration elapsed) {
  yaml_member(pristine_.machine, "live") = yaml_flag(true);
  yaml_member(pristine_.machine, "time") = yaml_word(format_time(now.wall - elapsed));
  yaml_member(pristine_.machine, "uptime") =
      yaml_word(format_duration(now.mono.time_since_epoch() - elapsed));
}

std::optional<Duration> Simulation::live_elapsed(MonoTime now) const {
  const YamlNode* live = pristine_.machine.find("live");
  const YamlNode* uptime = pristine_.machine.find("uptime");
  const auto begin = uptime == nullptr ? std::nullopt : parse_duration(uptime->text);
  if (live == nullptr || live->text != "true" || !begin) return std::nullopt;
  return now.time_since_epoch() - *begin;
}

Duration Simulation::end() const {
  Duration end{0};
  for (const Fault& fault : faults_)
    end = std::max({end, fault.at, fault.until.value_or(fault.at)});
  return end;
}

bool Simulation::is_moving(Duration elapsed) const {
  return std::any_of(faults_.begin(), faults_.end(), [&](const Fault& fault) {
    const FaultType* type = find_fault_type(fault.id);
    return type != nullptr && type->moves && fault.at <= elapsed && (!fault.until || elapsed < *fault.until);
  });
}

namespace {

Result<SimulationSource> open_directory(const std::string& directory);

Result<SimulationSource> open_builtin(const std::string& id) {
  return SimulationSource{Simulation(TRY(builtin_machine(id))), {}, id};
}

Result<SimulationSource> open_scenario(const std::string& file) {
  // The operator names the path, which can be a link.
  std::error_code unresolved;
  const auto real = std::filesystem::weakly_canonical(file, unresolved);
  const std::string text = TRY(read_text(unresolved ? file : real.string(), kMaxScenarioBytes));
  const Scenario scenario = TRY(parse_scenario(text, file));
  if (scenario.machine.empty()) return fail(Errc::malformed, file + ":1: `machine` is missing");
  const auto beside = std::filesystem::path(file).parent_path() / scenario.machine;
  std::error_code error;
  const bool is_directory = std::filesystem::is_directory(beside, error);
  SimulationSource source =
      TRY(is_directory ? open_directory(beside.string()) : open_builtin(scenario.machine));
  for (const Fault& fault : scenario.timeline)
    TRY_STATUS(source.simulation.add(fault));
  source.title = scenario.title;
  return source;
}

Result<SimulationSource> open_directory(const std::string& directory) {
  TreeSource tree = TRY(read_tree(directory));
  SimulationSource source{Simulation(std::move(tree.machine)), std::move(tree.rounds), directory};
  YamlProblems problems(tree.file);
  std::vector<Fault> faults;
  for (const YamlNode& item : tree.faults.items)
    faults.push_back(read_fault(item, problems));
  TRY_STATUS(problems.status());
  const std::string scenario = directory + "/scenario.yaml";
  if (std::error_code error; std::filesystem::exists(scenario, error)) {
    const std::string text = TRY(read_text(scenario, kMaxScenarioBytes));
    for (Fault& fault : TRY(parse_scenario(text, scenario)).timeline)
      faults.push_back(std::move(fault));
  }
  for (const Fault& fault : faults) {
    auto added = source.simulation.add(fault);
    if (!added) return fail(added.error().code, tree.file + ": " + added.error().what);
  }
  return source;
}

}  // namespace

Result<SimulationSource> open_source(const std::string& source) {
  std::error_code error;
  if (std::filesystem::is_directory(source, error)) return open_directory(source);
  if (source.ends_with(".yaml") || source.ends_with(".yml")) return open_scenario(source);
  return open_builtin(source);
}

}  // namespace autopilot::simulator
