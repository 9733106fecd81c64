// SPDX-License-Identifier: Apache-2.0
#include "host/storage/raid.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kRaidFolder = "/sys/block";
constexpr std::string_view kMember = "dev-";
// Linux Documentation/admin-guide/md.rst.
constexpr std::array<std::string_view, 10> kStates{"clear",       "inactive", "suspended", "readonly",
                                                   "read-auto",   "clean",    "active",    "write-pending",
                                                   "active-idle", "broken"};

// A number of an array. While it is reshaped "3 (2)": what it will be, and what it was.
Result<int> read_number(const Files& files, const std::string& path) {
  const std::string text = TRY(files.read_word(path));
  const auto words = split_words(text);
  const auto number = words.empty() ? std::nullopt : parse_number<int>(words[0]);
  if (!number || *number < 0) return fail(Errc::malformed, path + ": no number of members");
  return *number;
}

// A level has some of the files only; not to have one is no error.
template <class T>
Result<T> or_else(Result<T> value, T otherwise) {
  if (!value && value.error().code == Errc::not_found) return otherwise;
  return value;
}

std::vector<RaidMember> read_members(const Files& files, const std::string& path) {
  std::vector<RaidMember> members;
  for (const std::string& name : files.list(path).value_or(std::vector<std::string>{})) {
    if (!name.starts_with(kMember)) continue;
    const auto state = files.read_word(std::string(path).append("/").append(name).append("/state"));
    if (!state) continue;  // it is being removed
    const auto words = split(*state, ',');
    const auto has = [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); };
    members.push_back(
        {.name = name.substr(kMember.size()), .is_faulty = has("faulty"), .is_in_sync = has("in_sync")});
  }
  return members;
}

Result<RaidArray> read_array(const Files& files, const std::string& name) {
  const std::string path = std::string(kRaidFolder) + "/" + name + "/md";
  RaidArray array;
  array.name = name;
  array.state = TRY(files.read_word(path + "/array_state"));
  if (std::ranges::find(kStates, array.state) == kStates.end())
    return fail(Errc::malformed,
                path + "/array_state: the kernel has no such state: " + array.state.substr(0, 40));
  array.level = TRY(or_else(files.read_word(path + "/level"), std::string()));
  array.places = TRY(or_else(read_number(files, path + "/raid_disks"), 0));
  array.missing = TRY(or_else(read_number(files, path + "/degraded"), 0));
  array.action = TRY(or_else(files.read_word(path + "/sync_action"), std::string()));
  if (const auto done = files.read_word(path + "/sync_completed"))
    array.progress = parse_raid_progress(*done);
  const std::string format = files.read_word(path + "/metadata_version").value_or("");
  array.is_container = format.starts_with("external:") && !format.starts_with("external:/");
  array.members = read_members(files, path);
  return array;
}

}  // namespace

std::optional<double> parse_raid_progress(std::string_view text) {
  const auto words = split_words(text);
  if (words.size() != 3 || words[1] != "/") return std::nullopt;
  const auto done = parse_number<std::uint64_t>(words[0]);
  const auto all = parse_number<std::uint64_t>(words[2]);
  if (!done || !all || *all == 0 || *done > *all) return std::nullopt;
  return static_cast<double>(*done) / static_cast<double>(*all);
}

Result<std::vector<RaidArray>> scan_raid_arrays(const Files& files) {
  const auto names = files.list(kRaidFolder);
  if (!names) {
    if (names.error().code == Errc::not_found && files.exists("/sys")) return std::vector<RaidArray>{};
    return fail(names.error().code == Errc::not_found ? Errc::unavailable : names.error().code,
                names.error().what);
  }
  std::vector<RaidArray> arrays;
  for (const std::string& name : *names) {
    if (!name.starts_with("md") || !files.exists(std::string(kRaidFolder) + "/" + name + "/md")) continue;
    auto array = read_array(files, name);
    const bool is_there = files.exists(std::string(kRaidFolder) + "/" + name + "/md");
    if (!array && !is_there) continue;  // it was stopped since the list was read
    if (array) {
      arrays.push_back(*std::move(array));
      continue;
    }
    RaidArray unknown;
    unknown.name = name;
    unknown.problem = std::move(array).error();
    arrays.push_back(std::move(unknown));
  }
  return arrays;
}

}  // namespace autopilot::host
