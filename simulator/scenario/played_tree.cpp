// SPDX-License-Identifier: Apache-2.0
#include "scenario/played_tree.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <unistd.h>

#include "core/yaml_text.hpp"
#include "tree/tree_store.hpp"

namespace autopilot::simulator {
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
