// SPDX-License-Identifier: Apache-2.0
#include "tests/support/checks/log_check_fixture.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class StorageNfs : public LogCheckTest {
 protected:
  StorageNfs() : LogCheckTest(kStorageNfs, 1min) {}
  static std::string mount(const std::string& server, const std::string& point, int sends, int receives,
                           int timeouts) {
    return "device " + server + ":/export mounted on " + point + " with fstype nfs4 statvers=1.1\n" +
           "\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n\txprt:\ttcp 0 0 1 0 12 " +
           std::to_string(sends) + " " + std::to_string(receives) + " 0 0 0 2 0 0\n\tper-op statistics\n" +
           "\t        READ: 100 101 " + std::to_string(timeouts) + " 4400 99999 5 70 80 0\n\n";
  }
  void set(const std::string& text) const { folder_.write("/proc/self/mountstats", text); }
  void set(int sends, int receives, int timeouts = 0) const {
    set(mount("filer", "/home", sends, receives, timeouts) + mount("filer", "/data", sends, receives, 0));
  }
  std::vector<std::string> words(Duration later = 1min) {
    std::vector<std::string> list;
    for (const Finding& finding : look(later))
      list.push_back(to_string(finding.subject) + " " + reason_of(finding));
    return list;
  }
};

TEST_F(StorageNfs, a_server_that_answers_and_one_that_nobody_asks_are_sound) {
  set(1000, 1000);
  EXPECT_THAT(words(), IsEmpty());
  set(2000, 1999);
  EXPECT_THAT(words(), IsEmpty());
  EXPECT_THAT(words(2h), IsEmpty());  // the one reply was lost with an old connection, and nobody asks
}

TEST_F(StorageNfs, requests_without_a_reply_for_three_minutes_mean_that_it_is_silent) {
  set(1000, 1000);
  look();
  set(1004, 1000);
  EXPECT_THAT(words(), IsEmpty());
  EXPECT_THAT(words(2min), IsEmpty());
  set(1005, 1000);
  const Findings findings = look();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].reason, "nfs_server_silent");
  EXPECT_EQ(findings[0].health, Health::degraded);  // our own limit
  EXPECT_EQ(findings[0].message,
            "file server filer has not answered for 3m, although requests were sent (/home, /data)");
  set(1006, 1003);
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(StorageNfs, what_the_kernel_says_holds_until_it_says_the_opposite) {
  set(1000, 1000);
  look();
  say("nfs: server filer not responding, still trying");
  EXPECT_THAT(words(), ElementsAre("peer/filer failed nfs_server_silent"));
  EXPECT_THAT(words(3h), ElementsAre("peer/filer failed nfs_server_silent"));
  say("nfs: server filer OK");
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(StorageNfs, a_reply_says_as_much_as_the_line_that_was_lost) {
  set(1000, 1000);
  look();
  say("nfs: server filer not responding, still trying");
  look();
  set(1010, 1009);
  EXPECT_THAT(words(), ElementsAre("peer/filer degraded nfs_timeouts"));
  EXPECT_THAT(words(2h), IsEmpty());
}

TEST_F(StorageNfs, a_soft_mount_that_gave_up_does_not_wait_any_more) {
  set(1000, 1000);
  look();
  say("nfs: server filer not responding, timed out");
  EXPECT_THAT(words(), ElementsAre("peer/filer degraded nfs_timeouts"));
  EXPECT_THAT(words(2h), IsEmpty());
}

TEST_F(StorageNfs, timeouts_are_told_though_the_server_answers) {
  set(1000, 1000, 5);
  EXPECT_THAT(words(), IsEmpty());
  set(2000, 2000, 7);
  EXPECT_THAT(look().at(0).message, HasSubstr("let 2 requests time out in the last 1h"));
  EXPECT_THAT(words(2h), IsEmpty());
}

TEST_F(StorageNfs, lines_of_user_space_and_of_servers_that_are_not_mounted_do_not_count) {
  set(1000, 1000);
  say("nfs: server filer not responding, still trying", 1);
  say("nfs: server other not responding, timed out");
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(StorageNfs, a_server_that_only_the_log_knows_is_unknown_until_it_answers) {
  set(1000, 1000);
  say("nfs: server other not responding, still trying");
  EXPECT_THAT(words(), ElementsAre("peer/other unknown could_not_look"));
  say("nfs: server other OK");
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(StorageNfs, a_list_of_mounts_that_is_none_is_unknown) {
  for (const std::string& text : {std::string(), std::string("\x7f\0ELF\1\2", 7)}) {
    set(text);
    EXPECT_EQ(observe().error().code, Errc::malformed);
  }
}

TEST_F(StorageNfs, nothing_mounted_is_not_supported_and_no_file_unknown) {
  EXPECT_EQ(observe().error().code, Errc::not_found);
  set("device proc mounted on /proc with fstype proc\n");
  EXPECT_EQ(observe().error().code, Errc::unsupported);
}

TEST_F(StorageNfs, many_servers_are_left_out_and_counted) {
  std::string text;
  for (int i = 0; i < 70; ++i)
    text += mount("filer" + std::to_string(i), "/m" + std::to_string(i), 1, 1, 0);
  set(text);
  look();
  EXPECT_EQ(history_.subjects(SubjectKind::peer).size(), 64U);
  EXPECT_EQ(history_.number(host_subject(), "nfs.left_out"), 6);
}

}  // namespace
}  // namespace autopilot::checks
