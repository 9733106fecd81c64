// SPDX-License-Identifier: Apache-2.0
#include "host/machine_tree/machine_tree.hpp"

#include <cerrno>
#include <functional>
#include <set>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <vector>

#include "core/parse.hpp"
#include "core/text.hpp"
#include "core/yaml.hpp"
#include "host/files/tree_file.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kSchema = "autopilot.machine/v1";
constexpr std::string_view kSetByTree = "set by the machine tree";
constexpr std::string_view kError = "error";
constexpr Duration kLongestProbe = std::chrono::hours{1};

std::optional<Errc> read_error_code(YamlMap& map) {
  return map.choice<Errc>(kError, parse_errc, {"unavailable", "unsupported", "timed_out", "denied"});
}

// The error in place of a result.
std::optional<Error> read_answer_error(YamlMap& map) {
  const auto code = map.choice<Errc>(kError, parse_errc,
                                     {"unavailable", "unsupported", "timed_out", "denied", "malformed"});
  return code ? std::optional(Error{*code, std::string(kSetByTree)}) : std::nullopt;
}

// Reads an integer that fits T.
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

// A text without quotes is parsed as a flag or a number if possible.
Value value_of(const YamlNode& node) {
  if (node.quoted) return node.text;
  if (node.text == "true" || node.text == "false") return node.text == "true";
  if (const auto whole = parse_number<std::int64_t>(node.text)) return *whole;
  if (const auto number = parse_number<double>(node.text)) return *number;
  return node.text;
}

// Whether observations have an age: those of `tests` have, those of `probes` are made when the diagnostic
// ends.
enum class Age : unsigned char { some, none };

Observation read_observation(YamlMap map, Instant taken, Age has_age) {
  Observation observation;
  observation.name = map.required_word("name");
  observation.source = map.required_word("source");
  observation.unit = map.word("unit").value_or("");
  observation.missing = map.word("missing").value_or("");
  const std::string subject = map.required_word("subject");
  if (auto parsed = parse_subject(subject))
    observation.subject = *std::move(parsed);
  else if (!subject.empty())
    map.problem(map.line_of("subject"), "`" + subject + "` is not a subject");
  if (const YamlNode* value = map.any("value"); value != nullptr && value->kind == YamlNode::Kind::scalar)
    observation.value = value_of(*value);
  if (observation.value.has_value() != observation.missing.empty())
    map.problem(map.line(), observation.name + ": needs either a `value` or `missing`");
  const Duration age = has_age == Age::some ? map.duration("age").value_or(Duration{0}) : Duration{0};
  observation.time = {taken.wall - age, taken.mono - age};
  if (const YamlNode* attributes = map.map("attributes"))
    for (const YamlMember& member : attributes->members)
      observation.attributes.emplace_back(member.key, value_of(member.value));
  return observation;
}

Observations read_observations(YamlMap& map, const char* key, Instant taken, Age has_age) {
  Observations observations;
  if (const YamlNode* list = map.list(key))
    for (const YamlNode& item : list->items)
      observations.push_back(read_observation(map.nested(item, "observation"), taken, has_age));
  return observations;
}

Result<Observations> read_active_test(YamlMap map, Instant taken) {
  Observations seen = read_observations(map, "seen", taken, Age::some);
  auto error = read_answer_error(map);
  if (!error) return seen;
  if (!seen.empty()) map.problem(map.line(), "a test has either `seen` or `error`");
  return fail(*std::move(error));
}

TreeProbe read_probe(YamlMap map) {
  TreeProbe probe;
  probe.takes = map.duration("takes").value_or(Duration{0});
  if (probe.takes > kLongestProbe) map.problem(map.line_of("takes"), "`takes` must be at most an hour");
  probe.hangs = map.boolean("hangs").value_or(false);
  probe.found = read_observations(map, "found", {}, Age::none);
  return probe;
}

std::optional<std::uint64_t> read_count(YamlMap& map, std::string_view key) {
  const auto count = map.integer(key);
  if (count && *count < 0) map.problem(map.line_of(key), "`" + std::string(key) + "` is out of range");
  return count ? std::optional(static_cast<std::uint64_t>(*count)) : std::nullopt;
}

Result<PortLink> read_link(YamlMap map) {
  PortLink link;
  link.reason = map.word("reason").value_or("");
  link.detail = map.word("detail").value_or("");
  if (const auto quality = map.integer("signal_quality")) link.signal_quality = static_cast<int>(*quality);
  if (const auto most = map.integer("signal_quality_max")) link.signal_quality_max = static_cast<int>(*most);
  if (auto error = read_answer_error(map)) return fail(*std::move(error));
  return link;
}

Result<PortFec> read_fec(YamlMap map) {
  PortFec fec;
  fec.mode = map.word("mode").value_or("");
  fec.corrected_blocks = read_count(map, "corrected_blocks");
  fec.uncorrectable_blocks = read_count(map, "uncorrectable_blocks");
  if (auto error = read_answer_error(map)) return fail(*std::move(error));
  return fec;
}

// Bytes of a module by the place of the first; `error`: why the others, or all, could not be read.
Result<ModuleMemory> read_module(const YamlNode& node, YamlMap map) {
  ModuleMemory memory;
  for (const YamlMember& member : node.members) {
    if (member.key == kError) continue;
    const auto digits = map.word(member.key);
    const auto place = parse_module_place(member.key);
    const auto bytes = from_hex(digits.value_or(""));
    if (!place || !bytes || bytes->empty() || bytes->size() > ModuleMemory::kMaxPart)
      map.problem(member.line, "`" + member.key +
                                   "` must be address/page/byte such as 50/00/128, with up to 128 bytes in "
                                   "hexadecimal digits");
    else
      memory.parts[*place] = *bytes;
  }
  if (memory.parts.size() > ModuleMemory::kMaxParts)
    map.problem(map.line(), "more than " + std::to_string(ModuleMemory::kMaxParts) + " parts of a module");
  memory.problem = read_answer_error(map);
  if (memory.parts.empty() && memory.problem) return fail(*memory.problem);
  return memory;
}

Result<EthtoolPort> read_ethernet_port(YamlMap map) {
  const auto nothing = fail(Errc::unsupported, std::string(kSetByTree));
  EthtoolPort port{PortLink{}, nothing, nothing};
  if (const YamlNode* link = map.map("link")) port.link = read_link(map.nested(*link, "link"));
  if (const YamlNode* fec = map.map("fec")) port.fec = read_fec(map.nested(*fec, "fec"));
  if (const YamlNode* module = map.map("module"))
    port.module = read_module(*module, map.nested(*module, "module"));
  if (auto error = read_answer_error(map)) return fail(*std::move(error));
  return port;
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
  // Cheap, because it is called before every read in the tree.
  if (tree_ != nullptr && ::stat(path.c_str(), &status) == 0 && version_of(status) == version_) return tree_;
  const Fd file = TRY(open_tree_file(path));
  if (::fstat(file.get(), &status) != 0) return fail_errno(errno, path);
  const std::string text = TRY(read_tree_file(file, path, kMaxBytes));
  tree_ = std::make_shared<const MachineTree>(TRY(parse_machine_tree(text, directory_)));
  version_ = version_of(status);
  return tree_;
}

namespace {

bool is_at_or_below(std::string_view path, std::string_view place) {
  return path.starts_with(place) && (path.size() == place.size() || path[place.size()] == '/');
}

}  // namespace

Status UnreadableFiles::pass(std::string_view path) const {
  while (true) {
    const auto tree = TRY(tree_.read());
    const TreeObstacle found = obstacle(*tree, path);
    if (found.error) return fail(*found.error, std::string(path) + ": " + std::string(kSetByTree));
    if (!found.hangs) return {};
    std::this_thread::sleep_for(kHangPoll);
  }
}

TreeObstacle UnreadableFiles::obstacle(const MachineTree& tree, std::string_view path) const {
  if (tree.unreadable.empty()) return {};
  const std::string real = files_.resolve(path).value_or(std::string(path));
  for (const auto& [place, obstacle] : tree.unreadable)
    if (is_at_or_below(path, place) || is_at_or_below(real, files_.resolve(place).value_or(place)))
      return obstacle;
  return {};
}

}  // namespace autopilot::host
