// SPDX-License-Identifier: Apache-2.0
#include "host/machine_tree/machine_tree.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <functional>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>
#include <yaml-cpp/yaml.h>

#include "core/parse.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kSchema = "autopilot.machine/v1";

// One map of the document. Every key that is read is known; whatever is left over at the end is an error.
// Problems are collected, so that a person sees all of them at once.
class MapReader {
 public:
  MapReader(const YAML::Node& node, std::string name, std::string file, std::vector<std::string>& problems)
      : node_(node), name_(std::move(name)), file_(std::move(file)), problems_(problems) {
    if (!node_.IsMap()) {
      problem(node_, "is not a map");
      return;
    }
    for (const auto& entry : node_) {
      if (!entry.first.IsScalar())
        problem(entry.first, "has a key that is not a word");
      else if (!keys_.insert(entry.first.Scalar()).second)
        problem(entry.first, "has the key '" + entry.first.Scalar() + "' twice");
    }
  }

  [[nodiscard]] bool has(const std::string& key) const { return keys_.contains(key); }

  void word(const std::string& key, std::string& target, bool required = false) {
    take<std::string>(key, target, "a word", required, [](const std::string& text) {
      return text.empty() ? std::nullopt : std::optional<std::string>(text);
    });
  }
  void flag(const std::string& key, bool& target, bool required = false) {
    take<bool>(key, target, "true or false", required, [](const std::string& text) -> std::optional<bool> {
      if (text == "true") return true;
      if (text == "false") return false;
      return std::nullopt;
    });
  }
  template <class T>
  void number(const std::string& key, T& target) {
    take<T>(key, target, "a number in range", false,
            [](const std::string& text) { return parse_number<T>(text); });
  }
  void time(const std::string& key, WallTime& target) {
    take<WallTime>(key, target, "a time (RFC 3339)", true,
                   [](const std::string& text) { return parse_time(text); });
  }
  void duration(const std::string& key, Duration& target) {
    take<Duration>(key, target, "a duration (90s, 36h)", true,
                   [](const std::string& text) { return parse_duration(text); });
  }
  void error(std::optional<Errc>& target) {
    take<std::optional<Errc>>("error", target, "a word of the error codes", false,
                              [](const std::string& text) -> std::optional<std::optional<Errc>> {
                                for (const Errc code : kCodes)
                                  if (to_string(code) == text) return std::optional<Errc>(code);
                                return std::nullopt;
                              });
  }
  // Calls `read` for each entry of the map under `key`.
  void each(const std::string& key, const std::function<void(const std::string&, MapReader&)>& read) {
    if (!keys_.contains(key)) return;
    read_.insert(key);
    const YAML::Node map = node_[key];
    if (!map.IsMap()) return problem(map, "'" + key + "' is not a map");
    std::set<std::string> seen;
    for (const auto& entry : map) {
      if (!entry.first.IsScalar() || !seen.insert(entry.first.Scalar()).second) {
        problem(entry.first, "'" + key + "' has a key that is no word or stands there twice");
        continue;
      }
      MapReader child(entry.second, key + " " + entry.first.Scalar(), file_, problems_);
      read(entry.first.Scalar(), child);
      child.finish();
    }
  }
  void child(const std::string& key, const std::function<void(MapReader&)>& read) {
    if (!keys_.contains(key)) return;
    read_.insert(key);
    MapReader reader(node_[key], key, file_, problems_);
    read(reader);
    reader.finish();
  }
  void finish() {
    for (const auto& entry : node_)
      if (entry.first.IsScalar() && !read_.contains(entry.first.Scalar()))
        problem(entry.first, "unknown key '" + entry.first.Scalar() + "'");
  }
  void problem(const YAML::Node& node, const std::string& text) {
    problems_.push_back(file_ + ":" + std::to_string(node.Mark().line + 1) + ": " +
                        (name_.empty() ? text : name_ + ": " + text));
  }

 private:
  static constexpr std::array kCodes{Errc::unavailable, Errc::unsupported, Errc::timed_out, Errc::denied,
                                     Errc::malformed,   Errc::not_found,   Errc::conflict,  Errc::exhausted};

  template <class T, class Parse>
  void take(const std::string& key, T& target, const char* expected, bool required, const Parse& parse) {
    if (!keys_.contains(key)) {
      if (required) problem(node_, "'" + key + "' is missing");
      return;
    }
    read_.insert(key);
    const YAML::Node value = node_[key];
    if (value.IsScalar()) {
      if (auto parsed = parse(value.Scalar())) {
        target = *std::move(parsed);
        return;
      }
    }
    problem(value, "'" + key + "' must be " + expected);
  }

  YAML::Node node_;
  std::string name_;
  std::string file_;
  std::vector<std::string>& problems_;
  std::set<std::string> keys_;
  std::set<std::string> read_;
};

void read_usage(MapReader& map, TreeUsage& target) {
  map.number("total_bytes", target.usage.total_bytes);
  map.number("free_bytes", target.usage.free_bytes);
  map.number("available_bytes", target.usage.available_bytes);
  map.number("total_inodes", target.usage.total_inodes);
  map.number("free_inodes", target.usage.free_inodes);
  map.flag("hangs", target.hangs);
  map.error(target.error);
}

void read_time_sync(MapReader& map, TreeTimeSync& target) {
  map.flag("synchronised", target.state.synchronised);
  map.flag("clock_error", target.state.clock_error);
  map.number("offset_ns", target.state.offset_ns);
  map.number("max_error_us", target.state.max_error_us);
  map.number("estimated_error_us", target.state.estimated_error_us);
  map.error(target.error);
}

void read_nvme(MapReader& map, TreeNvmeHealth& target) {
  NvmeHealth& health = target.health;
  map.number("critical_warning", health.critical_warning);
  map.number("temperature_celsius", health.temperature_celsius);
  map.number("available_spare_percent", health.available_spare_percent);
  map.number("spare_threshold_percent", health.spare_threshold_percent);
  map.number("percentage_used", health.percentage_used);
  map.number("media_errors", health.media_errors);
  map.number("error_log_entries", health.error_log_entries);
  map.number("unsafe_shutdowns", health.unsafe_shutdowns);
  map.number("power_on_hours", health.power_on_hours);
  map.error(target.error);
}

MachineTree read_tree(MapReader& map) {
  MachineTree tree;
  std::string schema;
  map.word("schema", schema, true);
  map.word("node", tree.node, true);
  map.word("boot_id", tree.boot_id, true);
  map.time("time", tree.time);
  map.duration("uptime", tree.uptime);
  map.flag("simulated", tree.simulated, true);
  map.flag("live", tree.live);
  map.word("description", tree.description);
  map.each("filesystems",
           [&](const std::string& mount, MapReader& usage) { read_usage(usage, tree.filesystems[mount]); });
  map.child("time_sync", [&](MapReader& child) { read_time_sync(child, tree.time_sync.emplace()); });
  map.each("nvme", [&](const std::string& name, MapReader& health) { read_nvme(health, tree.nvme[name]); });
  map.finish();
  return tree;
}

Result<std::string> read_whole(int descriptor, const std::string& path) {
  std::string text;
  std::array<char, 16384> buffer{};
  for (;;) {
    const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, path);
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    if (text.size() > MachineTreeFile::kMaxBytes)
      return fail(Errc::exhausted,
                  path + ": longer than " + std::to_string(MachineTreeFile::kMaxBytes) + " bytes");
  }
}

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  [[nodiscard]] int get() const { return value_; }

 private:
  int value_;
};

}  // namespace

Result<MachineTree> parse_machine_tree(std::string_view text, const std::string& directory) {
  const std::string file = directory + "/machine.yaml";
  std::vector<std::string> problems;
  MachineTree tree;
  try {
    const YAML::Node document = YAML::Load(std::string(text));
    if (document.IsMap() && document["base"])
      return fail(Errc::unsupported,
                  file + ": is a source with 'base:'; expand it first: autopilot-sim create " + directory +
                      " --out DIR");
    MapReader map(document, "", file, problems);
    if (document.IsMap() && document["schema"] && document["schema"].IsScalar() &&
        document["schema"].Scalar() != kSchema)
      map.problem(document["schema"], "'schema' must be " + std::string(kSchema));
    if (document.IsMap()) tree = read_tree(map);
  } catch (const YAML::Exception& error) {
    return fail(Errc::malformed, file + ":" + std::to_string(error.mark.line + 1) + ": " + error.msg);
  }
  if (!problems.empty()) {
    std::string all;
    for (const std::string& problem : problems)
      all += (all.empty() ? "" : "\n") + problem;
    return fail(Errc::malformed, all);
  }
  tree.directory = directory;
  return tree;
}

Result<std::unique_ptr<MachineTreeFile>> MachineTreeFile::open(const std::string& directory) {
  std::unique_ptr<MachineTreeFile> file(new MachineTreeFile(directory));
  TRY(file->read());
  return file;
}

Result<std::shared_ptr<const MachineTree>> MachineTreeFile::read() const {
  const std::string path = directory_ + "/machine.yaml";
  const std::scoped_lock lock(mutex_);
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return fail_errno(errno, path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return fail_errno(errno, path);
  const Version version{status.st_ino, status.st_size,
                        status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec};
  if (tree_ != nullptr && version == version_) return tree_;
  const std::string text = TRY(read_whole(file.get(), path));
  tree_ = std::make_shared<const MachineTree>(TRY(parse_machine_tree(text, directory_)));
  version_ = version;
  return tree_;
}

}  // namespace autopilot::host
