// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster_access.hpp"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "tests/support/host/test_folder.hpp"

namespace autopilot::cli {

namespace {

using std::filesystem::perms;
using ::testing::HasSubstr;

TEST(OpenKey, a_key_that_every_user_can_read_is_named_with_the_cure) {
  const host::TestFolder folder;
  const std::string key = folder.path() + "/tls.key";
  std::ofstream(key) << "secret";
  std::filesystem::permissions(key, perms::owner_read | perms::group_read | perms::others_read);
  EXPECT_THAT(open_key_problem(key, {}), HasSubstr("chmod o-r " + key));
  // The files of a pod are read by no other user.
  EXPECT_EQ(open_key_problem(key, {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}), "");
  std::filesystem::permissions(key, perms::owner_read | perms::group_read);
  EXPECT_EQ(open_key_problem(key, {}), "");
}

TEST(OpenKey, a_missing_key_is_accepted) {
  EXPECT_EQ(open_key_problem("", {}), "");
  EXPECT_EQ(open_key_problem("/nonexistent/tls.key", {}), "");
}

}  // namespace

}  // namespace autopilot::cli
