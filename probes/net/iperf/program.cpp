// SPDX-License-Identifier: Apache-2.0
#include "probes/net/iperf/program.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <charconv>

#include "core/parse.hpp"

namespace autopilot::probes::net {
namespace {

std::string milliseconds(int seconds) {
  return std::to_string(1000LL * seconds);
}

std::string written(double number) {
  std::array<char, 32> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed, 6).ptr;
  return {text.data(), end};
}

}  // namespace

std::vector<std::string> client_arguments(const ClientTest& test) {
  std::vector<std::string> words = {"iperf3",
                                    "--client",
                                    test.to,
                                    "--port",
                                    std::to_string(test.port),
                                    "--json",
                                    "--zerocopy",
                                    "--parallel",
                                    std::to_string(test.streams),
                                    "--time",
                                    std::to_string(test.seconds),
                                    "--interval",
                                    written(test.sample_seconds),
                                    "--connect-timeout",
                                    milliseconds(test.connect_seconds),
                                    "--snd-timeout",
                                    milliseconds(test.silence_seconds)};
  const auto add = [&words](const std::string& name, const std::string& value) {
    words.push_back(name);
    words.push_back(value);
  };
  if (test.wants_peer_report) words.emplace_back("--get-server-output");
  if (test.omit_seconds > 0) add("--omit", std::to_string(test.omit_seconds));
  if (test.source) add("--bind", *test.source);
  if (test.interface) add("--bind-dev", *test.interface);
  if (test.stream_bits_per_second) add("--bitrate", std::to_string(*test.stream_bits_per_second));
  if (test.flow == Flow::both) words.emplace_back("--bidir");
  if (test.flow == Flow::from_peer) words.emplace_back("--reverse");
  // libiperf refuses it for a client that only sends.
  if (test.flow != Flow::to_peer) add("--rcv-timeout", milliseconds(test.silence_seconds));
  return words;
}

std::vector<std::string> server_arguments(const ServerTest& test) {
  return {"iperf3",     "--server",      "--bind",
          test.address, "--port",        std::to_string(test.port),
          "--json",     "--rcv-timeout", milliseconds(test.silence_seconds)};
}

namespace {

namespace json = boost::json;

// The error message of libiperf, if its report has one.
std::string words_in(std::string_view text) {
  json::error_code error;
  const json::value parsed = json::parse(text, error);
  if (error || !parsed.is_object()) return {};
  const json::value* message = parsed.get_object().if_contains("error");
  return message != nullptr && message->is_string() ? std::string(message->get_string()) : std::string();
}

// True if a data stream was connected.
bool had_begun(std::string_view text) {
  json::error_code error;
  const json::value parsed = json::parse(text, error);
  if (error || !parsed.is_object()) return false;
  const json::value* start = parsed.get_object().if_contains("start");
  const json::value* streams =
      start != nullptr && start->is_object() ? start->get_object().if_contains("connected") : nullptr;
  return streams != nullptr && streams->is_array() && !streams->get_array().empty();
}

}  // namespace

std::string client_output(int code, int errno_value, std::string_view json) {
  return std::to_string(code) + " " + std::to_string(errno_value) + "\n" + std::string(json);
}

std::variant<IperfResult, Failure> read_client_output(std::string_view output, const std::string& place) {
  const std::size_t line = std::min(output.find('\n'), output.size());
  const auto numbers = split_words(output.substr(0, line));
  const auto code = parse_number<int>(numbers.empty() ? std::string_view() : numbers[0]);
  const auto errno_value = parse_number<int>(numbers.size() != 2 ? std::string_view() : numbers[1]);
  if (line == output.size() || !code || !errno_value)
    return Failure{Reason::internal, place + ": the measuring process wrote nothing"};
  const std::string_view report = output.substr(line + 1);
  const std::string words = words_in(report);
  if (!words.empty()) {
    const int number = *errno_value != 0 ? *errno_value : errno_at_end_of(words);
    return failure_of({.code = *code, .errno_value = number, .text = words}, place);
  }
  auto result = parse_iperf_result(report);
  if (!result && *code != 0)
    return failure_of({.code = *code, .errno_value = *errno_value, .text = ""}, place);
  if (!result) return Failure{Reason::garbage, place + ": " + result.error().what};
  return std::move(*result);
}

bool may_be_a_pause(std::string_view output) {
  const auto read = read_client_output(output, "");
  const Failure* failure = std::get_if<Failure>(&read);
  if (failure == nullptr) return false;
  if (failure->reason == Reason::refused || failure->reason == Reason::busy) return true;
  return failure->reason == Reason::peer_vanished && !had_begun(output.substr(output.find('\n') + 1));
}

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
