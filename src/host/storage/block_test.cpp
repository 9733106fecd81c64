// SPDX-License-Identifier: Apache-2.0
#include "host/storage/block.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/files/test_folder.hpp"

namespace autopilot::host {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kStat = "  10 0 80 5  20 0 160 7  3 12 12  4 0 0 0  6 1\n";

TEST(BlockStat, counts_everything_completed_and_in_flight) {
  const BlockActivity activity = parse_block_stat(kStat).value();
  EXPECT_EQ(activity.completed, 40U);
  EXPECT_EQ(activity.in_flight, 3U);
  EXPECT_EQ(parse_block_stat("1 0 0 0 2 0 0 0 9 0 0")->completed, 3U);
}

TEST(BlockStat, garbage_is_malformed) {
  for (const std::string_view text : {"", "1 2 3", "a 0 0 0 2 0 0 0 9 0 0", "1 0 0 0 2 0 0 0 -9 0 0",
                                      "1 0 0 0 2 0 0 0 99999999999999999999999 0 0"})
    EXPECT_EQ(parse_block_stat(text).error().code, Errc::malformed) << text;
}

TEST(BlockActivityOfNvme, is_the_sum_of_its_namespaces) {
  const TestFolder folder;
  const Files files(folder.path());
  folder.write("/sys/block/nvme1n1/stat", kStat);
  folder.write("/sys/block/nvme1n2/stat", kStat);
  folder.write("/sys/block/nvme1c1n1/stat", kStat);
  folder.write("/sys/block/nvme10n1/stat", kStat);
  folder.write("/sys/block/nvme2n1/stat", "garbage");
  EXPECT_EQ(read_nvme_activity(files, "nvme1")->completed, 80U);
  EXPECT_EQ(read_nvme_activity(files, "nvme3").error().code, Errc::not_found);
  EXPECT_THAT(read_nvme_activity(files, "nvme2").error().what, HasSubstr("/sys/block/nvme2n1/stat"));
}

TEST(BlockActivityOfThisMachine, can_be_read) {
  const Files files;
  const auto names = files.list("/sys/block");
  if (!names || names->empty()) GTEST_SKIP() << "no block device here";
  EXPECT_TRUE(read_block_activity(files, names->front()).has_value());
}

}  // namespace
}  // namespace autopilot::host
