// SPDX-License-Identifier: Apache-2.0
#include "host/files/share_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/files/test_folder.hpp"

namespace autopilot::host {
namespace {

TEST(ShareFolder, the_group_of_the_process_may_write_and_others_may_not_look) {
  const TestFolder folder;
  ASSERT_EQ(run_share_folder({folder.path()}), 0);
  struct stat status {};
  ASSERT_EQ(::stat(folder.path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0770U);
  EXPECT_EQ(status.st_gid, ::getegid());
  EXPECT_EQ(status.st_uid, ::geteuid());
}

TEST(ShareFolder, what_is_no_folder_is_refused) {
  const TestFolder folder;
  EXPECT_EQ(run_share_folder({folder / "absent"}), 70);
  folder.link("/link", "/");
  EXPECT_EQ(run_share_folder({folder / "link"}), 70);
}

TEST(ShareFolder, a_wrong_call_is_told_so) {
  EXPECT_EQ(run_share_folder({}), 64);
  EXPECT_EQ(run_share_folder({"relative"}), 64);
}

}  // namespace
}  // namespace autopilot::host
