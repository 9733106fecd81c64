// SPDX-License-Identifier: Apache-2.0
#include "host/storage/block.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::host {
namespace {

// Columns of the stat file (Documentation/block/stat.rst). Discards came with Linux 4.18, flushes with 5.5.
constexpr std::size_t kMinColumns = 11;
constexpr std::size_t kInFlight = 8;
constexpr std::array<std::size_t, 4> kCompleted = {0, 4, 11, 15};

constexpr std::string_view kBlockFolder = "/sys/block";

// "ram0" of "ram": the prefix and a number.
bool is_numbered(std::string_view name, std::string_view prefix) {
  return name.starts_with(prefix) && parse_number<unsigned>(name.substr(prefix.size())).has_value();
}

BlockDevice read_device(const Files& files, const std::string& name) {
  const std::string path = std::string(kBlockFolder) + "/" + name;
  BlockDevice device;
  device.name = name;
  // Without a size it is being removed.
  device.sectors =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, files.read_integer(path + "/size").value_or(0)));
  const auto below = files.list(path + "/slaves");
  device.is_on_others = below && !below->empty();
  device.is_in_memory = is_numbered(name, "ram") || is_numbered(name, "zram");
  device.has_weak_medium = is_numbered(name, "fd") || is_numbered(name, "sr");
  return device;
}

bool is_namespace_of(std::string_view name, std::string_view controller) {
  if (!name.starts_with(controller)) return false;
  name.remove_prefix(controller.size());
  return name.starts_with("n") && parse_number<unsigned>(name.substr(1)).has_value();
}

}  // namespace

Result<BlockActivity> parse_block_stat(std::string_view text) {
  const auto words = split_words(text);
  if (words.size() < kMinColumns)
    return fail(Errc::malformed, "block stat: " + std::to_string(words.size()) + " columns");
  const auto column = [&](std::size_t index) { return parse_number<std::uint64_t>(words[index]); };
  BlockActivity activity;
  for (const std::size_t index : kCompleted) {
    if (index >= words.size()) continue;
    const auto count = column(index);
    if (!count)
      return fail(Errc::malformed, "block stat: column " + std::to_string(index) + " is not a number");
    activity.completed += *count;
  }
  const auto in_flight = column(kInFlight);
  if (!in_flight) return fail(Errc::malformed, "block stat: requests in flight are not a number");
  activity.in_flight = *in_flight;
  return activity;
}

Result<BlockActivity> read_block_activity(const Files& files, const std::string& name) {
  const std::string path = std::string(kBlockFolder) + "/" + name + "/stat";
  const std::string text = TRY(files.read(path));
  auto activity = parse_block_stat(text);
  if (!activity) return fail(activity.error().code, path + ": " + activity.error().what);
  return activity;
}

Result<BlockActivity> read_nvme_activity(const Files& files, const std::string& controller) {
  const auto names = TRY(files.list(kBlockFolder));
  BlockActivity sum;
  bool has_any = false;
  for (const std::string& name : names) {
    if (!is_namespace_of(name, controller)) continue;
    const BlockActivity activity = TRY(read_block_activity(files, name));
    sum.completed += activity.completed;
    sum.in_flight += activity.in_flight;
    has_any = true;
  }
  if (!has_any) return fail(Errc::not_found, controller + " has no namespace");
  return sum;
}

Result<std::vector<BlockDevice>> scan_block_devices(const Files& files) {
  const auto names = TRY(files.list_sysfs(kBlockFolder));
  std::vector<BlockDevice> devices;
  for (const std::string& name : names)
    devices.push_back(read_device(files, name));
  return devices;
}

std::string disk_of_partition(const Files& files, const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const auto device = files.resolve("/sys/class/block/" + name);
  if (!device || !files.exists(*device + "/partition")) return name;
  const auto parent = device->rfind('/');
  const std::string above = device->substr(0, parent);
  return above.substr(above.rfind('/') + 1);
}

std::string device_number(const Files& files, const std::string& name) {
  if (name.empty() || name.find('/') != std::string::npos) return {};
  return files.read_word("/sys/class/block/" + name + "/dev").value_or("");
}

namespace {

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

// A level has some of the files only; a missing file is not an error.
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
  const std::string path = std::string(kBlockFolder) + "/" + name + "/md";
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
  const auto names = TRY(files.list_sysfs(kBlockFolder));
  std::vector<RaidArray> arrays;
  for (const std::string& name : names) {
    if (!name.starts_with("md") || !files.exists(std::string(kBlockFolder) + "/" + name + "/md")) continue;
    auto array = read_array(files, name);
    const bool is_there = files.exists(std::string(kBlockFolder) + "/" + name + "/md");
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
