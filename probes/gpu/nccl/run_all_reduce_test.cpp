// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/nccl/run_all_reduce.hpp"

#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::probes::gpu {
namespace {

using testing::HasSubstr;
using testing::StrEq;

TEST(Environment, an_address_is_a_number) {
  EXPECT_TRUE(is_address("10.0.0.2"));
  EXPECT_TRUE(is_address("2001:db8::1"));
  for (const std::string text : {"", "localhost", "10.0.0", "10.0.0.2:80", "eth0", "10.0.0.2 "})
    EXPECT_FALSE(is_address(text)) << text;
}

TEST(Environment, the_interface_of_an_address_is_found) {
  const auto interface = interface_with("127.0.0.1");
  if (!interface) GTEST_SKIP() << "needs a loopback interface";
  EXPECT_EQ(*interface, "lo");
}

TEST(Environment, an_address_of_another_machine_is_named) {
  const Status status = prepare_environment("192.0.2.77");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::not_found);
  EXPECT_THAT(status.error().what, HasSubstr("192.0.2.77"));
}

TEST(Environment, a_taken_variable_is_removed) {
  ::setenv("AUTOPILOT_TEST_SECRET", "0f1e", 1);
  const char* const memory = std::getenv("AUTOPILOT_TEST_SECRET");
  EXPECT_EQ(take_variable("AUTOPILOT_TEST_SECRET"), "0f1e");
  EXPECT_STREQ(memory, "");
  EXPECT_EQ(std::getenv("AUTOPILOT_TEST_SECRET"), nullptr);
  EXPECT_EQ(take_variable("AUTOPILOT_TEST_SECRET"), std::nullopt);
}

TEST(Environment, variables_that_are_set_stay) {
  ::setenv("NCCL_RAS_ENABLE", "1", 1);
  ::unsetenv("NCCL_DEBUG_FILE");
  ASSERT_TRUE(prepare_environment(std::nullopt));
  EXPECT_THAT(std::getenv("NCCL_RAS_ENABLE"), StrEq("1"));
  EXPECT_THAT(std::getenv("NCCL_DEBUG_FILE"), StrEq("/dev/stderr"));
  EXPECT_EQ(std::getenv("NCCL_SOCKET_IFNAME"), nullptr);
}

}  // namespace

}  // namespace autopilot::probes::gpu
