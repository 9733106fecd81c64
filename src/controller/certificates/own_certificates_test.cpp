// SPDX-License-Identifier: Apache-2.0

#include "controller/certificates/own_certificates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/certificates/authority.hpp"
#include "tests/support/kube/scripted_api.hpp"

namespace autopilot::controller {

namespace {

using namespace std::chrono_literals;

class ServingKeysTest : public ::testing::Test {
 protected:
  ServingKeysTest() { clock_.time = 24h * 20'000; }
  [[nodiscard]] net::CertifiedKey authority() const {
    return new_keys(clock_.now().wall, AuthorityTimes{}).value().current;
  }
  // Long enough for several checks.
  void look_on() {
    int looks = 0;
    const auto watch = loop_.every(2ms, [&looks] { ++looks; });
    EXPECT_TRUE(net::testing::run_until(loop_, [&looks] { return looks >= 5; }));
  }

  kube::testing::SetClock clock_;
  net::EventLoop loop_;
  int made_ = 0;
  int problems_ = 0;
  ServingKeys keys_{
      loop_,
      clock_,
      {"autopilot-controller.autopilot.svc"},
      "",
      {[this](const auto& tls, const auto&) { made_ += tls ? 1 : 0; }, [this](const Error&) { ++problems_; }},
      1ms};
};

TEST_F(ServingKeysTest, are_made_once_for_an_authority_and_end_after_a_day) {
  EXPECT_FALSE(keys_.until());
  const auto one = authority();
  keys_.use(one);
  keys_.use(one);
  look_on();
  EXPECT_EQ(made_, 1);
  EXPECT_EQ(keys_.until(), clock_.now().wall + 24h);
}

TEST_F(ServingKeysTest, are_renewed_when_two_thirds_of_their_life_are_over_and_when_the_clock_was_set_back) {
  keys_.use(authority());
  clock_.time += 15h;
  look_on();
  EXPECT_EQ(made_, 1);
  clock_.time += 1h;
  look_on();
  EXPECT_EQ(made_, 2);
  clock_.time -= 20h;
  look_on();
  EXPECT_EQ(made_, 3);
}

TEST_F(ServingKeysTest, are_renewed_when_another_authority_signs) {
  keys_.use(authority());
  keys_.use(authority());
  EXPECT_EQ(made_, 2);
}

TEST_F(ServingKeysTest, stay_in_use_where_the_authority_makes_no_sense) {
  keys_.use(authority());
  keys_.use({"no certificate", "no key"});
  EXPECT_EQ(made_, 1);
  EXPECT_GE(problems_, 1);
  EXPECT_TRUE(keys_.until());
}

}  // namespace

}  // namespace autopilot::controller
