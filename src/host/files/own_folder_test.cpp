// SPDX-License-Identifier: Apache-2.0
#include "host/files/own_folder.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {
namespace {

namespace fs = std::filesystem;

std::string text_in(const std::string& path) {
  std::string text;
  std::getline(std::ifstream(path), text, '\0');
  return text;
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

TEST(OwnFolder, what_it_holds_is_read_by_its_user_alone) {
  const TestFolder folder;
  auto own = OwnFolder::create(folder / "new");
  ASSERT_TRUE(own) << own.error().what;
  ASSERT_TRUE(own->write("/root/proc/uptime", "1 2\n"));
  ASSERT_TRUE(own->make_folder("/root/sys/a/b"));
  ASSERT_TRUE(own->link("/root/sys/b", "a/b"));
  EXPECT_EQ(text_in(folder / "new/root/proc/uptime"), "1 2\n");
  EXPECT_TRUE(fs::is_directory(folder / "new/root/sys/b"));
  EXPECT_EQ(mode_of(folder / "new"), 0700U);
  EXPECT_EQ(mode_of(folder / "new/root/sys/a"), 0700U);
  EXPECT_EQ(mode_of(folder / "new/root/proc/uptime"), 0600U);
  own->clear();
  EXPECT_TRUE(fs::is_empty(folder / "new"));
}

TEST(OwnFolder, an_empty_one_is_closed_to_others) {
  const TestFolder folder;
  fs::create_directory(folder / "open");
  fs::permissions(folder / "open", fs::perms::all);
  ASSERT_TRUE(OwnFolder::create(folder / "open"));
  EXPECT_EQ(mode_of(folder / "open"), 0700U);
}

TEST(OwnFolder, one_with_something_in_it_is_refused) {
  const TestFolder folder;
  folder.write("/full/file", "x");
  EXPECT_EQ(OwnFolder::create(folder / "full").error().code, Errc::conflict);
  folder.write("/file", "x");
  EXPECT_EQ(OwnFolder::create(folder / "file").error().code, Errc::conflict);
}

TEST(OwnFolder, a_link_in_its_place_is_refused) {
  const TestFolder folder;
  fs::create_directory(folder / "elsewhere");
  folder.link("/link", folder / "elsewhere");
  EXPECT_EQ(OwnFolder::create(folder / "link").error().code, Errc::conflict);
  EXPECT_TRUE(fs::is_empty(folder / "elsewhere"));
}

TEST(OwnFolder, one_of_another_user_is_refused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to give a folder away";
  const TestFolder folder;
  fs::create_directory(folder / "theirs");
  ASSERT_EQ(::chown((folder / "theirs").c_str(), 65534, 65534), 0);
  const auto own = OwnFolder::create(folder / "theirs");
  ASSERT_FALSE(own);
  EXPECT_EQ(own.error().code, Errc::denied);
  EXPECT_NE(own.error().what.find("belongs to another user (65534)"), std::string::npos) << own.error().what;
}

// Whoever finds the moment to plant a link, as the same user would: nothing is written where it leads.
TEST(OwnFolder, a_link_that_is_planted_meanwhile_leads_nowhere) {
  const TestFolder folder;
  folder.write("/victim", "untouched");
  fs::create_directory(folder / "elsewhere");
  auto own = OwnFolder::create(folder / "new");
  ASSERT_TRUE(own) << own.error().what;
  folder.link("/new/kmsg.jsonl", folder / "victim");
  EXPECT_FALSE(own->write("/kmsg.jsonl", "secret"));
  folder.link("/new/root", folder / "elsewhere");
  EXPECT_FALSE(own->write("/root/proc/uptime", "secret"));
  EXPECT_FALSE(own->link("/root/link", "x"));
  EXPECT_FALSE(own->make_folder("/root/sys"));
  EXPECT_EQ(text_in(folder / "victim"), "untouched");
  EXPECT_TRUE(fs::is_empty(folder / "elsewhere"));
}

// The folder is the one that was made, wherever its name leads by now.
TEST(OwnFolder, a_folder_that_is_put_in_its_place_gets_nothing) {
  const TestFolder folder;
  auto own = OwnFolder::create(folder / "new");
  ASSERT_TRUE(own) << own.error().what;
  fs::rename(folder / "new", folder / "moved");
  fs::create_directory(folder / "new");
  ASSERT_TRUE(own->write("/machine.yaml", "x"));
  EXPECT_TRUE(fs::is_empty(folder / "new"));
  EXPECT_EQ(text_in(folder / "moved/machine.yaml"), "x");
}

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
