// SPDX-License-Identifier: Apache-2.0
#include "host/process/child_runner.hpp"

#include <array>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "core/parse.hpp"
#include "host/files/fd.hpp"
#include "host/files/files.hpp"

namespace autopilot::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

Command shell(const std::string& script) {
  return {.program = "/bin/sh", .arguments = {"-c", script}, .environment = {"PATH=/usr/bin:/bin", "A=b c"}};
}

MonoTime in(Duration duration) {
  return mono_now() + duration;
}

ChildReport run(const std::string& script, Duration deadline = 20s, const RunLimits& limits = {}) {
  ChildRunner runner;
  auto report = runner.run(shell(script), in(deadline), limits);
  EXPECT_TRUE(report.has_value()) << report.error().what;
  return report.value_or(ChildReport{});
}

// Gone, or a zombie that only its new parent can take away.
bool is_gone(const std::string& pid) {
  const auto stat = Files().read("/proc/" + pid + "/stat");
  return !stat || stat->find(") Z ") != std::string::npos;
}

bool becomes_gone(const std::string& pid) {
  const MonoTime deadline = in(10s);
  while (!is_gone(pid)) {
    if (mono_now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(ChildRunner, reports_exit_code_and_both_streams) {
  const ChildReport report = run("echo out; echo err >&2; exit 3");
  EXPECT_EQ(report.end, ChildEnd::exited);
  EXPECT_EQ(report.status.code, 3);
  EXPECT_EQ(report.output, "out\n");
  EXPECT_EQ(report.errors, "err\n");
  EXPECT_EQ(to_string(report.status), "exit code 3");
}

TEST(ChildRunner, reports_the_signal_that_ended_it) {
  const ChildReport report = run("kill -SEGV $$");
  EXPECT_EQ(report.end, ChildEnd::signalled);
  EXPECT_EQ(report.status.code, SIGSEGV);
  EXPECT_THAT(to_string(report.status), HasSubstr("signal 11"));
}

TEST(ChildRunner, says_why_it_cannot_start) {
  ChildRunner runner;
  const auto missing = runner.run({.program = "/no/such", .arguments = {}, .environment = {}}, in(1s));
  EXPECT_EQ(missing.error().code, Errc::not_found);
  EXPECT_THAT(missing.error().what, HasSubstr("/no/such"));
  const auto plain = runner.run({.program = "/etc/passwd", .arguments = {}, .environment = {}}, in(1s));
  EXPECT_EQ(plain.error().code, Errc::denied);
}

TEST(ChildRunner, gives_the_child_nothing_but_what_is_named) {
  const int leaked = ::open("/dev/null", O_RDONLY);
  ASSERT_GE(leaked, 0);
  const ChildReport report = run("env | sort; readlink /proc/$$/fd/*; cat");
  ::close(leaked);
  EXPECT_THAT(report.output, HasSubstr("A=b c\n"));
  EXPECT_THAT(report.output, ::testing::Not(HasSubstr("HOME=")));
  EXPECT_THAT(report.output, HasSubstr("/dev/null\npipe:"));
  int descriptors = 0;
  for (const std::string_view line : split(report.output, '\n'))
    if (line.starts_with("/dev/null") || line.starts_with("pipe:")) ++descriptors;
  EXPECT_EQ(descriptors, 3);
}

TEST(ChildRunner, resets_signals_and_leads_its_own_group) {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &blocked, &before), 0);
  auto* const handler = std::signal(SIGPIPE, SIG_IGN);
  ChildRunner runner;
  const auto report = runner.run({.program = "/bin/grep",
                                  .arguments = {"-E", "^(Pid|NSpgid|Sig(Blk|Ign)):", "/proc/self/status"},
                                  .environment = {}},
                                 in(20s));
  std::signal(SIGPIPE, handler);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_TRUE(report.has_value());
  const auto lines = split(report->output, '\n');
  ASSERT_GE(lines.size(), 4U);
  EXPECT_EQ(split(lines[0], '\t')[1], split(lines[1], '\t')[1]);  // its own group
  EXPECT_EQ(lines[2], "SigBlk:\t0000000000000000");
  // The C library keeps its two internal signals ignored.
  EXPECT_EQ(parse_number<std::uint64_t>(split(lines[3], '\t')[1], 16).value() & 0x7fffffff, 0U) << lines[3];
}

TEST(ChildRunner, asks_before_it_kills_at_the_deadline) {
  const ChildReport report =
      run("trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done", 300ms);
  EXPECT_EQ(report.end, ChildEnd::timed_out);
  EXPECT_EQ(report.output, "ready\nbye\n");
  EXPECT_EQ(report.status.code, 7);
}

TEST(ChildRunner, kills_what_does_not_listen_and_its_children) {
  RunLimits limits;
  limits.grace = 100ms;
  const ChildReport report = run("trap '' TERM; sleep 1000 & echo $!; echo $$; wait", 300ms, limits);
  EXPECT_EQ(report.end, ChildEnd::timed_out);
  EXPECT_TRUE(report.status.was_signalled);
  EXPECT_EQ(report.status.code, SIGKILL);
  const auto pids = split(report.output, '\n');
  ASSERT_GE(pids.size(), 2U);
  EXPECT_TRUE(becomes_gone(std::string(pids[0])));
  EXPECT_TRUE(becomes_gone(std::string(pids[1])));
}

TEST(ChildRunner, a_stopped_child_is_ended_too) {
  const ChildReport report = run("kill -STOP $$", 200ms);
  EXPECT_EQ(report.end, ChildEnd::timed_out);
  EXPECT_FALSE(report.was_abandoned);
}

TEST(ChildRunner, what_a_child_leaves_behind_is_killed_with_it) {
  const ChildReport report = run("sleep 1000 & echo $!");
  EXPECT_EQ(report.end, ChildEnd::exited);
  EXPECT_TRUE(becomes_gone(std::string(trim(report.output))));
}

TEST(ChildRunner, one_that_joins_stays_in_our_group_and_ends_at_its_deadline_all_the_same) {
  Command command = shell("read -r pid name state parent group rest < /proc/$$/stat; echo $group");
  command.joins_group = true;
  ChildRunner runner;
  const auto told = runner.run(command, in(20s));
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(parse_number<pid_t>(trim(told->output)), ::getpgrp());
  command = shell("exec sleep 1000");
  command.joins_group = true;
  const auto late = runner.run(command, in(50ms));
  ASSERT_TRUE(late.has_value());
  EXPECT_EQ(late->end, ChildEnd::timed_out);
  EXPECT_FALSE(late->was_abandoned);
}

TEST(ChildRunner, does_not_wait_for_one_that_left_the_group_with_the_pipe) {
  const ChildReport report = run("setsid sleep 1000 & echo $!");
  EXPECT_EQ(report.end, ChildEnd::exited);
  const auto pid = parse_number<int>(trim(report.output));
  ASSERT_TRUE(pid);
  ::kill(*pid, SIGKILL);
}

TEST(ChildRunner, keeps_a_bounded_output_and_counts_the_rest) {
  RunLimits limits;
  limits.output_bytes = 1000;
  const ChildReport report = run("head -c 10000000 /dev/zero; head -c 5000 /dev/zero >&2", 60s, limits);
  EXPECT_EQ(report.end, ChildEnd::exited);
  EXPECT_EQ(report.output.size(), 1000U);
  EXPECT_EQ(report.errors.size(), 1000U);
  EXPECT_EQ(report.dropped_bytes, 10'000'000U + 5000U - 2000U);
}

TEST(ChildRunner, an_endless_flood_does_not_outlive_the_deadline) {
  const ChildReport report = run("exec cat /dev/zero", 200ms);
  EXPECT_EQ(report.end, ChildEnd::timed_out);
  EXPECT_GT(report.dropped_bytes, 0U);
}

TEST(ChildRunner, hands_out_lines_while_it_runs) {
  std::vector<std::string> lines;
  ChildRunner runner;
  const auto report = runner.run(shell("echo one; printf 'two\\nrest'; exit 0"), in(20s), {}, {},
                                 [&](std::string_view line) { lines.emplace_back(line); });
  ASSERT_TRUE(report.has_value());
  EXPECT_THAT(lines, ElementsAre("one", "two", "rest"));
}

TEST(ChildRunner, cuts_a_line_without_end) {
  std::vector<std::size_t> sizes;
  ChildRunner runner;
  const auto report = runner.run(shell("head -c 1000000 /dev/zero; echo; echo x"), in(20s), {}, {},
                                 [&](std::string_view line) { sizes.push_back(line.size()); });
  ASSERT_TRUE(report.has_value());
  EXPECT_THAT(sizes, ElementsAre(RunLimits::kMaxLine, 1U));
}

TEST(ChildRunner, can_be_cancelled_by_another_thread) {
  std::stop_source stop;
  ChildRunner runner;
  const auto report =
      runner.run(shell("echo go; exec sleep 1000"), in(60s), {}, stop.get_token(),
                 [&](std::string_view) { std::jthread([&] { stop.request_stop(); }).join(); });
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->end, ChildEnd::cancelled);
  EXPECT_EQ(report->status.code, SIGTERM);
}

TEST(ChildRunner, runs_for_many_threads_at_once) {
  ChildRunner runner;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&runner, i] {
      const auto report = runner.run(shell("echo " + std::to_string(i)), in(60s));
      ASSERT_TRUE(report.has_value());
      EXPECT_EQ(report->output, std::to_string(i) + "\n");
    });
  threads.clear();
  EXPECT_EQ(runner.abandoned(), 0U);
}

// A debugger, or the leak detector of a sanitizer: who traces a process keeps its end from its parent.
class Tracer {
 public:
  explicit Tracer(pid_t target) {
    std::array<int, 2> ready{};
    std::array<int, 2> end{};
    if (::pipe2(ready.data(), O_CLOEXEC) != 0 || ::pipe2(end.data(), O_CLOEXEC) != 0) return;
    const Fd ready_in(ready[0]);
    Fd ready_out(ready[1]);
    Fd end_in(end[0]);
    end_ = Fd(end[1]);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(end[1]);
      char word = ::ptrace(PTRACE_SEIZE, target, nullptr, nullptr) == 0 ? 'y' : 'n';
      static_cast<void>(::write(ready[1], &word, 1));
      static_cast<void>(::read(end[0], &word, 1));
      ::_exit(0);
    }
    ready_out.reset();
    end_in.reset();
    char word = 'n';
    traces_ = pid_ > 0 && ::read(ready_in.get(), &word, 1) == 1 && word == 'y';
  }
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  ~Tracer() { let_go(); }
  [[nodiscard]] bool traces() const { return traces_; }
  void let_go() {
    end_.reset();
    if (pid_ > 0) ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  }

 private:
  Fd end_;
  pid_t pid_ = -1;
  bool traces_ = false;
};

TEST(Child, one_that_somebody_traces_tells_its_end_when_it_can) {
  auto child = Child::start(shell("exec sleep 1000"), {});
  ASSERT_TRUE(child.has_value());
  Tracer tracer(child->pid());
  if (!tracer.traces()) GTEST_SKIP() << "processes may not be traced here";
  child->send_signal(SIGKILL);
  EXPECT_FALSE(child->wait_until(in(100ms)).has_value());
  tracer.let_go();
  const auto status = child->wait_until(in(20s));
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(to_string(*status), "signal 9 (Killed)");
  EXPECT_NE(::kill(child->pid(), 0), 0) << "it was not taken away";
}

TEST(Child, dies_with_its_owner) {
  std::string pid;
  {
    auto child = Child::start(shell("exec sleep 1000"), {});
    ASSERT_TRUE(child.has_value());
    pid = std::to_string(child->pid());
    EXPECT_FALSE(is_gone(pid));
    EXPECT_FALSE(child->wait_until(mono_now()).has_value());
  }
  EXPECT_FALSE(Files().exists("/proc/" + pid));
}

TEST(Environment, programs_of_tests_get_what_they_read_and_nothing_else) {
  ::setenv("NCCL_DEBUG", "WARN", 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
  ::setenv("PATHS", "no such name", 1);
  const auto variables = environment_of_tests();
  for (const char* name : {"NCCL_DEBUG", "AWS_SECRET_ACCESS_KEY", "PATHS"})
    ::unsetenv(name);
  EXPECT_THAT(variables, ::testing::Contains("NCCL_DEBUG=WARN"));
  EXPECT_THAT(variables, ::testing::Contains(::testing::StartsWith("PATH=")));
  for (const std::string& variable : variables)
    EXPECT_THAT(variable, ::testing::Not(::testing::AnyOf(HasSubstr("secret"), HasSubstr("PATHS"))));
}

}  // namespace
}  // namespace autopilot::host
