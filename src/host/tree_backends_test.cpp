// SPDX-License-Identifier: Apache-2.0
#include "host/tree_backends.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class NameServersOfATree : public ::testing::Test {
 protected:
  Result<NameServersSeen> ask(const std::string& answers) {
    folder_.write("/machine.yaml",
                  "schema: autopilot.machine/v1\nnode: n\nboot_id: b\ntime: 2026-01-15T08:00:00Z\n"
                  "uptime: 1h\nsimulated: true\n" +
                      answers);
    const auto tree = TRY(MachineTreeFile::open(folder_.path()));
    const Files files(tree->read().value()->root());
    return TreeNameServers(files, *tree).ask(MonoTime{});
  }

  TestFolder folder_;
};

TEST_F(NameServersOfATree, are_those_of_its_list_with_the_answers_of_its_machine) {
  folder_.write("/root/etc/resolv.conf", "nameserver 192.0.2.53\nnameserver ::1\n");
  const auto seen =
      ask("name_servers:\n"
          "  192.0.2.53: {outcome: answered, code: 5, milliseconds: 1.5}\n"
          "  \"::1\": {outcome: closed}\n"
          "  192.0.2.99: {outcome: silent}\n");
  ASSERT_TRUE(seen) << seen.error().what;
  EXPECT_TRUE(seen->is_configured);
  ASSERT_EQ(seen->answers.size(), 2U);
  EXPECT_EQ(seen->answers[0].address, "192.0.2.53");
  EXPECT_EQ(seen->answers[0].code, 5);
  EXPECT_EQ(seen->answers[0].after, 1500us);
  EXPECT_EQ(seen->answers[1].outcome, NameServerOutcome::closed);
}

TEST_F(NameServersOfATree, that_it_says_nothing_of_are_not_guessed) {
  const auto seen = ask("");
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().code, Errc::unavailable);
  EXPECT_THAT(seen.error().what, HasSubstr("no entry for the name server 127.0.0.1"));
}

TEST_F(NameServersOfATree, are_read_strictly) {
  EXPECT_THAT(ask("name_servers: {192.0.2.1: {outcome: shy}}\n").error().what, HasSubstr("`shy`"));
  EXPECT_THAT(ask("name_servers: {192.0.2.1: {code: 0}}\n").error().what,
              HasSubstr("192.0.2.1: `outcome` is missing"));
  EXPECT_THAT(ask("name_servers: {192.0.2.1: {outcome: silent, milliseconds: -1}}\n").error().what,
              HasSubstr("`milliseconds` is out of range"));
}

class TreeStorage : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.write("/machine.yaml",
                  "schema: autopilot.machine/v1\n"
                  "node: node-1\n"
                  "boot_id: 5d1ad1d8-5c5c-4b1e-9c5e-000000000001\n"
                  "time: 2026-01-15T08:00:00Z\n"
                  "uptime: 36h\n"
                  "simulated: true\n"
                  "filesystems:\n"
                  "  /: {total_bytes: 100, available_bytes: 7}\n"
                  "  /data: {hangs: true}\n"
                  "  /secret: {error: denied}\n"
                  "nvme:\n"
                  "  nvme0: {percentage_used: 12}\n"
                  "  nvme1: {error: denied}\n");
    folder_.write("/root/proc/self/mountinfo",
                  "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:9 / /data rw - nfs4 s:/e rw\n");
    folder_.write("/root/sys/class/nvme/nvme0/state", "live\n");
    tree_ = MachineTreeFile::open(folder_.path()).value();
  }

  TestFolder folder_;
  Files files_{folder_.path() + "/root"};
  std::unique_ptr<MachineTreeFile> tree_;
};

TEST_F(TreeStorage, filesystems_say_what_the_tree_says) {
  const TreeFilesystems filesystems(files_, *tree_);
  const auto mounts = filesystems.mounts().value();
  ASSERT_EQ(mounts.size(), 2U);
  EXPECT_EQ(filesystems.usage(mounts[0], {})->available_bytes, 7U);
  EXPECT_EQ(filesystems.usage(mounts[1], {}).error().code, Errc::timed_out);
  Mount other;
  other.mount_point = "/secret";
  EXPECT_EQ(filesystems.usage(other, {}).error().code, Errc::denied);
  other.mount_point = "/other";
  EXPECT_EQ(filesystems.usage(other, {}).error().code, Errc::not_found);
}

TEST_F(TreeStorage, nvme_devices_say_what_the_tree_says) {
  const TreeNvmeDevices devices(files_, *tree_);
  ASSERT_EQ(devices.controllers()->size(), 1U);
  EXPECT_EQ(devices.health("nvme0", {})->percentage_used, 12);
  EXPECT_EQ(devices.health("nvme1", {}).error().code, Errc::denied);
  EXPECT_EQ(devices.health("nvme2", {}).error().code, Errc::not_found);
}

}  // namespace
}  // namespace autopilot::host
