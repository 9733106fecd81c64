// SPDX-License-Identifier: Apache-2.0
#include "host/memory/memory_groups.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "host/files/files.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string kills(int count) {
  return "low 0\nhigh 0\nmax 12\noom 3\noom_kill " + std::to_string(count) + "\noom_group_kill 0\n";
}

class MemoryGroupsTest : public ::testing::Test {
 protected:
  // A group of version 2.
  void put(const std::string& path, int count, const std::string& limit = "max") {
    folder_.write("/sys/fs/cgroup" + path + "/memory.events", kills(count));
    folder_.write("/sys/fs/cgroup" + path + "/memory.max", limit + "\n");
  }
  Result<KilledGroups> read() { return read_killed_groups(Files(folder_.path())); }

  TestFolder folder_;
};

TEST_F(MemoryGroupsTest, AMachineWithoutGroupsIsUnsupported) {
  EXPECT_EQ(read().error().code, Errc::unsupported);
}

TEST_F(MemoryGroupsTest, NamesTheDeepestGroupOfVersion2) {
  put("/system.slice", 2);
  put("/system.slice/slurmstepd.scope", 2);
  put("/system.slice/slurmstepd.scope/job_4711", 2, "1073741824");
  put("/user.slice", 0);
  const auto found = read();
  ASSERT_TRUE(found) << found.error().what;
  ASSERT_THAT(found->groups, SizeIs(1));
  EXPECT_EQ(found->groups[0].path, "/system.slice/slurmstepd.scope/job_4711");
  EXPECT_EQ(found->groups[0].owner.job, "slurm 4711");
  EXPECT_EQ(found->groups[0].kills, 2);
  EXPECT_EQ(found->groups[0].limit_bytes, 1073741824);
}

TEST_F(MemoryGroupsTest, AGroupKeepsTheKillsOfGroupsThatAreGone) {
  put("/kubepods.slice", 3);
  put("/kubepods.slice/child", 1);
  const auto found = read();
  ASSERT_TRUE(found) << found.error().what;
  ASSERT_THAT(found->groups, SizeIs(2));
  EXPECT_EQ(found->groups[0].path, "/kubepods.slice");
  EXPECT_EQ(found->groups[0].kills, 2);
  EXPECT_FALSE(found->groups[0].limit_bytes);
}

TEST_F(MemoryGroupsTest, ReadsVersion1) {
  const std::string job = "/sys/fs/cgroup/memory/slurm/uid_1000/job_4711";
  for (const std::string path : {"/sys/fs/cgroup/memory/slurm", "/sys/fs/cgroup/memory/slurm/uid_1000"})
    folder_.write(path + "/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
  folder_.write(job + "/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
  folder_.write(job + "/memory.limit_in_bytes", "9223372036854771712\n");
  const auto found = read();
  ASSERT_TRUE(found) << found.error().what;
  ASSERT_THAT(found->groups, SizeIs(1));
  EXPECT_EQ(found->groups[0].owner.job, "slurm 4711");
  EXPECT_FALSE(found->groups[0].limit_bytes);
}

TEST_F(MemoryGroupsTest, ADamagedCounterCountsAsNone) {
  put("/a", 0);
  folder_.write("/sys/fs/cgroup/a/memory.events", "oom_kill many\n");
  const auto found = read();
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_THAT(found->groups, IsEmpty());
  EXPECT_EQ(parse_group_kills("oom_kill many").error().code, Errc::malformed);
  EXPECT_EQ(parse_group_kills("oom 3").error().code, Errc::malformed);
  EXPECT_EQ(parse_group_kills("oom_kill 3").value(), 3);
}

TEST_F(MemoryGroupsTest, ReadsALimitedNumberOfGroups) {
  for (const std::string name : {"/a", "/b", "/c", "/d", "/e"})
    put(name, 0);
  const auto found = read_killed_groups(Files(folder_.path()), 3);
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_EQ(found->read, 3);
  EXPECT_EQ(found->left_out, 3);
}

}  // namespace
}  // namespace autopilot::host
