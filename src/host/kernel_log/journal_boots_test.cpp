// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/journal_boots.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include "host/files/files.hpp"
#include "host/kernel_log/journal_files.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view kOld = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
constexpr std::string_view kNew = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

std::string entry(std::string_view boot, int second, const std::string& members) {
  return R"({"_BOOT_ID":")" + std::string(boot) + R"(","__REALTIME_TIMESTAMP":")" +
         std::to_string(1'768'000'000 + second) + R"(000000",)" + members + "}";
}

std::string of_kernel(const std::string& text) {
  return R"("_TRANSPORT":"kernel","SYSLOG_FACILITY":"0","PRIORITY":"3","MESSAGE":")" + text + "\"";
}

std::vector<JournaledBoot> boots_in(const std::vector<std::string>& lines) {
  JournalReader reader;
  for (const std::string& line : lines)
    reader.add_line(line);
  return reader.finish();
}

TEST(JournalBoots, SortsRecordsByBoot) {
  const auto boots =
      boots_in({entry(kNew, 100, of_kernel("Linux version 6")), entry(kOld, 1, of_kernel("Linux version 5")),
                entry(kOld, 2, of_kernel("Kernel panic - not syncing: x"))});
  ASSERT_THAT(boots, SizeIs(2));
  EXPECT_EQ(boots[0].id, kOld);
  ASSERT_THAT(boots[0].records, SizeIs(2));
  EXPECT_TRUE(boots[0].records[1].from_kernel());
  EXPECT_EQ(boots[0].records[1].time.wall, WallTime(std::chrono::seconds{1'768'000'002}));
  EXPECT_EQ(boots[0].last, WallTime(std::chrono::seconds{1'768'000'002}));
}

TEST(JournalBoots, OnlyRootStatesThatTheMachineWasStopped) {
  const std::string stopped =
      R"("MESSAGE":"Journal stopped","MESSAGE_ID":"d93fb3c9c24d451a97cea615ce59c00b")";
  EXPECT_TRUE(boots_in({entry(kOld, 1, stopped + R"(,"_UID":"0")")}).at(0).was_stopped);
  EXPECT_FALSE(boots_in({entry(kOld, 1, stopped + R"(,"_UID":"1000")")}).at(0).was_stopped);
}

TEST(JournalBoots, UserSpaceWritesNoKernelRecord) {
  const auto boots =
      boots_in({entry(kOld, 1, R"("_TRANSPORT":"syslog","MESSAGE":"NVRM: Xid","_UID":"1000")")});
  ASSERT_THAT(boots, SizeIs(1));
  EXPECT_THAT(boots[0].records, IsEmpty());
  EXPECT_FALSE(boots[0].has_system_entries);
}

// As the user of the program.
std::string core_dump(const std::string& members) {
  return R"("_UID":"1000","MESSAGE_ID":"fc2e22bc6ee647b6b90729ab34a250b1","COREDUMP_PID":"4242",)"
         R"("COREDUMP_COMM":"python3","COREDUMP_SIGNAL_NAME":"SIGSEGV","MESSAGE":"x",)" +
         members;
}

TEST(JournalBoots, ReadsCoreDumpsAndUnits) {
  const auto boots =
      boots_in({entry(kOld, 1, core_dump(R"("_SYSTEMD_UNIT":"systemd-coredump@7-81-0.service")")),
                entry(kOld, 2,
                      R"("_UID":"0","MESSAGE_ID":"d9b373ed55a64feb8242e02dbe79a49c","UNIT":"train.service",)"
                      R"("UNIT_RESULT":"oom-kill","MESSAGE":"x")")});
  ASSERT_THAT(boots, SizeIs(1));
  ASSERT_THAT(boots[0].ends, SizeIs(2));
  EXPECT_EQ(boots[0].ends[0].pid, 4242);
  EXPECT_EQ(boots[0].ends[0].word, "SIGSEGV");
  EXPECT_EQ(boots[0].ends[1].unit, "train.service");
  EXPECT_EQ(boots[0].ends[1].word, "oom-kill");
}

TEST(JournalBoots, AUserStatesNoCoreDump) {
  for (const char* const members :
       {R"("_COMM":"systemd-coredum","_EXE":"/usr/lib/systemd/systemd-coredump")",
        R"("_SYSTEMD_UNIT":"user@1000.service","_SYSTEMD_USER_UNIT":"systemd-coredump@7-81-0.service")",
        R"("_SYSTEMD_UNIT":"user@1000.service","OBJECT_SYSTEMD_UNIT":"systemd-coredump@7-81-0.service")",
        R"("_SYSTEMD_UNIT":"systemd-coredump@7-81-0.scope")",
        R"("_SYSTEMD_UNIT":"x-systemd-coredump@7-81-0.service")",
        R"("_SYSTEMD_UNIT":["systemd-coredump@7-81-0.service"])"})
    EXPECT_THAT(boots_in({entry(kOld, 1, core_dump(members))}).at(0).ends, IsEmpty()) << members;
  const std::string failed =
      R"("_UID":"1000","_SYSTEMD_UNIT":"systemd-coredump@7-81-0.service","UNIT":"train.service",)"
      R"("MESSAGE_ID":"d9b373ed55a64feb8242e02dbe79a49c")";
  EXPECT_THAT(boots_in({entry(kOld, 1, failed)}).at(0).ends, IsEmpty());
}

TEST(JournalBoots, SkipsWhatIsNotAnEntry) {
  EXPECT_THAT(boots_in({"", "-- No entries --", "{", "[1]", "null", R"({"_BOOT_ID":7})",
                        R"({"_BOOT_ID":"x","__REALTIME_TIMESTAMP":"99999999999999999999"})"}),
              IsEmpty());
}

TEST(JournalBoots, KeepsTheNewestBoots) {
  std::vector<std::string> lines;
  for (int i = 0; i < 100; ++i)
    lines.push_back(entry("boot " + std::to_string(i), i, of_kernel("x")));
  for (int turn = 0; turn < 2; ++turn) {
    const auto boots = boots_in(lines);
    ASSERT_THAT(boots, SizeIs(JournalReader::kMaxBoots));
    EXPECT_EQ(boots.front().id, "boot 68");
    EXPECT_EQ(boots.back().id, "boot 99");
    std::ranges::reverse(lines);
  }
}

TEST(JournalBoots, RemovesControlCharacters) {
  const auto boots = boots_in({entry(kOld, 1,
                                     R"("_UID":"0","MESSAGE_ID":"fc2e22bc6ee647b6b90729ab34a250b1",)"
                                     R"("COREDUMP_COMM":"a\u001b[31m")")});
  ASSERT_THAT(boots.at(0).ends, SizeIs(1));
  EXPECT_EQ(boots[0].ends[0].process.find('\x1b'), std::string::npos);
}

TEST(JournalBoots, ATreeHasItsJournalBesideItsFiles) {
  const TestFolder folder;
  folder.write("/root/proc/version", "x");
  EXPECT_EQ(read_journaled_boots(Files(folder / "root"), {}).error().code, Errc::unsupported);
  folder.write("/journal.jsonl", entry(kOld, 1, of_kernel("Linux version 5")) + "\n");
  const auto boots = read_journaled_boots(Files(folder / "root"), {});
  ASSERT_TRUE(boots) << boots.error().what;
  EXPECT_THAT(*boots, SizeIs(1));
}

}  // namespace
}  // namespace autopilot::host
