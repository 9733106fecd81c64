// SPDX-License-Identifier: Apache-2.0
#include "host/nccl_ras/ras_client.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/files/fd.hpp"
#include "tests/support/host/fake_ras.hpp"
#include "tests/support/host/ras_samples.hpp"

namespace autopilot::host::ras_client_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Behaviour = FakeRas::Behaviour;

Result<std::string> ask(const FakeRas& ras, Duration patience = 20s) {
  return query_ras({RasHost::localhost, ras.port()}, mono_now() + patience);
}

TEST(RasClient, gets_json_from_a_newer_nccl_and_text_from_an_older_one) {
  const std::string json = sample_json({{.size = 1, .ranks = {{0, 1, 5}}}});
  EXPECT_EQ(ask(FakeRas(json)).value(), json);
  EXPECT_EQ(ask(FakeRas(sample_text_mismatch(), {.behaviour = Behaviour::text})).value(),
            sample_text_mismatch());
}

TEST(RasClient, an_answer_of_megabytes_arrives_whole) {
  const std::string answer(std::size_t{2} << 20, 'x');
  EXPECT_EQ(ask(FakeRas(answer))->size(), answer.size());
}

TEST(RasClient, tells_failures_apart) {
  EXPECT_EQ(ask(FakeRas("", {.behaviour = Behaviour::only_lives})).error().code, Errc::unavailable);
  EXPECT_EQ(ask(FakeRas("", {.behaviour = Behaviour::closes})).error().code, Errc::unavailable);
  EXPECT_EQ(ask(FakeRas("", {.behaviour = Behaviour::speaks_http})).error().code, Errc::malformed);
  EXPECT_EQ(ask(FakeRas("", {.behaviour = Behaviour::never_ends})).error().code, Errc::exhausted);
  EXPECT_EQ(ask(FakeRas("", {.behaviour = Behaviour::never_answers}), 100ms).error().code, Errc::timed_out);
}

TEST(RasClient, asks_loopback_only) {
  EXPECT_EQ(parse_ras_address("")->port, 28028);
  EXPECT_EQ(parse_ras_address("localhost:4000")->port, 4000);
  EXPECT_EQ(parse_ras_address("127.0.0.1:1")->host, RasHost::ipv4);
  EXPECT_EQ(parse_ras_address("0.0.0.0:1")->host, RasHost::ipv4);
  EXPECT_EQ(parse_ras_address("[::1]:65535")->host, RasHost::ipv6);
  for (const char* const text : {"10.0.0.1:28028", "example.com:80", "[fe80::1]:28028"})
    EXPECT_EQ(parse_ras_address(text).error().code, Errc::unsupported) << text;
  for (const char* const text : {"localhost", "localhost:", "localhost:0", "localhost:65536", ":x"})
    EXPECT_EQ(parse_ras_address(text).error().code, Errc::malformed) << text;
  EXPECT_THAT(parse_ras_address("10.0.0.1:28028").error().what, HasSubstr("use localhost:PORT"));
}

}  // namespace
}  // namespace autopilot::host::ras_client_test
