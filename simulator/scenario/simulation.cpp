// SPDX-License-Identifier: Apache-2.0
#include "scenario/simulation.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <unistd.h>

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

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxArchiveBytes = std::size_t{256} << 20;
constexpr std::string_view kStateSchema = "autopilot.simulation/v1";

std::string state_file(const std::string& directory) {
  return directory + "/simulation.yaml";
}

std::string pristine_file(const std::string& directory) {
  return directory + "/.pristine.json";
}

// written: the tree on disk includes these faults at that time.
std::string state_text(const std::vector<Fault>& list, Duration elapsed, bool written) {
  YamlNode state = yaml_map();
  yaml_member(state, "schema") = yaml_word(kStateSchema);
  yaml_member(state, "elapsed") = yaml_word(format_duration(elapsed));
  yaml_member(state, "written") = yaml_flag(written);
  YamlNode& faults = yaml_member(state, "faults");
  faults = yaml_list();
  for (const Fault& fault : list)
    faults.items.push_back(fault_node(fault));
  return to_yaml(state);
}

struct State {
  Duration elapsed{0};
  bool written = false;
  std::vector<Fault> faults;
};

Instant real_now() {
  return {std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()),
          std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now())};
}

Result<State> parse_state(const std::string& text, const std::string& file) {
  YamlProblems problems(file);
  const YamlNode document = parse_yaml(text, problems);
  TRY_STATUS(problems.status());
  State state;
  {
    YamlMap map(document, "simulation", problems);
    if (map.required_word("schema") != kStateSchema) map.problem(map.line(), "unexpected `schema`");
    state.elapsed = map.duration("elapsed").value_or(Duration{0});
    state.written = map.boolean("written").value_or(false);
    if (const YamlNode* list = map.list("faults"))
      for (const YamlNode& item : list->items)
        state.faults.push_back(read_fault(item, problems));
  }
  TRY_STATUS(problems.status());
  return state;
}

}  // namespace

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = std::exchange(other.descriptor_, -1);
  return *this;
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<FileLock> FileLock::take(const std::string& path, bool wait) {
  FileLock lock(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (lock.descriptor_ < 0) return fail_errno(errno, path);
  while (::flock(lock.descriptor_, LOCK_EX | (wait ? 0 : LOCK_NB)) != 0) {
    if (errno == EWOULDBLOCK) return fail(Errc::conflict, path + ": locked by another program");
    if (errno != EINTR) return fail_errno(errno, path);
  }
  return lock;
}

Status PlayedTree::create(const std::string& directory, const Simulation& simulation, Duration elapsed) {
  std::error_code error;
  if (fs::exists(directory, error) && !fs::is_empty(directory, error))
    return fail(Errc::conflict, directory + ": exists and is not empty");
  TRY_STATUS(TreeWriter(directory).write(simulation.at(elapsed)));
  TRY_STATUS(write_text(pristine_file(directory), archive_text(simulation.pristine())));
  return write_text(state_file(directory), state_text(simulation.faults(), elapsed, true));
}

Result<PlayedTree> PlayedTree::open(const std::string& directory) {
  const std::string machine = directory + "/machine.yaml";
  if (std::error_code error; !fs::exists(machine, error)) return fail(Errc::not_found, machine);
  FileLock lock = TRY(FileLock::take(directory + "/.lock", true));
  if (std::error_code error; !fs::exists(pristine_file(directory), error)) {
    const Machine recorded = TRY(read_tree(directory)).machine;
    TRY_STATUS(write_text(pristine_file(directory), archive_text(recorded)));
    TRY_STATUS(write_text(state_file(directory), state_text({}, Duration{0}, true)));
  }
  const std::string archive = TRY(read_text(pristine_file(directory), kMaxArchiveBytes));
  PlayedTree tree(directory, std::move(lock),
                  Simulation(TRY(parse_archive(archive, pristine_file(directory)))));
  tree.state_ = TRY(read_text(state_file(directory), kMaxYamlBytes));
  const State state = TRY(parse_state(tree.state_, state_file(directory)));
  tree.elapsed_ = state.elapsed;
  for (const Fault& fault : state.faults)
    TRY_STATUS(tree.simulation_.add(fault));
  tree.writer_ = TreeWriter(
      directory, state.written ? tree.simulation_.at(state.elapsed) : TRY(read_tree(directory)).machine);
  auto player = FileLock::take(directory + "/.player", false);
  tree.is_played_by_other_ = !player;
  return tree;
}

Result<PlayedTree> PlayedTree::open_to_play(const std::string& directory) {
  PlayedTree tree = TRY(open(directory));
  tree.player_ = TRY(FileLock::take(directory + "/.player", false));
  if (tree.simulation_.live_elapsed({})) return tree;
  tree.simulation_.go_live(real_now(), tree.elapsed_);
  TRY_STATUS(write_text(pristine_file(directory), archive_text(tree.simulation_.pristine())));
  return tree;
}

Result<bool> PlayedTree::take_over(Duration now) {
  lock_ = TRY(FileLock::take(directory_ + "/.lock", true));
  std::string text = TRY(read_text(state_file(directory_), kMaxYamlBytes));
  if (text == state_) return false;
  const State state = TRY(parse_state(text, state_file(directory_)));
  const std::vector<Fault>& known = simulation_.faults();
  Simulation changed(simulation_.pristine());
  // A past record would take the sequence number of a record that was already read, so a new fault starts
  // now.
  for (std::size_t i = 0; i < state.faults.size(); ++i) {
    Fault fault = state.faults[i];
    if (i >= known.size()) {
      const Duration late = std::max(Duration{0}, now - fault.at);
      fault.at += late;
      if (fault.until) *fault.until += late;
    } else if (fault.until && fault.until != known[i].until) {
      fault.until = std::max(*fault.until, now);
    }
    TRY_STATUS(changed.add(fault));
  }
  simulation_ = std::move(changed);
  state_ = std::move(text);
  return true;
}

Duration PlayedTree::elapsed() const {
  return std::max(elapsed_, simulation_.live_elapsed(real_now().mono).value_or(elapsed_));
}

Status PlayedTree::save(bool is_written) {
  state_ = state_text(simulation_.faults(), elapsed_, is_written);
  return write_text(state_file(directory_), state_);
}

Status PlayedTree::write(Duration elapsed) {
  if (is_played_by_other_) return save(false);
  TRY_STATUS(writer_.write(simulation_.at(elapsed)));
  elapsed_ = elapsed;
  return save(true);
}

}  // namespace autopilot::simulator
