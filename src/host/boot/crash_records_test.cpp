// SPDX-License-Identifier: Apache-2.0
#include "host/boot/crash_records.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kStore = "/sys/fs/pstore/";
constexpr const char* kArchive = "/var/lib/systemd/pstore/";

class CrashRecordsTest : public ::testing::Test {
 protected:
  CrashRecordsTest() { folder_.write("/sys/module/pstore/parameters/backend", "erst\n"); }
  [[nodiscard]] CrashRecords read() const { return read_crash_records(files_).value(); }

  TestFolder folder_;
  Files files_{folder_.path()};
};

TEST_F(CrashRecordsTest, none) {
  EXPECT_THAT(read().records, IsEmpty());
}

TEST_F(CrashRecordsTest, nowhere_to_keep_one) {
  folder_.write("/sys/module/pstore/parameters/backend", "(null)\n");
  EXPECT_EQ(read_crash_records(files_).error().code, Errc::unsupported);
  TestFolder empty;
  EXPECT_EQ(read_crash_records(Files(empty.path())).error().code, Errc::unsupported);
}

TEST_F(CrashRecordsTest, parts_of_one_panic_are_one_record) {
  folder_.write(std::string(kStore) + "dmesg-erst-6500945460813889539",
                "Panic#1 Part1\n<0>[ 1834.2] Kernel panic - not syncing: Fatal exception\n<0>[ 1834.3] x\n");
  folder_.write(std::string(kStore) + "dmesg-erst-6500945460813889541",
                "Panic#1 Part5\n<6>[    1.0] booting\n");
  const CrashRecords crashes = read();
  ASSERT_THAT(crashes.records, SizeIs(1));
  EXPECT_TRUE(crashes.records[0].is_panic);
  EXPECT_EQ(crashes.records[0].words, "Kernel panic - not syncing: Fatal exception");
  EXPECT_EQ(format_time(*crashes.records[0].time).substr(0, 10), "2017-12-18");
}

TEST_F(CrashRecordsTest, parts_that_took_seconds_to_write_are_one_record) {
  const std::string store = std::string(kStore) + "dmesg-efi_pstore-";
  folder_.write(store + "176372640001001",
                "Panic#1 Part1\n<0>[ 9.2] Kernel panic - not syncing: Fatal machine check\n");
  folder_.write(store + "176372640102001", "Panic#1 Part2\n<6>[ 5.0] earlier\n");
  folder_.write(store + "176372640203001", "Panic#1 Part3\n<6>[ 1.0] booting\n");
  folder_.write(store + "176372990001001",
                "Panic#1 Part1\n<0>[ 7.0] Kernel panic - not syncing: an hour later\n");
  const CrashRecords crashes = read();
  ASSERT_THAT(crashes.records, SizeIs(2));
  EXPECT_EQ(crashes.records[0].words, "Kernel panic - not syncing: Fatal machine check");
  EXPECT_TRUE(crashes.records[0].path.ends_with("01001"));
  EXPECT_EQ(crashes.records[1].words, "Kernel panic - not syncing: an hour later");
}

TEST_F(CrashRecordsTest, one_that_may_not_be_read_is_counted) {
  folder_.write(std::string(kStore) + "dmesg-erst-6500945460813889539", "Panic#1 Part1\n");
  const Files files(folder_.path(), [](std::string_view path) -> Status {
    if (path.find("dmesg-") != std::string_view::npos) return fail(Errc::denied, std::string(path));
    return {};
  });
  const CrashRecords crashes = read_crash_records(files).value();
  EXPECT_EQ(crashes.unreadable, 1U);
  ASSERT_THAT(crashes.records, SizeIs(1));
  EXPECT_FALSE(crashes.records[0].is_panic);
}

TEST_F(CrashRecordsTest, the_archive_counts_also_where_no_place_is_left) {
  folder_.write("/sys/module/pstore/parameters/backend", "(null)\n");
  folder_.write(std::string(kArchive) + "1763726400/dmesg.txt", "<0>[1.0] Kernel panic - not syncing: one\n");
  EXPECT_THAT(read().records, SizeIs(1));
}

TEST_F(CrashRecordsTest, a_fault_after_which_the_kernel_went_on) {
  folder_.write(std::string(kStore) + "dmesg-efi-176372640001001",
                "Oops#1 Part1\n<1>[ 12.5] BUG: kernel NULL pointer dereference, address: 0000000000000008\n");
  const CrashRecords crashes = read();
  ASSERT_THAT(crashes.records, SizeIs(1));
  EXPECT_FALSE(crashes.records[0].is_panic);
  EXPECT_THAT(crashes.records[0].words, HasSubstr("NULL pointer"));
  EXPECT_EQ(format_time(*crashes.records[0].time).substr(0, 19), "2025-11-21T12:00:00");
}

TEST_F(CrashRecordsTest, what_systemd_moved_is_found_too) {
  folder_.write(std::string(kArchive) + "1763726400/dmesg.txt", "<0>[1.0] Kernel panic - not syncing: one\n");
  folder_.write(std::string(kArchive) + "1763726500/001/dmesg.txt",
                "<0>[1.0] Kernel panic - not syncing: two\n");
  const CrashRecords crashes = read();
  ASSERT_THAT(crashes.records, SizeIs(2));
  EXPECT_EQ(crashes.records[0].words, "Kernel panic - not syncing: one");
  EXPECT_EQ(crashes.records[1].words, "Kernel panic - not syncing: two");
  EXPECT_EQ(format_time(*crashes.records[1].time).substr(0, 19), "2025-11-21T12:01:40");
}

TEST_F(CrashRecordsTest, names_without_a_time_and_texts_without_words) {
  folder_.write(std::string(kStore) + "dmesg-ramoops-0", "Panic#1 Part1\n");
  folder_.write(std::string(kStore) + "dmesg-ramoops-1.enc.z", std::string("\x78\x9c\x00\x01", 4));
  folder_.write(std::string(kStore) + "console-ramoops-0", "[    0.0] Linux version\n");
  folder_.write(std::string(kStore) + "dmesg-efi-99999999999999999999999", "<\n[\n<0>[\n");
  const CrashRecords crashes = read();
  EXPECT_EQ(crashes.packed, 1U);
  ASSERT_THAT(crashes.records, SizeIs(3));
  for (const CrashRecord& record : crashes.records) {
    EXPECT_FALSE(record.time) << record.path;
    EXPECT_EQ(record.words, "") << record.path;
    EXPECT_EQ(record.is_panic, record.path.ends_with("ramoops-0")) << record.path;
  }
}

TEST_F(CrashRecordsTest, of_too_many_the_newest_are_kept) {
  for (int i = 0; i < 70; ++i)
    folder_.write(std::string(kArchive) + std::to_string(1'763'726'400 + i * 3600) + "/dmesg.txt",
                  "Panic#1 Part1\n");
  const CrashRecords crashes = read();
  EXPECT_THAT(crashes.records, SizeIs(CrashRecords::kMost));
  EXPECT_EQ(crashes.left_out, 6U);
  EXPECT_THAT(crashes.records.back().path, HasSubstr("1763974800"));
}

}  // namespace
}  // namespace autopilot::host
