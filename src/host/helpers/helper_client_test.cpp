// SPDX-License-Identifier: Apache-2.0
#include "host/helpers/helper_client.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <thread>

#include "core/parse.hpp"
#include "host/files/fd.hpp"
#include "host/files/files.hpp"
#include "host/helpers/message.hpp"
#include "tests/paths/paths.hpp"

namespace autopilot::host {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

constexpr MonoTime kNow{1h};

TEST(StderrLines, lines_are_given_whole_however_they_come) {
  StderrLines words;
  EXPECT_THAT(words.take("NVML: one\nNVML: t", kNow), ElementsAre("NVML: one"));
  EXPECT_THAT(words.take("wo\n\nlast", kNow), ElementsAre("NVML: two", ""));
  EXPECT_THAT(words.finish(kNow), ElementsAre("last"));
  EXPECT_THAT(words.finish(kNow), IsEmpty());
}

TEST(StderrLines, a_line_of_megabytes_is_cut) {
  StderrLines words;
  for (int i = 0; i < 1000; ++i)
    EXPECT_THAT(words.take(std::string(1 << 12, 'x'), kNow), IsEmpty());
  EXPECT_THAT(words.take("\nnext\n", kNow), ElementsAre(std::string(StderrLines::kMaxLine, 'x'), "next"));
}

TEST(StderrLines, a_storm_of_lines_is_cut_and_that_is_said) {
  StderrLines words;
  std::string storm;
  for (std::size_t i = 0; i < StderrLines::kMaxLines * 3; ++i)
    storm += "again\n";
  const auto lines = words.take(storm, kNow);
  ASSERT_THAT(lines, SizeIs(StderrLines::kMaxLines + 1));
  EXPECT_THAT(lines.back(), ::testing::HasSubstr("left out"));
  EXPECT_THAT(words.take(storm, kNow + 59s), IsEmpty());
  EXPECT_THAT(words.take("later\n", kNow + StderrLines::kWindow), ElementsAre("later"));
}

using ::testing::HasSubstr;

Command fake(const std::string& kind = "fake") {
  return {.program = paths::fake("fake_helper"), .arguments = {kind}, .environment = own_environment()};
}

MonoTime in(Duration duration) {
  return mono_now() + duration;
}

std::string misbehaviour(std::string_view how) {
  return "\"" + std::string(how) + "\"";
}

pid_t pid_of(HelperClient& client) {
  const auto answer = client.call("pid", "null", in(20s));
  EXPECT_TRUE(answer.has_value()) << answer.error().error.what;
  return answer ? parse_number<pid_t>(*answer).value() : -1;
}

TEST(HelperClient, asks_one_process_again_and_again) {
  HelperClient client("fake", fake());
  EXPECT_FALSE(client.stats().is_alive);
  EXPECT_EQ(client.call("echo", R"({"a":[1,2]})", in(20s)).value(), R"({"a":[1,2]})");
  const pid_t pid = pid_of(client);
  EXPECT_EQ(pid_of(client), pid);
  const std::string big = "\"" + std::string(900000, 'x') + "\"";
  EXPECT_EQ(client.call("echo", big, in(20s)).value(), big);
  const HelperStats stats = client.stats();
  EXPECT_TRUE(stats.is_alive);
  EXPECT_EQ(stats.starts, 1U);
  EXPECT_EQ(stats.calls, 4U);
  EXPECT_EQ(stats.failures, 0U);
}

TEST(HelperClient, one_that_writes_without_end_neither_waits_nor_fills_the_log) {
  HelperClient client("fake", fake());
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(client.call("misbehave", misbehaviour("shout"), in(20s)).value(), "\"done\"");
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("helper=fake line=again"));
  EXPECT_EQ(std::ranges::count(log, '\n'), static_cast<std::ptrdiff_t>(StderrLines::kMaxLines) + 1);
}

TEST(HelperClient, the_last_words_of_one_that_dies_are_logged) {
  HelperClient client("fake", fake());
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(client.call("misbehave", misbehaviour("last_words"), in(20s)));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("out of luck"));
}

TEST(HelperClient, that_rests_has_no_process_until_the_next_call) {
  HelperClient client("fake", fake());
  client.rest();
  EXPECT_EQ(client.stats().starts, 0U);
  const pid_t pid = pid_of(client);
  client.rest();
  EXPECT_FALSE(client.stats().is_alive);
  EXPECT_EQ(client.stats().stuck, 0);
  EXPECT_EQ(::kill(pid, 0), -1);
  EXPECT_NE(pid_of(client), pid);
  EXPECT_EQ(client.stats().starts, 2U);
  EXPECT_EQ(client.stats().failures, 0U);
}

TEST(HelperClient, that_rests_ends_a_process_that_lingers) {
  HelperClient client("fake", fake("lingers"), {.kill_patience = 500ms});
  EXPECT_EQ(client.call("pid", "null", in(20s)).error().error.code, Errc::unsupported);
  client.rest();
  EXPECT_FALSE(client.stats().is_alive);
  EXPECT_EQ(client.stats().stuck, 0);
}

TEST(HelperClient, an_honest_no_is_no_failure) {
  HelperClient client("fake", fake());
  const auto refused = client.call("refuse", "null", in(20s));
  EXPECT_EQ(refused.error().failure, HelperFailure::refused);
  EXPECT_EQ(refused.error().error.code, Errc::denied);
  EXPECT_EQ(client.call("no such method", "null", in(20s)).error().error.code, Errc::unsupported);
  EXPECT_EQ(client.call("echo", "\"" + std::string(2 << 20, 'x') + "\"", in(20s)).error().error.code,
            Errc::exhausted);
  EXPECT_EQ(client.call("misbehave", misbehaviour("too_long"), in(20s)).error().error.code, Errc::exhausted);
  EXPECT_EQ(client.stats().starts, 1U);
  EXPECT_EQ(client.stats().failures, 0U);
}

class HelperThat : public ::testing::TestWithParam<std::pair<const char*, HelperFailure>> {};

TEST_P(HelperThat, misbehaves_is_named_and_replaced) {
  HelperClient client("fake", fake());
  const pid_t before = pid_of(client);
  const auto [how, failure] = GetParam();
  const auto answer =
      client.call("misbehave", misbehaviour(how), in(failure == HelperFailure::timed_out ? 200ms : 20s));
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().failure, failure)
      << to_string(answer.error().failure) << answer.error().error.what;
  EXPECT_THAT(answer.error().error.what, HasSubstr("fake helper: "));
  EXPECT_EQ(answer.error().stuck_pid, -1);
  EXPECT_FALSE(Files().exists("/proc/" + std::to_string(before)));
  EXPECT_NE(pid_of(client), before);
  EXPECT_EQ(client.stats().starts, 2U);
  EXPECT_EQ(client.stats().failures, 1U);
  EXPECT_EQ(client.stats().stuck, 0);
}

INSTANTIATE_TEST_SUITE_P(
    , HelperThat,
    ::testing::Values(
        std::pair{"hang", HelperFailure::timed_out}, std::pair{"ignore_sigterm", HelperFailure::timed_out},
        std::pair{"stop", HelperFailure::timed_out}, std::pair{"partial", HelperFailure::timed_out},
        std::pair{"exit", HelperFailure::crashed}, std::pair{"segfault", HelperFailure::crashed},
        std::pair{"half_and_die", HelperFailure::crashed}, std::pair{"wrong_id", HelperFailure::malformed},
        std::pair{"wrong_version", HelperFailure::malformed}, std::pair{"garbage", HelperFailure::malformed},
        std::pair{"not_json", HelperFailure::malformed}, std::pair{"no_result", HelperFailure::malformed},
        std::pair{"flood", HelperFailure::malformed}),
    [](const auto& test) { return test.param.first; });

TEST(HelperClient, says_how_the_helper_died) {
  HelperClient client("fake", fake());
  EXPECT_THAT(client.call("misbehave", misbehaviour("exit"), in(20s)).error().error.what,
              HasSubstr("exit code 9"));
  EXPECT_THAT(client.call("misbehave", misbehaviour("segfault"), in(20s)).error().error.what,
              HasSubstr("signal 11"));
}

TEST(HelperClient, says_that_the_program_cannot_be_started) {
  HelperClient client("fake", {.program = "/no/such/helper", .arguments = {}, .environment = {}});
  const auto answer = client.call("echo", "1", in(20s));
  EXPECT_EQ(answer.error().failure, HelperFailure::not_started);
  EXPECT_THAT(answer.error().error.what, HasSubstr("/no/such/helper"));
}

TEST(HelperClient, does_not_restart_a_helper_that_always_crashes_at_once) {
  HelperLimits limits;
  limits.first_backoff = 1h;
  limits.last_backoff = 1h;
  HelperClient client("fake", fake("dies_at_once"), limits);
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(client.call("echo", "1", in(20s)).error().failure, HelperFailure::crashed);
  EXPECT_EQ(client.stats().starts, 2U);
}

TEST(HelperClient, starts_again_when_the_pause_is_over) {
  HelperLimits limits;
  limits.first_backoff = 1ns;
  limits.last_backoff = 1ns;
  HelperClient client("fake", fake("dies_at_once"), limits);
  for (int i = 0; i < 3; ++i)
    EXPECT_FALSE(client.call("echo", "1", in(20s)).has_value());
  EXPECT_EQ(client.stats().starts, 3U);
}

TEST(HelperClient, does_not_blame_a_call_for_a_death_before_it) {
  HelperClient client("fake", fake());
  const pid_t pid = pid_of(client);
  ::kill(pid, SIGKILL);
  while (client.stats().starts == 1U) {
    const auto answer = client.call("pid", "null", in(20s));
    if (!answer) {  // asked before the kernel had ended it
      EXPECT_EQ(answer.error().failure, HelperFailure::crashed);
      break;
    }
  }
  EXPECT_NE(pid_of(client), pid);
}

TEST(HelperClient, callers_wait_for_each_other_within_their_deadline) {
  HelperClient client("fake", fake());
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&client, i] {
      for (int n = 0; n < 20; ++n)
        EXPECT_EQ(client.call("echo", std::to_string(i), in(60s)).value_or("none"), std::to_string(i));
    });
  threads.clear();
  EXPECT_EQ(client.stats().starts, 1U);

  std::jthread slow([&] {
    EXPECT_EQ(client.call("misbehave", misbehaviour("hang"), in(2s)).error().failure,
              HelperFailure::timed_out);
  });
  while (client.stats().calls < 161U)
    std::this_thread::yield();
  const auto hurried = client.call("echo", "1", in(1ms));
  EXPECT_EQ(hurried.error().failure, HelperFailure::timed_out);
  EXPECT_EQ(client.stats().failures, 1U);
  EXPECT_EQ(client.call("echo", "1", in(60s)).value(), "1");
}

TEST(HelperClient, nobody_waits_behind_a_question_to_a_silent_helper) {
  HelperClient client("fake", fake());
  EXPECT_EQ(client.call("misbehave", misbehaviour("hang"), in(100ms)).error().failure,
            HelperFailure::timed_out);
  std::atomic<bool> has_given_up = false;
  std::jthread slow([&] {
    EXPECT_EQ(client.call("misbehave", misbehaviour("hang"), in(5s)).error().failure,
              HelperFailure::timed_out);
    has_given_up = true;
  });
  while (client.stats().starts < 2U)
    std::this_thread::yield();
  const auto answer = client.call("echo", "1", in(60s));
  EXPECT_FALSE(has_given_up);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().failure, HelperFailure::timed_out);
  slow.join();
  EXPECT_EQ(client.call("echo", "1", in(60s)).value_or("none"), "1");
}

TEST(HelperClient, has_no_time_left_without_asking) {
  HelperClient client("fake", fake());
  EXPECT_EQ(client.call("echo", "1", MonoTime{}).error().failure, HelperFailure::timed_out);
  EXPECT_EQ(client.stats().starts, 0U);
}

// The agent is gone when its end of the socket is closed.
TEST(HelperServer, ends_with_its_agent_also_in_the_middle_of_a_call) {
  for (const bool in_a_call : {false, true}) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    Fd ours(ends[0]);
    Fd theirs(ends[1]);
    auto child = Child::start(fake(), {.output = -1, .errors = -1, .extra = theirs.get()});
    ASSERT_TRUE(child.has_value());
    theirs.reset();
    if (in_a_call) {
      const std::string frame =
          encode_frame(encode_request({.id = 1, .method = "misbehave", .params = "\"hang\"", .timeout = 1h}))
              .value();
      ASSERT_EQ(::send(ours.get(), frame.data(), frame.size(), 0), static_cast<ssize_t>(frame.size()));
    }
    EXPECT_FALSE(child->wait_until(in(50ms)).has_value());
    ours.reset();
    const auto status = child->wait_until(in(20s));
    ASSERT_TRUE(status.has_value());
    EXPECT_EQ(to_string(*status), "exit code 0");
  }
}

// Sends an answer to the first request, with two descriptors.
void answer_with_two(int socket) {
  const std::string frame = encode_frame(encode_answer({.id = 1, .result = "null"})).value();
  const std::array<int, 2> descriptors{socket, socket};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof descriptors)> control{};
  std::string bytes = frame;
  iovec part{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptors);
  std::memcpy(CMSG_DATA(header), descriptors.data(), sizeof descriptors);
  ASSERT_EQ(::sendmsg(socket, &message, 0), static_cast<ssize_t>(bytes.size()));
}

TEST(HelperStream, keeps_one_descriptor_of_many) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const Fd helper(ends[1]);
  HelperStream stream("fake helper", Fd(ends[0]));
  const std::size_t before = Files("").list("/proc/self/fd").value().size();
  answer_with_two(helper.get());
  ASSERT_TRUE(stream.exchange("open", "null", in(20s)));
  EXPECT_TRUE(stream.take_descriptor());
  EXPECT_FALSE(stream.take_descriptor());
  EXPECT_EQ(Files("").list("/proc/self/fd").value().size(), before);
}

}  // namespace
}  // namespace autopilot::host
