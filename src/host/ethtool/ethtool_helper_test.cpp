// SPDX-License-Identifier: Apache-2.0
#include "host/ethtool/ethtool_helper.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/clock/system_clock.hpp"
#include "tests/paths/paths.hpp"

namespace autopilot::host {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

Command fake(const std::string& kind) {
  return {.program = paths::fake("fake_helper"), .arguments = {kind}, .environment = own_environment()};
}

class EthtoolHelper : public ::testing::Test {
 protected:
  [[nodiscard]] MonoTime in(Duration time) const { return clock_.now().mono + time; }

  const SystemClock clock_;
};

TEST_F(EthtoolHelper, asks_the_kernel_and_ends) {
  const HelperEthtool ethtool(fake("ethtool"), clock_);
  const auto answers = ethtool.read({"lo", "nosuchif0"}, in(20s));
  ASSERT_EQ(answers.size(), 2U);
  if (!answers[0] && answers[0].error().code == Errc::unavailable) GTEST_SKIP() << answers[0].error().what;
  ASSERT_TRUE(answers[0]) << answers[0].error().what;
  EXPECT_EQ(answers[0]->fec.error().code, Errc::unsupported);
  ASSERT_TRUE(answers[1]) << answers[1].error().what;
  EXPECT_EQ(answers[1]->link.error().code, Errc::not_found);
  EXPECT_FALSE(ethtool.stats().is_alive);
  EXPECT_EQ(ethtool.stats().starts, 1U);
}

TEST_F(EthtoolHelper, that_hangs_about_one_port_still_asks_about_the_others) {
  const HelperEthtool ethtool(fake("hangs_about_eth1"), clock_, {.patience = 1s});
  const auto answers = ethtool.read({"eth0", "eth1", "eth2"}, in(20s));
  ASSERT_TRUE(answers[0]) << answers[0].error().what;
  EXPECT_EQ(answers[0]->fec->mode, "rs");
  ASSERT_FALSE(answers[1]);
  EXPECT_EQ(answers[1].error().code, Errc::timed_out);
  EXPECT_TRUE(answers[2]);
  // And is not asked again at once.
  const auto again = ethtool.read({"eth1", "eth2"}, in(20s));
  EXPECT_THAT(again[0].error().what, HasSubstr("did not answer when last asked"));
  EXPECT_TRUE(again[1]);
}

TEST_F(EthtoolHelper, asks_again_when_it_is_time) {
  const HelperEthtool ethtool(fake("hangs_about_eth1"), clock_, {.patience = 1s, .ask_again = 0s});
  EXPECT_EQ(ethtool.read({"eth1"}, in(20s))[0].error().code, Errc::timed_out);
  const auto again = ethtool.read({"eth1"}, in(100ms));
  EXPECT_EQ(again[0].error().what.find("when last asked"), std::string::npos);
}

TEST_F(EthtoolHelper, that_cannot_be_started_is_not_the_fault_of_the_port) {
  const HelperEthtool ethtool({.program = "/nonexistent", .arguments = {}, .environment = {}}, clock_);
  EXPECT_EQ(ethtool.read({"eth0"}, in(20s))[0].error().code, Errc::internal);
  const HelperEthtool liar(fake("ib_that_lies"), clock_);
  EXPECT_EQ(liar.read({"eth0"}, in(20s))[0].error().code, Errc::internal);
}

TEST_F(EthtoolHelper, refuses_what_is_no_interface) {
  const HelperEthtool ethtool(fake("ethtool"), clock_);
  for (const char* name : {"", "a name that is too long for one", "a\nb"})
    EXPECT_EQ(ethtool.read({name}, in(20s))[0].error().code, Errc::malformed) << name;
}

TEST(NoEthtool, offers_nothing) {
  const auto answers = Ethtool::none().read({"eth0", "eth1"}, MonoTime{});
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[1].error().code, Errc::unsupported);
}

}  // namespace
}  // namespace autopilot::host
