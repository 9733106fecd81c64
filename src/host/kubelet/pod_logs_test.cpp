// SPDX-License-Identifier: Apache-2.0
#include "host/kubelet/pod_logs.hpp"

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "host/files/log_file.hpp"
#include "host/process/child.hpp"
#include "tests/paths/paths.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {
namespace {

using namespace std::chrono_literals;

const std::string kLog = "/ml_llama-0_8b7c1f8e/trainer/3.log";

class PodLog : public ::testing::Test {
 protected:
  void SetUp() override { folder_.write(std::string(kPodLogFolder) + kLog, "step 1\n"); }
  [[nodiscard]] std::string pods() const { return folder_.path() + std::string(kPodLogFolder); }
  [[nodiscard]] Errc error_of(const std::string& path) const {
    const auto file = open_pod_log(path, pods());
    return file ? Errc::internal : file.error().code;
  }

  const TestFolder folder_;
};

TEST_F(PodLog, is_opened_for_reading) {
  const auto file = open_pod_log(pods() + kLog, pods());
  ASSERT_TRUE(file) << file.error().what;
  char text[16]{};
  EXPECT_EQ(::read(file->get(), text, sizeof text), 7);
  EXPECT_STREQ(text, "step 1\n");
  EXPECT_EQ(::fcntl(file->get(), F_GETFL) & O_ACCMODE, O_RDONLY);
}

TEST_F(PodLog, nothing_else_is_opened) {
  folder_.write(std::string(kPodLogFolder) + "/ml_llama-0_8b7c1f8e/trainer/key", "secret");
  for (const std::string& path :
       {std::string("/etc/shadow"), pods(), pods() + "/ml_llama-0_8b7c1f8e/trainer",
        pods() + "/ml_llama-0_8b7c1f8e/trainer/key", pods() + "/../../etc/0.log", pods() + "/./trainer/3.log",
        pods() + "//trainer/3.log", pods() + "x" + kLog, pods() + kLog + "/", pods() + "/a/b/c/3.log",
        pods() + std::string("/a/b/3\0.log", 11), std::string(5000, 'x')})
    EXPECT_EQ(error_of(path), Errc::malformed) << path.substr(0, 200);
  EXPECT_EQ(error_of(pods() + "/ml_llama-0_8b7c1f8e/trainer/4.log"), Errc::not_found);
}

TEST_F(PodLog, links_and_pipes_are_refused) {
  const std::string container = pods() + "/ml_llama-0_8b7c1f8e/trainer";
  std::filesystem::create_symlink("/etc/hostname", container + "/4.log");
  EXPECT_EQ(error_of(container + "/4.log"), Errc::unsupported);
  std::filesystem::create_directory_symlink("/var", pods() + "/ml_link_1");
  EXPECT_EQ(error_of(pods() + "/ml_link_1/log/0.log"), Errc::unsupported);
  ASSERT_EQ(::mkfifo((container + "/5.log").c_str(), 0600), 0);
  EXPECT_EQ(error_of(container + "/5.log"), Errc::unsupported);
}

// A helper of another user.
class AskedPodLog : public PodLog {
 protected:
  void SetUp() override {
    PodLog::SetUp();
    const Command command{.program = paths::fake("fake_helper"),
                          .arguments = {"kubelet", "--root", folder_.path(), "--listen", socket()},
                          .environment = own_environment()};
    auto child = Child::start(command, {.output = -1, .errors = STDERR_FILENO, .extra = -1});
    ASSERT_TRUE(child) << child.error().what;
    child_ = std::make_unique<Child>(std::move(*child));
    const MonoTime deadline = mono_now() + 20s;
    while (!ask(pods() + kLog) && mono_now() < deadline)
      std::this_thread::sleep_for(1ms);
  }
  void TearDown() override {
    child_->send_signal(SIGCONT);
    child_->send_signal(SIGTERM);
    EXPECT_TRUE(child_->wait_until(mono_now() + 20s));
  }
  [[nodiscard]] std::string socket() const { return folder_.path() + "/helper.sock"; }
  [[nodiscard]] Result<Fd> ask(const std::string& path, Duration patience = 20s) const {
    return ask_pod_log(socket(), path, mono_now() + patience);
  }

  std::unique_ptr<Child> child_;
};

TEST_F(AskedPodLog, comes_with_the_answer_of_the_helper_and_follows_a_rotation) {
  const std::string path = pods() + kLog;
  auto opened = ask(path);
  ASSERT_TRUE(opened) << opened.error().what;
  EXPECT_NE(::fcntl(opened->get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(ask("/etc/shadow").error().code, Errc::malformed);
  EXPECT_EQ(ask(pods() + "/a/b/0.log").error().code, Errc::not_found);
  auto file = LogFile::open(path, [this](const std::string& wanted) { return ask(wanted); });
  ASSERT_TRUE(file) << file.error().what;
  EXPECT_EQ(file->read_new(100, 1000)->bytes, "step 1\n");
  std::filesystem::rename(path, path + ".20261130-100000");
  folder_.write(std::string(kPodLogFolder) + kLog, "step 2\n");
  EXPECT_EQ(file->read_new(100, 1000)->bytes, "step 2\n");
}

TEST_F(AskedPodLog, of_a_helper_that_hangs_costs_no_more_than_the_deadline) {
  child_->send_signal(SIGSTOP);
  EXPECT_EQ(ask(pods() + kLog, 100ms).error().code, Errc::timed_out);
}

TEST(PodLogHelper, that_is_missing_is_stated) {
  EXPECT_EQ(ask_pod_log("/nonexistent/helper.sock", "/var/log/pods/a/b/0.log", mono_now() + 1s).error().code,
            Errc::unavailable);
}

}  // namespace
}  // namespace autopilot::host
