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

struct Told {
  std::string output;
  ChildEnd end;
};

Told run(const std::string& file, std::vector<std::string> arguments,
         Duration patience = std::chrono::seconds(20)) {
  const auto crew = Crew::create();
  const auto child = (*crew)->start(work_of_program(file, std::move(arguments)), mono_now() + patience);
  while ((*crew)->is_running(*child))
    (void)(*crew)->wait(MonoTime::max());
  return {(*crew)->output(*child), (*crew)->end(*child)};
}

TEST(Program, what_it_writes_is_what_the_child_says) {
  const Told told = run("/bin/sh", {"sh", "-c", "echo out; echo err >&2; exit 7"});
  EXPECT_EQ(told.output, "out\nerr\n");
  EXPECT_EQ(told.end.code, 7);
}

TEST(Program, one_that_hangs_ends_at_its_deadline) {
  const Told told = run("/bin/sh", {"sh", "-c", "exec sleep 60"}, std::chrono::milliseconds(200));
  EXPECT_TRUE(told.end.was_overdue);
}

TEST(Program, what_it_started_holds_up_nobody) {
  const MonoTime began = mono_now();
  const Told told = run("/bin/sh", {"sh", "-c", "sleep 10 & wait"}, std::chrono::milliseconds(200));
  EXPECT_TRUE(told.end.was_overdue);
  EXPECT_TRUE(run("/bin/sh", {"sh", "-c", "yes"}).end.said_too_much);
  EXPECT_LT(mono_now() - began, std::chrono::seconds(8));
}

TEST(Program, one_that_cannot_be_started_says_so) {
  const Told told = run("/nosuch/program", {"program"});
  EXPECT_THAT(told.output, testing::HasSubstr("/nosuch/program cannot be started: No such file"));
  EXPECT_EQ(told.end.code, 126);
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

  // One that waits, and says then that it went on.
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

TEST_F(StartLineTest, all_go_on_when_the_last_one_is_there) {
  const std::size_t first = start_waiting(seconds(60));
  EXPECT_FALSE(has_gone_on(first, milliseconds(50)));
  const std::size_t last = start_waiting(seconds(60));
  line_->step_aside();
  EXPECT_TRUE(has_gone_on(first, seconds(30)));
  EXPECT_TRUE(has_gone_on(last, seconds(30)));
}

TEST_F(StartLineTest, nobody_waits_for_one_that_ended) {
  const std::size_t dying = start([](int) { ::pause(); });
  const std::size_t waiting = start_waiting(seconds(60));
  line_->step_aside();
  EXPECT_FALSE(has_gone_on(waiting, milliseconds(50)));
  crew_->kill(dying);
  EXPECT_TRUE(has_gone_on(waiting, seconds(30)));
}

TEST_F(StartLineTest, nobody_waits_for_ever) {
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
      if (event.kind != Event::Kind::said) return event;
    }
  }

  ChildEnd end_of(const Work& work, Duration time = seconds(60)) {
    const std::size_t child = start(work, time);
    EXPECT_EQ(next().kind, Event::Kind::ended);
    return crew_->end(child);
  }

  std::unique_ptr<Crew> crew_;
};

TEST_F(CrewTest, what_a_child_says_is_kept_whole) {
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

TEST_F(CrewTest, one_that_hangs_is_killed_at_its_deadline_and_the_others_are_not) {
  const std::size_t hanging = start([](int) { hang(); }, milliseconds(50));
  const std::size_t other = start([](int) { hang(); });
  const Event event = next();
  EXPECT_EQ(event.child, hanging);
  EXPECT_TRUE(crew_->end(hanging).was_overdue);
  EXPECT_EQ(crew_->end(hanging).signal, SIGKILL);
  EXPECT_TRUE(crew_->is_running(other));
}

TEST_F(CrewTest, one_that_closes_its_output_and_hangs_is_over) {
  EXPECT_EQ(end_of([](int output) {
              ::close(output);
              hang();
            }).signal,
            SIGKILL);
}

TEST_F(CrewTest, one_that_says_too_much_is_killed) {
  const ChildEnd end = end_of([](int output) {
    for (;;)
      say(output, std::string(65536, 'a'));
  });
  EXPECT_TRUE(end.said_too_much);
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

TEST_F(CrewTest, the_time_is_over_while_nobody_says_anything) {
  start([](int) { hang(); });
  EXPECT_EQ(crew_->wait(mono_now() + milliseconds(20)).kind, Event::Kind::time);
  EXPECT_EQ(crew_->wait(mono_now() - seconds(1)).kind, Event::Kind::time);
}

TEST_F(CrewTest, nobody_outlives_the_crew) {
  std::string process;
  const std::size_t child = start([](int output) {
    say(output, std::to_string(::getpid()));
    hang();
  });
  EXPECT_EQ(crew_->wait(mono_now() + seconds(60)).kind, Event::Kind::said);
  process = crew_->output(child);
  crew_.reset();
  EXPECT_EQ(::kill(static_cast<pid_t>(std::stol(process)), 0), -1);
}

TEST_F(CrewTest, what_a_child_prints_is_not_what_the_program_prints) {
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
