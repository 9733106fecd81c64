// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/yaml.hpp"

namespace autopilot::simulator {

// The files of a machine in memory. Paths are absolute, as on the machine.
class FileTree {
 public:
  enum class Kind : std::uint8_t { text, link, directory };
  struct Entry {
    Kind kind = Kind::text;
    std::string text;  // contents, or the target of a link
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  // Writes a file with one value and a newline.
  void write_value(const std::string& path, std::string_view value) {
    write(path, std::string(value) + "\n");
  }
  void write_number(const std::string& path, std::int64_t value) { write_value(path, std::to_string(value)); }
  void write(const std::string& path, std::string text) { entries_[path] = {Kind::text, std::move(text)}; }
  // `target` is the absolute path of the link's target; it is stored as a relative path, as in sysfs.
  void link(const std::string& path, const std::string& target);
  void put(const std::string& path, Entry entry) { entries_[path] = std::move(entry); }
  void make_directory(const std::string& path) { entries_[path] = {Kind::directory, {}}; }

  // Removes the path, everything below it, and every link to it.
  void remove(const std::string& path);
  // Removes only the path and everything below it.
  void remove_below(const std::string& path);

  [[nodiscard]] const std::string* text(std::string_view path) const;
  // The value without its newline; nullopt if the file is missing.
  [[nodiscard]] std::optional<std::string> value(std::string_view path) const;
  [[nodiscard]] std::optional<std::int64_t> number(std::string_view path) const;
  // The path with its links resolved; nullopt if a target is missing.
  [[nodiscard]] std::optional<std::string> resolve(std::string_view path) const;
  // Names directly below a directory.
  [[nodiscard]] std::vector<std::string> list(std::string_view directory) const;

  [[nodiscard]] const Entries& entries() const { return entries_; }

 private:
  [[nodiscard]] bool is_directory(std::string_view path) const;

  Entries entries_;
};

// One record of kmsg.jsonl.
struct LogRecord {
  int priority = 6;                       // facility * 8 + level
  std::optional<std::uint64_t> sequence;  // nullopt: the one after the previous record
  double seconds = 0;                     // since boot
  std::string text;
  bool injected = false;  // marked by `autopilot inject`
  bool verified = true;   // false: from a source without a facility
  std::uint64_t lost =
      0;                // not 0: the ring overwrote this number of records here; the other fields are empty
  std::string error{};  // not empty: the log is unreadable from here on, for this reason
};

// A whole machine tree in memory (docs/machine-tree.md).
struct Machine {
  FileTree files;
  YamlNode machine;              // machine.yaml
  std::optional<YamlNode> nvml;  // nvml.yaml; nullopt: no NVML library
  std::vector<LogRecord> log;    // oldest first

  // Seconds since boot at the time of machine.yaml.
  [[nodiscard]] double uptime_seconds() const;
  // PCI addresses of the GPUs in NVML's order.
  [[nodiscard]] std::vector<std::string> gpus() const;
  // The node of one GPU in nvml.yaml, or null.
  [[nodiscard]] YamlNode* gpu(std::string_view pci_address);
};

[[nodiscard]] std::string log_text(const std::vector<LogRecord>& log);
// malformed names `file` and the line.
[[nodiscard]] Result<std::vector<LogRecord>> parse_log(std::string_view text, const std::string& file);

}  // namespace autopilot::simulator
