// SPDX-License-Identifier: Apache-2.0
#include "host/storage/block.hpp"

#include <array>

#include "core/parse.hpp"

namespace autopilot::host {
namespace {

// Columns of the stat file (Documentation/block/stat.rst). Discards came with Linux 4.18, flushes with 5.5.
constexpr std::size_t kMinColumns = 11;
constexpr std::size_t kInFlight = 8;
constexpr std::array<std::size_t, 4> kCompleted = {0, 4, 11, 15};

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
  const std::string path = "/sys/block/" + name + "/stat";
  const std::string text = TRY(files.read(path));
  auto activity = parse_block_stat(text);
  if (!activity) return fail(activity.error().code, path + ": " + activity.error().what);
  return activity;
}

Result<BlockActivity> read_nvme_activity(const Files& files, const std::string& controller) {
  const auto names = TRY(files.list("/sys/block"));
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

}  // namespace autopilot::host
