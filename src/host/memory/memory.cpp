// SPDX-License-Identifier: Apache-2.0
#include "host/memory/memory.hpp"

#include "core/parse.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kRoot = "/sys/devices/system/edac/mc";

bool is_numbered(std::string_view name, std::string_view prefix) {
  return name.starts_with(prefix) && parse_number<unsigned>(name.substr(prefix.size())).has_value();
}

Result<std::uint64_t> read_count(const Files& files, const std::string& path) {
  const std::int64_t count = TRY(files.read_integer(path));
  if (count < 0) return fail(Errc::malformed, path + ": a negative count");
  return static_cast<std::uint64_t>(count);
}

MemoryModule read_module(const Files& files, const std::string& folder, const std::string& name) {
  MemoryModule module;
  module.name = name;
  const std::string path = folder + "/" + name + "/dimm_";
  module.label = files.read_word(path + "label").value_or("");
  module.corrected = read_count(files, path + "ce_count");
  module.uncorrected = read_count(files, path + "ue_count");
  return module;
}

MemoryController read_controller(const Files& files, const std::string& name) {
  const std::string folder = std::string(kRoot) + "/" + name;
  MemoryController controller;
  controller.name = name;
  controller.corrected = read_count(files, folder + "/ce_count");
  controller.uncorrected = read_count(files, folder + "/ue_count");
  // The controller has its own counters; the modules locate its errors.
  for (const std::string& entry : files.list(folder).value_or(std::vector<std::string>{}))
    if (is_numbered(entry, "dimm") || is_numbered(entry, "rank"))
      controller.modules.push_back(read_module(files, folder, entry));
  return controller;
}

}  // namespace

Result<std::vector<MemoryController>> read_memory_controllers(const Files& files) {
  std::vector<MemoryController> controllers;
  const auto names = files.list(kRoot);
  if (!names && names.error().code == Errc::not_found) return controllers;
  if (!names) return fail(names.error());
  for (const std::string& name : *names)
    if (is_numbered(name, "mc")) controllers.push_back(read_controller(files, name));
  return controllers;
}

namespace {

// The size in the row "Name:   123 kB"; empty if there is no such row.
Result<std::optional<std::uint64_t>> kilobytes_of(std::string_view text, std::string_view name) {
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with(name) || line.substr(name.size(), 1) != ":") continue;
    const auto words = split_words(line.substr(name.size() + 1));
    const auto number = words.empty() ? std::nullopt : parse_number<std::uint64_t>(words.front());
    if (!number || words.size() != 2 || words.back() != "kB")
      return fail(Errc::malformed, "meminfo: " + std::string(name) + " is not a size in kB");
    return std::optional(*number);
  }
  return std::optional<std::uint64_t>();
}

Result<std::uint64_t> required(std::string_view text, std::string_view name) {
  const auto number = TRY(kilobytes_of(text, name));
  if (!number) return fail(Errc::malformed, "meminfo: missing row " + std::string(name));
  return *number;
}

// "avg60=12.50" -> 0.125
Result<double> share_of(std::string_view word, std::string_view name) {
  const bool is_named = word.starts_with(name) && word.substr(name.size(), 1) == "=";
  const auto number = is_named ? parse_number<double>(word.substr(name.size() + 1)) : std::nullopt;
  if (!number || !(*number >= 0 && *number <= 100))
    return fail(Errc::malformed, "pressure: not a percentage: " + std::string(name));
  return *number / 100;
}

Result<PressureShares> parse_shares(const std::vector<std::string_view>& words) {
  if (words.size() < 4) return fail(Errc::malformed, "pressure: a short row");
  PressureShares shares;
  shares.avg10 = TRY(share_of(words[1], "avg10"));
  shares.avg60 = TRY(share_of(words[2], "avg60"));
  shares.avg300 = TRY(share_of(words[3], "avg300"));
  constexpr std::string_view kTotal = "total=";
  if (words.size() > 4 && words[4].starts_with(kTotal))
    shares.total_us = parse_number<std::uint64_t>(words[4].substr(kTotal.size()));
  return shares;
}

}  // namespace

Result<MemoryUsage> parse_meminfo(std::string_view text) {
  MemoryUsage usage;
  usage.total_kilobytes = TRY(required(text, "MemTotal"));
  usage.available_kilobytes = TRY(required(text, "MemAvailable"));
  usage.corrupted_kilobytes = TRY(kilobytes_of(text, "HardwareCorrupted"));
  return usage;
}

Result<std::optional<std::uint64_t>> parse_oom_kills(std::string_view vmstat) {
  for (const std::string_view line : split(vmstat, '\n')) {
    const auto words = split_words(line);
    if (words.empty() || words.front() != "oom_kill") continue;
    const auto count = words.size() == 2 ? parse_number<std::uint64_t>(words.back()) : std::nullopt;
    if (!count) return fail(Errc::malformed, "vmstat: oom_kill is not a number");
    return std::optional(*count);
  }
  return std::optional<std::uint64_t>();
}

Result<Pressure> parse_pressure(std::string_view text) {
  Pressure pressure;
  bool has_some = false;
  for (const std::string_view line : split(text, '\n')) {
    const auto words = split_words(line);
    if (words.empty()) continue;
    if (words.front() == "some") {
      pressure.some = TRY(parse_shares(words));
      has_some = true;
    } else if (words.front() == "full") {
      pressure.full = TRY(parse_shares(words));
    }
  }
  if (!has_some) return fail(Errc::malformed, "pressure: missing row `some`");
  return pressure;
}

}  // namespace autopilot::host
