// SPDX-License-Identifier: Apache-2.0
#include "probes/net/iperf/arguments.hpp"

#include <array>
#include <charconv>

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

}  // namespace autopilot::probes::net
