// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace autopilot::simulator
