// SPDX-License-Identifier: Apache-2.0
#include "host/storage/block.hpp"

#include <algorithm>
#include <array>

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
    if (!count) return fail(Errc::malformed, "block stat: column " + std::to_string(index) + " is no number");
    activity.completed += *count;
  }
  const auto in_flight = column(kInFlight);
  if (!in_flight) return fail(Errc::malformed, "block stat: requests in flight are no number");
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
  const auto names = files.list(kBlockFolder);
  if (!names) {
    if (names.error().code == Errc::not_found && files.exists("/sys")) return std::vector<BlockDevice>{};
    return fail(names.error().code == Errc::not_found ? Errc::unavailable : names.error().code,
                names.error().what);
  }
  std::vector<BlockDevice> devices;
  for (const std::string& name : *names)
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

}  // namespace autopilot::host
