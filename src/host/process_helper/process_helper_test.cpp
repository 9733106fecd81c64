// SPDX-License-Identifier: Apache-2.0
#include "host/process_helper/process_helper.hpp"

#include <array>
#include <chrono>
#include <csignal>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/files/fd.hpp"
#include "host/files/files.hpp"
#include "host/process/child.hpp"
#include "tests/paths/paths.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::host::process_helper_test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr uid_t kOtherUser = 65534;

// A rank of another user, which only root can start; ends with its owner.
class OtherRank {
 public:
  OtherRank() : pid_(::fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::setgid(kOtherUser) != 0 || ::setuid(kOtherUser) != 0) ::_exit(1);
    ::execle("/bin/sleep", "sleep", "60", nullptr, kEnvironment.data());
    ::_exit(1);
  }
  OtherRank(const OtherRank&) = delete;
  OtherRank& operator=(const OtherRank&) = delete;
  ~OtherRank() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] std::int64_t pid() const { return pid_; }
  [[nodiscard]] std::uint64_t started_ticks() const { return read_task_state(Files(), pid_)->started_ticks; }

 private:
  static constexpr std::array<const char*, 5> kEnvironment{
      "RANK=5", "SECRET=hunter2", "NCCL_RAS_ADDR=localhost:28030", "RANK=6", nullptr};
  pid_t pid_;
};

// `autopilot helper ras --listen`, with the two capabilities that it keeps.
class ListeningHelper {
 public:
  explicit ListeningHelper(const std::string& socket)
      : child_(Child::start({.program = paths::fake("fake_helper"),
                             .arguments = {"ras", "--listen", socket},
                             .environment = own_environment()},
                            {.output = -1, .errors = STDERR_FILENO, .extra = -1})
                   .value()) {
    const MonoTime until = mono_now() + 20s;
    while (!connect_to_helper(socket) && mono_now() < until)
      ::usleep(1000);
  }
  void end() {
    child_.send_signal(SIGTERM);
    EXPECT_TRUE(child_.wait_until(mono_now() + 20s));
  }

 private:
  Child child_;
};

TEST(ProcessMessages, survive_their_encoding) {
  const auto start = parse_process_start(encode_process_start({.pid = 4711, .started_ticks = 99}));
  ASSERT_TRUE(start) << start.error().what;
  EXPECT_EQ(start->pid, 4711);
  EXPECT_EQ(start->started_ticks, 99U);
  const auto facts =
      parse_facts(encode_facts({.environment = {{"RANK", "3"}}, .is_cut = true, .network_namespace = 7}));
  ASSERT_TRUE(facts) << facts.error().what;
  EXPECT_THAT(facts->environment, ElementsAre(Pair("RANK", "3")));
  EXPECT_TRUE(facts->is_cut);
  EXPECT_EQ(facts->network_namespace, 7U);
  const auto io = parse_io(encode_io({1, 2, 3, 4}));
  ASSERT_TRUE(io) << io.error().what;
  EXPECT_EQ(io->call_read_bytes, 1U);
  EXPECT_EQ(io->call_written_bytes, 2U);
  EXPECT_EQ(io->storage_read_bytes, 3U);
  EXPECT_EQ(io->storage_written_bytes, 4U);
}

TEST(ProcessMessages, are_refused_unless_they_are_complete_and_within_the_limits) {
  for (const char* const text : {"null", "{}", R"({"pid":0,"startedTicks":1})",
                                 R"({"pid":1,"startedTicks":-1})", R"({"pid":4294967296,"startedTicks":1})"})
    EXPECT_EQ(parse_process_start(text).error().code, Errc::malformed) << text;
  const auto with_environment = [](const std::string& environment) {
    return R"({"isCut":0,"networkNamespace":1,"environment":)" + environment + "}";
  };
  EXPECT_TRUE(parse_facts(with_environment(R"({"RANK":"3"})")));
  for (const std::string& environment :
       {std::string("3"), std::string(R"({"SECRET":"hunter2"})"), std::string(R"({"RANK":3})"),
        std::string(R"({"RANK":"a\nb"})"), R"({"RANK":")" + std::string(257, 'x') + "\"}"})
    EXPECT_EQ(parse_facts(with_environment(environment)).error().code, Errc::malformed) << environment;
  EXPECT_EQ(parse_facts(R"({"environment":{}})").error().code, Errc::malformed);
  EXPECT_EQ(parse_io(R"({"callReadBytes":1})").error().code, Errc::malformed);
}

class HelperProcessesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to start a process of another user";
  }
  // Until the process executes its program, it still is a copy of this test.
  static Result<ClosedFacts> facts_of(const HelperProcesses& processes, const OtherRank& rank) {
    for (const MonoTime until = mono_now() + 20s;;) {
      auto facts = processes.facts(rank.pid(), rank.started_ticks());
      if ((facts && facts->environment.contains("RANK")) || mono_now() > until) return facts;
    }
  }

  TestFolder folder_;
  const std::string socket_ = folder_ / "ras.sock";
};

TEST_F(HelperProcessesTest, read_the_listed_variables_of_another_user) {
  ListeningHelper helper(socket_);
  const OtherRank rank;
  const HelperProcesses processes(socket_);
  const auto facts = facts_of(processes, rank);
  ASSERT_TRUE(facts) << facts.error().what;
  EXPECT_THAT(facts->environment, ElementsAre(Pair("NCCL_RAS_ADDR", "localhost:28030"), Pair("RANK", "5")));
  EXPECT_FALSE(facts->is_cut);
  const auto own = Files().resolve("/proc/self/ns/net");
  ASSERT_TRUE(own);
  EXPECT_EQ("net:[" + std::to_string(facts->network_namespace) + "]", *own);
}

TEST_F(HelperProcessesTest, read_the_io_of_a_process_of_root_only) {
  ListeningHelper helper(socket_);
  const HelperProcesses processes(socket_);
  const auto own = read_task_state(Files(), ::getpid());
  const auto io = processes.io(::getpid(), own->started_ticks);
  ASSERT_TRUE(io) << io.error().what;
  EXPECT_GT(io->call_read_bytes, 0U);
  const OtherRank rank;
  ASSERT_TRUE(facts_of(processes, rank));
  EXPECT_EQ(processes.io(rank.pid(), rank.started_ticks()).error().code, Errc::denied);
}

TEST_F(HelperProcessesTest, do_not_read_a_later_process_with_the_pid) {
  ListeningHelper helper(socket_);
  const OtherRank rank;
  const HelperProcesses processes(socket_);
  EXPECT_EQ(processes.facts(rank.pid(), rank.started_ticks() + 1).error().code, Errc::not_found);
}

TEST_F(HelperProcessesTest, find_a_helper_that_was_restarted) {
  const OtherRank rank;
  const HelperProcesses processes(socket_);
  for (int i = 0; i < 2; ++i) {
    ListeningHelper helper(socket_);
    EXPECT_TRUE(facts_of(processes, rank));
    helper.end();
  }
}

TEST(HelperProcesses, leave_a_silent_helper_alone_for_a_moment) {
  const TestFolder folder;
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string path = folder / "ras.sock";
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const Fd silent(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
  ASSERT_EQ(::bind(silent.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(silent.get(), 4), 0);
  const HelperProcesses processes(path);
  EXPECT_EQ(processes.facts(1, 1).error().code, Errc::timed_out);
  EXPECT_EQ(processes.facts(1, 1).error().code, Errc::timed_out);
  EXPECT_TRUE(Fd(::accept(silent.get(), nullptr, nullptr)));
  EXPECT_FALSE(Fd(::accept(silent.get(), nullptr, nullptr))) << "the second request was not sent";
}

TEST(HelperProcesses, state_where_no_helper_listens) {
  const HelperProcesses processes("/nonexistent/ras.sock");
  EXPECT_THAT(processes.io(1, 1).error().what, HasSubstr("/nonexistent/ras.sock: no helper listens there"));
}

}  // namespace
}  // namespace autopilot::host::process_helper_test
