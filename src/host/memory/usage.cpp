// SPDX-License-Identifier: Apache-2.0
#include "host/memory/usage.hpp"

#include "core/parse.hpp"

namespace autopilot::host {
namespace {

// The row "Name:   123 kB"; nothing when there is none.
Result<std::optional<std::uint64_t>> kilobytes_of(std::string_view text, std::string_view name) {
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with(name) || line.substr(name.size(), 1) != ":") continue;
    const auto words = split_words(line.substr(name.size() + 1));
    const auto number = words.empty() ? std::nullopt : parse_number<std::uint64_t>(words.front());
    if (!number || words.size() != 2 || words.back() != "kB")
      return fail(Errc::malformed, "meminfo: " + std::string(name) + " is no number of kB");
    return std::optional(*number);
  }
  return std::optional<std::uint64_t>();
}

Result<std::uint64_t> required(std::string_view text, std::string_view name) {
  const auto number = TRY(kilobytes_of(text, name));
  if (!number) return fail(Errc::malformed, "meminfo: no row " + std::string(name));
  return *number;
}

// "avg60=12.50" -> 0.125
Result<double> share_of(std::string_view word, std::string_view name) {
  const bool is_named = word.starts_with(name) && word.substr(name.size(), 1) == "=";
  const auto number = is_named ? parse_number<double>(word.substr(name.size() + 1)) : std::nullopt;
  if (!number || !(*number >= 0 && *number <= 100))
    return fail(Errc::malformed, "pressure: no percentage " + std::string(name));
  return *number / 100;
}

Result<PressureShares> parse_shares(const std::vector<std::string_view>& words) {
  if (words.size() < 4) return fail(Errc::malformed, "pressure: a short row");
  PressureShares shares;
  shares.avg10 = TRY(share_of(words[1], "avg10"));
  shares.avg60 = TRY(share_of(words[2], "avg60"));
  shares.avg300 = TRY(share_of(words[3], "avg300"));
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
    if (!count) return fail(Errc::malformed, "vmstat: oom_kill is no number");
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
  if (!has_some) return fail(Errc::malformed, "pressure: no row of `some`");
  return pressure;
}

}  // namespace autopilot::host
