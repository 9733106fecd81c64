// SPDX-License-Identifier: Apache-2.0
#include "host/machine_tree/machine_tree.hpp"

#include <cerrno>
#include <functional>
#include <set>
#include <sys/stat.h>
#include <vector>

#include "core/yaml.hpp"
#include "host/files/tree_file.hpp"
#include "host/machine_tree/active_tests.hpp"
#include "host/machine_tree/ethernet_port.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kSchema = "autopilot.machine/v1";

std::optional<Errc> read_error_code(YamlMap& map) {
  return map.choice<Errc>("error", parse_errc, {"unavailable", "unsupported", "timed_out", "denied"});
}

// An integer that fits T.
template <class T>
void read_number(YamlMap& map, std::string_view key, T& target) {
  const auto value = map.integer(key);
  if (!value) return;
  if (std::in_range<T>(*value))
    target = static_cast<T>(*value);
  else
    map.problem(map.line_of(key), "`" + std::string(key) + "` is out of range");
}

TreeUsage read_usage(YamlMap map) {
  TreeUsage usage;
  read_number(map, "total_bytes", usage.usage.total_bytes);
  read_number(map, "free_bytes", usage.usage.free_bytes);
  read_number(map, "available_bytes", usage.usage.available_bytes);
  read_number(map, "total_inodes", usage.usage.total_inodes);
  read_number(map, "free_inodes", usage.usage.free_inodes);
  usage.hangs = map.boolean("hangs").value_or(false);
  usage.error = read_error_code(map);
  return usage;
}

TreeTimeSync read_time_sync(YamlMap map) {
  TreeTimeSync sync;
  sync.state.synchronised = map.boolean("synchronised").value_or(false);
  sync.state.clock_error = map.boolean("clock_error").value_or(false);
  read_number(map, "offset_ns", sync.state.offset_ns);
  read_number(map, "max_error_us", sync.state.max_error_us);
  read_number(map, "estimated_error_us", sync.state.estimated_error_us);
  sync.error = read_error_code(map);
  return sync;
}

TreeNvmeHealth read_nvme(YamlMap map) {
  TreeNvmeHealth nvme;
  NvmeHealth& health = nvme.health;
  read_number(map, "critical_warning", health.critical_warning);
  read_number(map, "temperature_celsius", health.temperature_celsius);
  read_number(map, "available_spare_percent", health.available_spare_percent);
  read_number(map, "spare_threshold_percent", health.spare_threshold_percent);
  read_number(map, "percentage_used", health.percentage_used);
  health.media_errors = map.number("media_errors").value_or(0);
  health.error_log_entries = map.number("error_log_entries").value_or(0);
  health.unsafe_shutdowns = map.number("unsafe_shutdowns").value_or(0);
  health.power_on_hours = map.number("power_on_hours").value_or(0);
  nvme.error = read_error_code(map);
  return nvme;
}

NameServerAnswer read_name_server(const std::string& address, YamlMap map) {
  constexpr double nanoseconds = 1e6;  // in a millisecond
  constexpr double most_milliseconds = 1e6;
  NameServerAnswer answer;
  answer.address = address;
  const auto outcome = map.choice<NameServerOutcome>(
      "outcome", parse_name_server_outcome,
      {"answered", "helpless", "silent", "closed", "malformed", "unreachable", "denied"});
  if (outcome)
    answer.outcome = *outcome;
  else if (!map.has("outcome"))
    map.problem(map.line(), address + ": `outcome` is missing");
  read_number(map, "code", answer.code);
  const double milliseconds = map.number("milliseconds").value_or(0);
  if (milliseconds >= 0 && milliseconds <= most_milliseconds)
    answer.after = Duration{static_cast<Duration::rep>(milliseconds * nanoseconds)};
  else
    map.problem(map.line_of("milliseconds"), "`milliseconds` is out of range");
  return answer;
}

TreeObstacle read_obstacle(const std::string& path, YamlMap map) {
  TreeObstacle obstacle;
  obstacle.hangs = map.boolean("hangs").value_or(false);
  obstacle.error = read_error_code(map);
  if (!path.starts_with('/')) map.problem(map.line(), "`" + path + "` is not an absolute path");
  if (obstacle.hangs == obstacle.error.has_value())
    map.problem(map.line(), path + ": needs either `hangs: true` or `error`");
  return obstacle;
}

bool read_flag(YamlMap& map, std::string_view key) {
  const auto value = map.boolean(key);
  if (!map.has(key)) map.problem(map.line(), "machine: `" + std::string(key) + "` is missing");
  return value.value_or(false);
}

void read_clock(YamlMap& map, MachineTree& tree) {
  const std::string time = map.required_word("time");
  if (const auto parsed = parse_time(time))
    tree.time = *parsed;
  else if (!time.empty())
    map.problem(map.line_of("time"), "`time` must be a time such as 2026-01-15T08:00:00Z");
  if (const auto uptime = map.duration("uptime"))
    tree.uptime = *uptime;
  else if (!map.has("uptime"))
    map.problem(map.line(), "machine: `uptime` is missing");
}

// True for "broken".
bool read_driver_library(YamlMap& map) {
  const auto word = map.word("driver_library");
  if (word && *word != "broken" && *word != "sound")
    map.problem(map.line_of("driver_library"), "`driver_library` must be sound or broken");
  return word == "broken";
}

MachineTree read_tree(const YamlNode& document, YamlProblems& problems) {
  MachineTree tree;
  YamlMap map(document, "machine", problems);
  const std::string schema = map.required_word("schema");
  if (!schema.empty() && schema != kSchema)
    map.problem(map.line_of("schema"), "`schema` must be " + std::string(kSchema));
  tree.node = map.required_word("node");
  tree.boot_id = map.required_word("boot_id");
  read_clock(map, tree);
  tree.simulated = read_flag(map, "simulated");
  tree.live = map.boolean("live").value_or(false);
  tree.description = map.word("description").value_or("");
  if (const YamlNode* mounts = map.map("filesystems"))
    for (const YamlMember& member : mounts->members)
      tree.filesystems[member.key] = read_usage(YamlMap(member.value, "filesystem", problems));
  if (const YamlNode* sync = map.map("time_sync"))
    tree.time_sync = read_time_sync(YamlMap(*sync, "time_sync", problems));
  if (const YamlNode* controllers = map.map("nvme"))
    for (const YamlMember& member : controllers->members)
      tree.nvme[member.key] = read_nvme(YamlMap(member.value, "nvme", problems));
  if (const YamlNode* servers = map.map("name_servers"))
    for (const YamlMember& member : servers->members)
      tree.name_servers[member.key] =
          read_name_server(member.key, YamlMap(member.value, "name server", problems));
  if (const YamlNode* ports = map.map("ethernet_ports"))
    for (const YamlMember& member : ports->members)
      tree.ethernet_ports.emplace(member.key,
                                  read_ethernet_port(YamlMap(member.value, "Ethernet port", problems)));
  if (const YamlNode* tests = map.map("tests"))
    for (const YamlMember& member : tests->members)
      tree.tests.emplace(member.key, read_active_test(YamlMap(member.value, "test", problems),
                                                      {tree.time, MonoTime{tree.uptime}}));
  if (const YamlNode* probes = map.map("probes"))
    for (const YamlMember& member : probes->members)
      tree.probes.emplace(member.key, read_probe(YamlMap(member.value, "probe", problems)));
  tree.driver_library_broken = read_driver_library(map);
  if (const YamlNode* paths = map.map("unreadable"))
    for (const YamlMember& member : paths->members)
      tree.unreadable[member.key] = read_obstacle(member.key, YamlMap(member.value, "unreadable", problems));
  return tree;
}

}  // namespace

Result<MachineTree> parse_machine_tree(std::string_view text, const std::string& directory) {
  const std::string file = directory + "/machine.yaml";
  YamlProblems problems(file);
  const YamlNode document = parse_yaml(text, problems);
  TRY_STATUS(problems.status());
  if (document.find("base") != nullptr)
    return fail(Errc::unsupported, file +
                                       ": is a source with `base:`; expand it first: autopilot-sim create " +
                                       directory + " --out DIR");
  MachineTree tree = read_tree(document, problems);
  TRY_STATUS(problems.status());
  tree.directory = directory;
  return tree;
}

Result<std::unique_ptr<MachineTreeFile>> MachineTreeFile::open(const std::string& directory) {
  std::unique_ptr<MachineTreeFile> file(new MachineTreeFile(directory));
  TRY(file->read());
  return file;
}

MachineTreeFile::Version MachineTreeFile::version_of(const struct stat& status) {
  return {status.st_ino, status.st_size, status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec};
}

Result<std::shared_ptr<const MachineTree>> MachineTreeFile::read() const {
  const std::string path = directory_ + "/machine.yaml";
  const std::scoped_lock lock(mutex_);
  struct stat status {};
  // Asked before everything that is read in the tree.
  if (tree_ != nullptr && ::stat(path.c_str(), &status) == 0 && version_of(status) == version_) return tree_;
  const Fd file = TRY(open_tree_file(path));
  if (::fstat(file.get(), &status) != 0) return fail_errno(errno, path);
  const std::string text = TRY(read_tree_file(file, path, kMaxBytes));
  tree_ = std::make_shared<const MachineTree>(TRY(parse_machine_tree(text, directory_)));
  version_ = version_of(status);
  return tree_;
}

}  // namespace autopilot::host
