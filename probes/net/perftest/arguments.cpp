// SPDX-License-Identifier: Apache-2.0
#include "probes/net/perftest/arguments.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/parse.hpp"

namespace autopilot::probes::net {
namespace {

constexpr std::size_t kLongestName = 63;
constexpr int kMostDevicePort = 254;
// Number of messages in each direction.
constexpr int kIterations = 5000;
constexpr std::string_view kGpuOption = "--use_cuda_bus_id";

bool is_of_a_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '.';
}

bool is_device_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName && text[0] != '-' && text[0] != '.' &&
         std::all_of(text.begin(), text.end(), is_of_a_name);
}

std::string gigabits(std::uint64_t bits_per_second) {
  constexpr double kGigabit = 1e9;
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(),
                                 static_cast<double>(bits_per_second) / kGigabit, std::chars_format::fixed, 6)
                       .ptr;
  return {text.data(), end};
}

bool names(std::string_view help, std::string_view option) {
  const auto words = split_words(help);
  return std::any_of(words.begin(), words.end(),
                     [option](std::string_view word) { return word.substr(0, word.find('=')) == option; });
}

void add_source(std::vector<std::string>& words, const PerftestTest& test) {
  if (test.source_option == SourceOption::source_ip) words.push_back("--source_ip=" + test.address);
  if (test.source_option == SourceOption::bind_source_ip)
    words.insert(words.end(), {"--bind_source_ip", test.address});
}

}  // namespace

std::string_view program_of(Tool tool) {
  switch (tool) {
    case Tool::write_bandwidth:
      return "ib_write_bw";
    case Tool::read_bandwidth:
      return "ib_read_bw";
    case Tool::send_latency:
      return "ib_send_lat";
  }
  return {};
}

std::optional<Device> parse_device(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view name = text.substr(0, slash);
  if (!is_device_name(name)) return std::nullopt;
  if (slash == std::string_view::npos) return Device{std::string(name), 1};
  const auto port = parse_number<int>(text.substr(slash + 1));
  if (!port || *port < 1 || *port > kMostDevicePort) return std::nullopt;
  return Device{std::string(name), *port};
}

std::optional<SourceOption> source_option_in(std::string_view help) {
  // If a version has both options, the other one is for raw packets.
  if (names(help, "--bind_source_ip")) return SourceOption::bind_source_ip;
  if (names(help, "--source_ip")) return SourceOption::source_ip;
  return std::nullopt;
}

bool has_cuda_in(std::string_view help) {
  return names(help, kGpuOption);
}

std::vector<std::string> perftest_arguments(const PerftestTest& test) {
  std::vector<std::string> words = {
      std::string(program_of(test.tool)), "-d", test.device.name,          "-i",
      std::to_string(test.device.port),   "-p", std::to_string(test.port), "-F"};
  if (test.tool == Tool::send_latency) {
    words.insert(words.end(), {"-n", std::to_string(kIterations), "-s", std::to_string(kLatencyBytes)});
  } else {
    // perftest's duration includes the margins.
    words.insert(words.end(), {"--report_gbits", "-D", std::to_string(test.seconds + 2 * kMarginSeconds),
                               "-f", std::to_string(kMarginSeconds), "-s", std::to_string(kBandwidthBytes),
                               "-q", std::to_string(test.queues)});
    if (!test.device.gpu.empty()) words.push_back(std::string(kGpuOption) + "=" + test.device.gpu);
    if (test.bits_per_second && !test.to.empty())
      words.insert(words.end(), {"--rate_limit=" + gigabits(*test.bits_per_second), "--rate_limit_type=SW",
                                 "--rate_units=g"});
  }
  add_source(words, test);
  if (!test.to.empty()) words.push_back(test.to);
  return words;
}

std::string place_of(const PerftestTest& test) {
  const std::string where = test.to.empty() ? " at " + test.address : " to " + test.to;
  return std::string(program_of(test.tool)) + where + " port " + std::to_string(test.port);
}

}  // namespace autopilot::probes::net
