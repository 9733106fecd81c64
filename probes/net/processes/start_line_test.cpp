// SPDX-License-Identifier: Apache-2.0
#include "probes/net/processes/start_line.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "probes/net/processes/crew.hpp"

namespace autopilot::probes::net {
namespace {

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

}  // namespace
}  // namespace autopilot::probes::net
