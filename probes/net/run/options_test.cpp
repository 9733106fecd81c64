// SPDX-License-Identifier: Apache-2.0
#include "probes/net/run/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::probes::net {
namespace {

using testing::HasSubstr;

std::variant<Options, int> parse(std::vector<const char*> words) {
  words.insert(words.begin(), "autopilot-net-probe");
  return parse_options(static_cast<int>(words.size()), words.data());
}

MeasureOptions measuring(std::vector<const char*> words) {
  words.insert(words.begin(), {"measure", "--to", "10.0.0.2"});
  const auto parsed = parse(words);
  const Options* options = std::get_if<Options>(&parsed);
  EXPECT_NE(options, nullptr);
  return options == nullptr ? MeasureOptions{} : std::get<MeasureOptions>(*options);
}

ServeOptions serving(std::vector<const char*> words) {
  words.insert(words.begin(), {"serve", "--bind", "10.0.0.2"});
  const auto parsed = parse(words);
  const Options* options = std::get_if<Options>(&parsed);
  EXPECT_NE(options, nullptr);
  return options == nullptr ? ServeOptions{} : std::get<ServeOptions>(*options);
}

// The message about wrong options.
std::string refusal(const std::vector<const char*>& words) {
  testing::internal::CaptureStderr();
  const auto parsed = parse(words);
  std::string message = testing::internal::GetCapturedStderr();
  const int* code = std::get_if<int>(&parsed);
  EXPECT_TRUE(code != nullptr && *code == exit_usage);
  return message;
}

TEST(Options, a_measurement_needs_only_a_peer) {
  const MeasureOptions options = measuring({});
  EXPECT_EQ(options.to.text, "10.0.0.2");
  EXPECT_EQ(options.ports, std::vector{5201});
  EXPECT_EQ(options.flow, Flow::to_peer);
  EXPECT_EQ(options.samples, options.seconds);
  EXPECT_FALSE(options.bits_per_second);
}

TEST(Options, a_measurement_has_the_given_options) {
  const MeasureOptions options = measuring({"--port", "6000,6002", "--interface", "ib0", "--streams", "4",
                                            "--processes", "2", "--seconds", "10", "--omit", "2", "--both",
                                            "--limit", "9.9G", "--samples", "20", "--cpus", "8-9,24"});
  EXPECT_EQ(options.ports, (std::vector{6000, 6002}));
  EXPECT_EQ(options.interface, "ib0");
  EXPECT_EQ(options.flow, Flow::both);
  EXPECT_EQ(options.bits_per_second, 9'900'000'000U);
  EXPECT_EQ(options.samples, 20);
  EXPECT_EQ(options.pinning.processors, (std::vector{8, 9, 24}));
}

TEST(Options, servers_have_the_given_options) {
  const ServeOptions options =
      serving({"--port", "0", "--count", "8", "--once", "--allow", "10.0.0.1,10.0.0.3", "--numa", "auto"});
  EXPECT_TRUE(options.ports.is_any());
  EXPECT_EQ(options.count, 8);
  EXPECT_TRUE(options.is_once);
  EXPECT_EQ(options.allowed.size(), 2U);
  EXPECT_TRUE(options.pinning.is_near_interface);
}

TEST(Options, many_streams_for_a_long_time_have_fewer_samples) {
  const MeasureOptions options = measuring({"--seconds", "3600", "--streams", "128"});
  EXPECT_EQ(options.samples, 78);
  EXPECT_EQ(measuring({"--seconds", "3600"}).samples, 3600);
}

TEST(Options, conflicting_options_are_refused) {
  const auto measure = [](std::vector<const char*> words) {
    words.insert(words.begin(), {"measure", "--to", "10.0.0.2"});
    return refusal(words);
  };
  EXPECT_THAT(measure({"--reverse", "--both"}), HasSubstr("excludes"));
  EXPECT_THAT(measure({"--bind", "10.0.0.1", "--interface", "ib0"}), HasSubstr("excludes"));
  EXPECT_THAT(measure({"--cpus", "1", "--numa", "auto"}), HasSubstr("excludes"));
  EXPECT_THAT(measure({"--bind", "::1"}), HasSubstr("another family"));
  EXPECT_THAT(measure({"--port", "1,2"}), HasSubstr("one for each of --processes"));
  EXPECT_THAT(measure({"--port", "65535", "--processes", "2"}), HasSubstr("above 65535"));
  EXPECT_THAT(measure({"--limit", "1000", "--streams", "2"}), HasSubstr("each stream"));
  EXPECT_THAT(measure({"--samples", "51"}), HasSubstr("between 0.1 s and 60 s"));
  EXPECT_THAT(measure({"--seconds", "3600", "--samples", "59"}), HasSubstr("between 0.1 s and 60 s"));
  EXPECT_THAT(measure({"--seconds", "1000", "--samples", "1000", "--streams", "11"}),
              HasSubstr("more than 10000"));
  EXPECT_THAT(measure({"--streams", "129"}), HasSubstr("--streams"));
  EXPECT_THAT(measure({"--to", "node-a"}), HasSubstr("--to"));
  EXPECT_THAT(refusal({"serve", "--bind", "10.0.0.2", "--port", "65535", "--count", "2"}),
              HasSubstr("above 65535"));
}

TEST(Options, too_many_allowed_addresses_are_refused) {
  std::string list = "10.0.1.0";
  for (int i = 1; i <= 64; ++i)
    list += ",10.0.1." + std::to_string(i);
  EXPECT_THAT(refusal({"serve", "--bind", "10.0.0.2", "--allow", list.c_str()}),
              HasSubstr("at most 64 addresses"));
}

TEST(Options, rdma_has_the_given_options) {
  const auto serving = parse(
      {"rdma-serve", "--bind", "10.0.0.2", "--device", "mlx5_0/2", "--test-seconds", "3", "--queues", "4"});
  const auto& serve = std::get<RdmaServeOptions>(std::get<Options>(serving));
  EXPECT_EQ(serve.bind.text, "10.0.0.2");
  EXPECT_EQ(serve.device.port, 2);
  EXPECT_EQ(serve.seconds, 60);
  EXPECT_EQ(serve.test_seconds, 3);
  EXPECT_EQ(serve.queues, 4);
  const auto measuring = parse({"rdma-measure", "--to", "10.0.0.2", "--bind", "10.0.0.1", "--device",
                                "mlx5_0", "--port", "4001,4003,4002", "--limit", "90G"});
  const auto& measure = std::get<RdmaMeasureOptions>(std::get<Options>(measuring));
  EXPECT_EQ(measure.to.text, "10.0.0.2");
  EXPECT_EQ(measure.bind.text, "10.0.0.1");
  EXPECT_THAT(measure.ports, testing::ElementsAre(4001, 4003, 4002));
  EXPECT_EQ(measure.bits_per_second, 90'000'000'000U);
  const auto alone = parse({"rdma-loopback", "--device", "mlx5_0", "--seconds", "2"});
  EXPECT_EQ(std::get<RdmaLoopbackOptions>(std::get<Options>(alone)).seconds, 2);
}

TEST(Options, invalid_rdma_options_are_refused) {
  const auto measure = [](std::vector<const char*> words) {
    words.insert(words.begin(), {"rdma-measure", "--bind", "10.0.0.1", "--device", "mlx5_0"});
    return refusal(words);
  };
  EXPECT_THAT(measure({"--port", "1,2,3"}), HasSubstr("--to"));
  EXPECT_THAT(measure({"--to", "10.0.0.2"}), HasSubstr("--port"));
  EXPECT_THAT(measure({"--to", "10.0.0.2", "--port", "1,2"}), HasSubstr("expected three ports"));
  EXPECT_THAT(measure({"--to", "10.0.0.2", "--port", "1,2,2"}), HasSubstr("expected three ports"));
  EXPECT_THAT(measure({"--to", "2001:db8::1", "--port", "1,2,3"}), HasSubstr("need IPv4"));
  EXPECT_THAT(measure({"--to", "node-a", "--port", "1,2,3"}), HasSubstr("'node-a' is not an address"));
  EXPECT_THAT(measure({"--to", "10.0.0.2", "--port", "1,2,3", "--limit", "1K"}), HasSubstr("at least 1M"));
  EXPECT_THAT(measure({"--to", "10.0.0.2", "--port", "1,2,3", "--queues", "0"}), HasSubstr("--queues"));
  EXPECT_THAT(refusal({"rdma-loopback", "--device", "/dev/x"}), HasSubstr("not a device such as mlx5_0"));
  EXPECT_THAT(refusal({"rdma-serve", "--device", "mlx5_0"}), HasSubstr("--bind"));
}

TEST(BitRate, is_a_number_of_bits_with_a_decimal_prefix) {
  EXPECT_EQ(parse_bit_rate("990000000"), 990'000'000U);
  EXPECT_EQ(parse_bit_rate("990M"), 990'000'000U);
  EXPECT_EQ(parse_bit_rate("0.99G"), 990'000'000U);
  EXPECT_EQ(parse_bit_rate("400G"), 400'000'000'000U);
  EXPECT_EQ(parse_bit_rate("1k"), 1000U);
}

TEST(BitRate, other_text_is_refused) {
  for (const char* text : {"", "G", "1g", "990m", "-1", "+1", "1e9", "0", "0.5", "0.0001K", "1.2.3G", "1 G",
                           "1GG", "990Mbit", "inf", "99999999G", "."})
    EXPECT_FALSE(parse_bit_rate(text)) << text;
}

}  // namespace
}  // namespace autopilot::probes::net
