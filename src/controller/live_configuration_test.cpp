// SPDX-License-Identifier: Apache-2.0

#include "controller/live_configuration.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>

#include "tests/support/net/test_server.hpp"

namespace autopilot::controller {

namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

// The file holds its policy; "?" is an invalid one.
class LiveConfigurationTest : public ::testing::Test {
 protected:
  LiveConfigurationTest() {
    config::ControllerConfig first;
    first.policy = file_;
    live_ = std::make_unique<LiveConfiguration>(
        loop_, first,
        [this]() -> Result<config::ControllerConfig> {
          ++reads_;
          if (file_ == "?") return fail(Errc::malformed, "controller.yaml:1: makes no sense");
          config::ControllerConfig read;
          read.policy = file_;
          read.listen = ":1";
          return read;
        },
        [this] { return file_; }, [this] { policies_.push_back(live_->now().policy); }, milliseconds{1});
  }
  [[nodiscard]] bool run_until(const std::function<bool()>& is_so) {
    return net::testing::run_until(loop_, is_so);
  }

  net::EventLoop loop_;
  std::string file_ = "/one";
  int reads_ = 0;
  std::vector<std::string> policies_;
  std::unique_ptr<LiveConfiguration> live_;
};

TEST_F(LiveConfigurationTest, a_new_file_is_read_and_what_needs_a_restart_waits) {
  file_ = "/two";
  ASSERT_TRUE(run_until([this] { return !policies_.empty(); }));
  EXPECT_THAT(policies_, ElementsAre("/two"));
  EXPECT_EQ(live_->now().listen, ":9443");
}

TEST_F(LiveConfigurationTest, what_makes_no_sense_is_counted_once_and_the_old_one_stays) {
  file_ = "?";
  ASSERT_TRUE(run_until([this] { return live_->refused() == 1; }));
  live_->reload();
  EXPECT_EQ(live_->refused(), 1);
  EXPECT_EQ(live_->now().policy, "/one");
  file_ = "/one";
  ASSERT_TRUE(run_until([this] { return !policies_.empty(); }));
  file_ = "?";
  ASSERT_TRUE(run_until([this] { return live_->refused() == 2; }));
}

TEST_F(LiveConfigurationTest, a_file_that_stays_is_read_when_somebody_asks) {
  live_->reload();
  EXPECT_EQ(reads_, 1);
  EXPECT_THAT(policies_, ElementsAre("/one"));
}

class LivePolicyTest : public ::testing::Test {
 protected:
  LivePolicyTest()
      : live_(
            loop_,
            {.read = [this](const std::string&) { return text_; },
             .version = [this](const std::string&) { return std::to_string(version_); }},
            [this](const Policy&) { ++changes_; }, std::chrono::milliseconds{1}) {}

  void write(const std::string& text) {
    text_ = text;
    ++version_;
  }
  [[nodiscard]] bool run_until(const std::function<bool()>& is_so) {
    return net::testing::run_until(loop_, is_so);
  }

  net::EventLoop loop_;
  Result<std::string> text_{""};
  int version_ = 1;
  int changes_ = 0;
  LivePolicy live_;
};

TEST_F(LivePolicyTest, observes_until_a_file_says_more) {
  EXPECT_EQ(live_.now(), Policy{});
  EXPECT_EQ(live_.now().rules.mode, Mode::observe);
  write("mode: hold\n");
  live_.use("/policy.yaml");
  EXPECT_EQ(live_.now().rules.mode, Mode::hold);
  EXPECT_EQ(changes_, 1);
  live_.use("");
  EXPECT_EQ(live_.now().rules.mode, Mode::observe);
}

TEST_F(LivePolicyTest, is_read_again_when_its_file_changed_and_what_makes_no_sense_changes_nothing) {
  write("mode: hold\n");
  live_.use("/policy.yaml");
  write("mode: destroy\n");
  ASSERT_TRUE(run_until([this] { return live_.refused() == 1; }));
  EXPECT_EQ(live_.now().rules.mode, Mode::hold);
  write("mode: act\n");
  ASSERT_TRUE(run_until([this] { return live_.now().rules.mode == Mode::act; }));
  EXPECT_EQ(live_.refused(), 1U) << "told once";
  EXPECT_EQ(changes_, 2);
}

TEST_F(LivePolicyTest, a_file_that_cannot_be_read_only_observes) {
  text_ = fail(Errc::not_found, "/policy.yaml: no such file");
  live_.use("/policy.yaml");
  EXPECT_EQ(live_.now(), Policy{});
  EXPECT_EQ(live_.refused(), 1U);
}

}  // namespace

}  // namespace autopilot::controller
