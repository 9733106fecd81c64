// SPDX-License-Identifier: Apache-2.0
#include "probes/net/processes/crew.hpp"

#include <csignal>
#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string_view>
#include <unistd.h>

namespace autopilot::probes::net {
namespace {

struct Ended {
  std::string output;
  ChildEnd end;
};

Ended run(const std::string& file, std::vector<std::string> arguments,
          Duration patience = std::chrono::seconds(20)) {
  const auto crew = Crew::create();
  const auto child = (*crew)->start(work_of_program(file, std::move(arguments)), mono_now() + patience);
  while ((*crew)->is_running(*child))
    (void)(*crew)->wait(MonoTime::max());
  return {(*crew)->output(*child), (*crew)->end(*child)};
}

TEST(Program, its_output_is_that_of_the_child) {
  const Ended ended = run("/bin/sh", {"sh", "-c", "echo out; echo err >&2; exit 7"});
  EXPECT_EQ(ended.output, "out\nerr\n");
  EXPECT_EQ(ended.end.code, 7);
}

TEST(Program, a_hanging_program_ends_at_its_deadline) {
  const Ended ended = run("/bin/sh", {"sh", "-c", "exec sleep 60"}, std::chrono::milliseconds(200));
  EXPECT_TRUE(ended.end.was_overdue);
}

TEST(Program, a_grandchild_does_not_delay_the_end) {
  const MonoTime began = mono_now();
  const Ended ended = run("/bin/sh", {"sh", "-c", "sleep 10 & wait"}, std::chrono::milliseconds(200));
  EXPECT_TRUE(ended.end.was_overdue);
  EXPECT_TRUE(run("/bin/sh", {"sh", "-c", "yes"}).end.had_too_much_output);
  EXPECT_LT(mono_now() - began, std::chrono::seconds(8));
}

TEST(Program, a_program_that_cannot_start_is_an_error) {
  const Ended ended = run("/nosuch/program", {"program"});
  EXPECT_THAT(ended.output, testing::HasSubstr("/nosuch/program cannot be started: No such file"));
  EXPECT_EQ(ended.end.code, 126);
}

TEST(Program, it_is_found_in_a_folder_of_path_and_nowhere_else) {
  EXPECT_THAT(find_program("sh"), testing::Optional(testing::EndsWith("/sh")));
  for (const char* name : {"no-such-program", "", ".", ".."})
    EXPECT_FALSE(find_program(name)) << name;
}

using std::chrono::milliseconds;
using std::chrono::seconds;

class StartLineTest : public testing::Test {
 protected:
  void SetUp() override {
    auto crew = Crew::create();
    auto line = StartLine::create();
    ASSERT_TRUE(crew && line);
    crew_ = std::move(*crew);
    line_ = std::move(*line);
  }

  std::size_t start(const Work& work) {
    const auto child = crew_->start(work, mono_now() + seconds(60));
    EXPECT_TRUE(child);
    return *child;
  }

  // Starts a child that waits, and then reports that it continues.
  std::size_t start_waiting(Duration most) {
    return start([this, most](int output) {
      line_->wait(most);
      EXPECT_EQ(::write(output, "on", 2), 2);
    });
  }

  bool has_gone_on(std::size_t child, Duration within) {
    const MonoTime end = mono_now() + within;
    while (crew_->output(child).empty() && mono_now() < end)
      (void)crew_->wait(end);
    return !crew_->output(child).empty();
  }

  std::unique_ptr<Crew> crew_;
  std::unique_ptr<StartLine> line_;
};

TEST_F(StartLineTest, all_continue_when_the_last_arrives) {
  const std::size_t first = start_waiting(seconds(60));
  EXPECT_FALSE(has_gone_on(first, milliseconds(50)));
  const std::size_t last = start_waiting(seconds(60));
  line_->step_aside();
  EXPECT_TRUE(has_gone_on(first, seconds(30)));
  EXPECT_TRUE(has_gone_on(last, seconds(30)));
}

TEST_F(StartLineTest, a_child_that_ended_is_not_waited_for) {
  const std::size_t dying = start([](int) { ::pause(); });
  const std::size_t waiting = start_waiting(seconds(60));
  line_->step_aside();
  EXPECT_FALSE(has_gone_on(waiting, milliseconds(50)));
  crew_->kill(dying);
  EXPECT_TRUE(has_gone_on(waiting, seconds(30)));
}

TEST_F(StartLineTest, waiting_has_a_deadline) {
  start([](int) { ::pause(); });
  const std::size_t waiting = start_waiting(milliseconds(20));
  line_->step_aside();
  EXPECT_TRUE(has_gone_on(waiting, seconds(30)));
}

void say(int output, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = ::write(output, text.data(), text.size());
    if (size <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(size));
  }
}

[[noreturn]] void hang() {
  for (;;)
    ::pause();
}

class CrewTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = Crew::create();
    ASSERT_TRUE(made);
    crew_ = std::move(*made);
  }

  std::size_t start(const Work& work, Duration time = seconds(60)) {
    const auto child = crew_->start(work, mono_now() + time);
    EXPECT_TRUE(child);
    return *child;
  }

  // What happens next but children that say something.
  Event next() {
    for (;;) {
      const Event event = crew_->wait(mono_now() + seconds(60));
      if (event.kind != Event::Kind::output) return event;
    }
  }

  ChildEnd end_of(const Work& work, Duration time = seconds(60)) {
    const std::size_t child = start(work, time);
    EXPECT_EQ(next().kind, Event::Kind::ended);
    return crew_->end(child);
  }

  std::unique_ptr<Crew> crew_;
};

TEST_F(CrewTest, the_output_of_a_child_is_complete) {
  const std::string text(300000, 'a');
  const std::size_t child = start([&](int output) { say(output, text); });
  EXPECT_EQ(next().kind, Event::Kind::ended);
  EXPECT_EQ(crew_->output(child), text);
  EXPECT_EQ(crew_->end(child).code, 0);
  EXPECT_FALSE(crew_->is_anybody_running());
}

TEST_F(CrewTest, exit_and_crash_and_exception_stay_in_the_child) {
  EXPECT_EQ(end_of([](int) { std::exit(3); }).code, 3);
  EXPECT_EQ(end_of([](int) { ::raise(SIGKILL); }).signal, SIGKILL);
  EXPECT_EQ(end_of([](int) { throw std::runtime_error("of a library"); }).code, 70);
}

TEST_F(CrewTest, only_the_hanging_child_is_killed_at_its_deadline) {
  const std::size_t hanging = start([](int) { hang(); }, milliseconds(50));
  const std::size_t other = start([](int) { hang(); });
  const Event event = next();
  EXPECT_EQ(event.child, hanging);
  EXPECT_TRUE(crew_->end(hanging).was_overdue);
  EXPECT_EQ(crew_->end(hanging).signal, SIGKILL);
  EXPECT_TRUE(crew_->is_running(other));
}

TEST_F(CrewTest, a_child_that_closes_its_output_and_hangs_ends_at_its_deadline) {
  EXPECT_EQ(end_of([](int output) {
              ::close(output);
              hang();
            }).signal,
            SIGKILL);
}

TEST_F(CrewTest, a_child_with_too_much_output_is_killed) {
  const ChildEnd end = end_of([](int output) {
    for (;;)
      say(output, std::string(65536, 'a'));
  });
  EXPECT_TRUE(end.had_too_much_output);
  EXPECT_TRUE(end.signal);
}

TEST_F(CrewTest, a_signal_for_the_program_is_an_event_and_kills_no_child) {
  const std::size_t child = start([](int) { hang(); });
  ::kill(::getpid(), SIGTERM);
  const Event event = next();
  EXPECT_EQ(event.kind, Event::Kind::signal);
  EXPECT_EQ(event.signal, SIGTERM);
  EXPECT_TRUE(crew_->is_running(child));
}

TEST_F(CrewTest, a_signal_for_a_child_ends_it) {
  EXPECT_EQ(end_of([](int) {
              ::raise(SIGTERM);
              hang();
            }).signal,
            SIGTERM);
}

TEST_F(CrewTest, waiting_ends_without_any_output) {
  start([](int) { hang(); });
  EXPECT_EQ(crew_->wait(mono_now() + milliseconds(20)).kind, Event::Kind::time);
  EXPECT_EQ(crew_->wait(mono_now() - seconds(1)).kind, Event::Kind::time);
}

TEST_F(CrewTest, no_child_outlives_the_crew) {
  std::string process;
  const std::size_t child = start([](int output) {
    say(output, std::to_string(::getpid()));
    hang();
  });
  EXPECT_EQ(crew_->wait(mono_now() + seconds(60)).kind, Event::Kind::output);
  process = crew_->output(child);
  crew_.reset();
  EXPECT_EQ(::kill(static_cast<pid_t>(std::stol(process)), 0), -1);
}

TEST_F(CrewTest, standard_output_of_a_child_is_not_that_of_the_program) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(end_of([](int) {
              std::puts("a library's own words");
              std::fflush(stdout);
            }).code,
            0);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

}  // namespace

}  // namespace autopilot::probes::net
