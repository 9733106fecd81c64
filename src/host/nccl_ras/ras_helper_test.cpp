// SPDX-License-Identifier: Apache-2.0
#include "host/nccl_ras/ras_helper.hpp"

#include <csignal>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>

#include "host/files/fd.hpp"
#include "host/helpers/helper_server.hpp"
#include "host/process/child.hpp"
#include "host/process/process_handle.hpp"
#include "tests/paths/paths.hpp"
#include "tests/support/host/fake_ras.hpp"
#include "tests/support/host/ras_samples.hpp"

namespace autopilot::host::ras_helper_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Behaviour = FakeRas::Behaviour;

Command helper(const std::vector<std::string>& arguments = {}) {
  Command command{
      .program = paths::fake("fake_helper"), .arguments = {"ras"}, .environment = own_environment()};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  return command;
}

RasTarget target_of(const FakeRas& ras) {
  return {
      .pid = ras.pid(), .started_ticks = ras.started_ticks(), .address = {RasHost::localhost, ras.port()}};
}

std::string sample() {
  return sample_json({{.size = 2, .ranks = {{0, 1, 5}, {1, 2, 5}}}});
}

#define NEEDS_NETWORK_NAMESPACE(ras) \
  if (!(ras).is_ready()) GTEST_SKIP() << "needs the permission to make a network namespace"

TEST(RasTarget, survives_its_encoding) {
  const RasTarget target{.pid = 4711, .started_ticks = 99, .address = {RasHost::ipv6, 65535}};
  const auto parsed = parse_ras_target(encode_ras_target(target));
  ASSERT_TRUE(parsed) << parsed.error().what;
  EXPECT_EQ(parsed->pid, 4711);
  EXPECT_EQ(parsed->started_ticks, 99U);
  EXPECT_EQ(parsed->address.host, RasHost::ipv6);
  EXPECT_EQ(parsed->address.port, 65535);
}

TEST(RasTarget, the_helper_is_no_proxy) {
  for (const char* const text :
       {"null", "{}", R"({"pid":1,"startedTicks":1,"host":"10.0.0.1","port":80})",
        R"({"pid":1,"startedTicks":1,"host":"localhost","port":0})",
        R"({"pid":0,"startedTicks":1,"host":"::1","port":1})",
        R"({"pid":1,"startedTicks":-1,"host":"::1","port":1})", R"({"pid":1,"startedTicks":1,"port":1})"})
    EXPECT_EQ(parse_ras_target(text).error().code, Errc::malformed) << text;
}

TEST(RasAccess, asks_directly_in_the_same_network_namespace) {
  const FakeRas ras(sample());
  RasAccess access({.program = "/nonexistent", .arguments = {}, .environment = {}});
  const auto answer = access.ask(target_of(ras), mono_now() + 20s);
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(*answer, sample());
}

TEST(RasAccess, a_helper_enters_the_network_namespace_of_the_job) {
  const FakeRas ras(sample(), {.has_own_network = true, .port = 28028});
  NEEDS_NETWORK_NAMESPACE(ras);
  RasAccess access(helper());
  for (int i = 0; i < 2; ++i) {
    const auto answer = access.ask(target_of(ras), mono_now() + 20s);
    ASSERT_TRUE(answer) << answer.error().what;
    EXPECT_EQ(*answer, sample());
  }
}

TEST(RasAccess, a_large_answer_comes_in_pieces) {
  std::string large = sample();
  large.insert(large.size() - 2, std::string(std::size_t{1} << 20, ' ') + "\xc3\xa9\x01");
  const FakeRas ras(large, {.has_own_network = true});
  NEEDS_NETWORK_NAMESPACE(ras);
  RasAccess access(helper());
  const auto answer = access.ask(target_of(ras), mono_now() + 20s);
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_TRUE(*answer == large);
}

TEST(RasAccess, reports_why_a_job_in_another_namespace_does_not_answer) {
  RasAccess access(helper());
  const FakeRas refused("", {.behaviour = Behaviour::only_lives, .has_own_network = true});
  NEEDS_NETWORK_NAMESPACE(refused);
  EXPECT_EQ(access.ask(target_of(refused), mono_now() + 20s).error().code, Errc::unavailable);
  const FakeRas endless("", {.behaviour = Behaviour::never_ends, .has_own_network = true});
  EXPECT_EQ(access.ask(target_of(endless), mono_now() + 20s).error().code, Errc::exhausted);
  const FakeRas silent("", {.behaviour = Behaviour::never_answers, .has_own_network = true});
  EXPECT_EQ(access.ask(target_of(silent), mono_now() + 200ms).error().code, Errc::timed_out);
  const FakeRas working(sample(), {.has_own_network = true});
  EXPECT_TRUE(access.ask(target_of(working), mono_now() + 20s)) << "the helper stays usable";
}

TEST(RasAccess, another_process_with_the_pid_is_not_asked) {
  const FakeRas ras(sample());
  RasTarget target = target_of(ras);
  ++target.started_ticks;
  RasAccess access(helper());
  EXPECT_EQ(access.ask(target, mono_now() + 20s).error().code, Errc::not_found);
}

TEST(RasAccess, asks_a_helper_behind_a_socket) {
  const FakeRas ras(sample(), {.has_own_network = true});
  NEEDS_NETWORK_NAMESPACE(ras);
  const TestFolder folder;
  const std::string socket = folder / "ras.sock";
  auto child =
      Child::start(helper({"--listen", socket}), {.output = -1, .errors = STDERR_FILENO, .extra = -1});
  ASSERT_TRUE(child) << child.error().what;
  RasAccess access({}, socket);
  Result<std::string> answer = fail(Errc::internal, "not asked");
  for (const MonoTime until = mono_now() + 20s; !answer && mono_now() < until;)
    answer = access.ask(target_of(ras), until);
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(*answer, sample());
  child->send_signal(SIGTERM);
  EXPECT_TRUE(child->wait_until(mono_now() + 20s));
  EXPECT_EQ(access.ask(target_of(ras), mono_now() + 20s).error().code, Errc::unavailable);
}

TEST(RasHelper, refuses_other_arguments) {
  EXPECT_EQ(run_ras_helper(-1, {"--port", "1"}), 64);
}

}  // namespace
}  // namespace autopilot::host::ras_helper_test
