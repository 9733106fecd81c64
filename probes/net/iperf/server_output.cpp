// SPDX-License-Identifier: Apache-2.0
#include "probes/net/iperf/server_output.hpp"

#include "core/parse.hpp"

namespace autopilot::probes::net {
namespace {

constexpr std::string_view kListening = "listening";
constexpr std::string_view kTested = "tested";
constexpr std::string_view kFailed = "failed";

}  // namespace

std::string line_of_listening() {
  return std::string(kListening) + "\n";
}

std::string line_of_test() {
  return std::string(kTested) + "\n";
}

std::string line_of_failure(int code, int errno_value) {
  return std::string(kFailed) + " " + std::to_string(code) + " " + std::to_string(errno_value) + "\n";
}

ServerState read_server_output(std::string_view output) {
  ServerState state;
  while (true) {
    const std::size_t end = output.find('\n');
    if (end == std::string_view::npos) return state;
    const auto words = split_words(output.substr(0, end));
    output.remove_prefix(end + 1);
    if (words.size() == 1 && words[0] == kListening) state.is_listening = true;
    if (words.size() == 1 && words[0] == kTested) ++state.tests;
    if (words.size() != 3 || words[0] != kFailed) continue;
    const auto code = parse_number<int>(words[1]);
    const auto errno_value = parse_number<int>(words[2]);
    if (code && errno_value)
      state.failure = IperfError{.code = *code, .errno_value = *errno_value, .text = {}};
  }
}

}  // namespace autopilot::probes::net
