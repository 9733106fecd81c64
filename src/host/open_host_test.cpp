// SPDX-License-Identifier: Apache-2.0
#include "host/open_host.hpp"

#include <filesystem>
#include <gtest/gtest.h>

#include "host/host.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {
namespace {

constexpr const char* kMachine =
    "schema: autopilot.machine/v1\nnode: node-1\nboot_id: 5d1ad1d8-5c5c-4b1e-9c5e-000000000001\n"
    "time: 2026-01-15T08:00:00Z\nuptime: 36h\nsimulated: true\n";

// A tree that a stranger made, beside a file that is none of his.
struct StrangersTree {
  StrangersTree() {
    folder.write("/secret", "root:x:0:0\n");
    folder.write("/tree/machine.yaml", kMachine);
    folder.write("/tree/root/proc/uptime", "1 2\n");
    folder.write("/tree/kmsg.jsonl", "");
  }
  void put_link(const std::string& part, const std::string& target) const {
    if (std::filesystem::exists(folder / ("tree/" + part)))
      std::filesystem::rename(folder / ("tree/" + part), folder / ("was_" + part));
    folder.link("/tree/" + part, target);
  }
  [[nodiscard]] Result<OpenedHost> open() const { return open_tree_host(folder / "tree", {}); }

  const TestFolder folder;
};

TEST(StrangersTree, no_part_of_it_may_be_a_link) {
  ASSERT_TRUE(StrangersTree().open());
  for (const char* part : {"machine.yaml", "nvml.yaml", "kmsg.jsonl", "kmsg.sock", "root"})
    for (const char* target : {"../secret", "/dev/zero", "/", "machine.yaml.old"}) {
      const StrangersTree tree;
      tree.put_link(part, target);
      const auto opened = tree.open();
      ASSERT_FALSE(opened) << part << " -> " << target;
      EXPECT_NE(opened.error().what.find(part), std::string::npos) << opened.error().what;
      EXPECT_NE(opened.error().what.find("symbolic link"), std::string::npos) << opened.error().what;
    }
}

TEST(StrangersTree, a_link_that_is_put_there_later_is_not_followed) {
  const StrangersTree tree;
  const auto opened = tree.open();
  ASSERT_TRUE(opened) << opened.error().what;
  tree.put_link("kmsg.jsonl", "../secret");
  const auto records = opened->host->kernel_log.read(0, MonoTime{});
  ASSERT_FALSE(records);
  EXPECT_EQ(records.error().what.find("root:x"), std::string::npos) << records.error().what;
  tree.put_link("root", "/");
  EXPECT_EQ(opened->host->files.read("/proc/uptime").value(), "1 2\n") << "the folder that was there";
}

TEST(StrangersTree, a_link_below_root_stays_below_it) {
  const StrangersTree tree;
  tree.folder.link("/tree/root/sys/uptime", "../proc/uptime");
  tree.folder.link("/tree/root/sys/absolute", "/proc/uptime");
  tree.folder.link("/tree/root/sys/out", "../../../secret");
  const auto opened = tree.open();
  ASSERT_TRUE(opened) << opened.error().what;
  EXPECT_EQ(opened->host->files.read("/sys/uptime").value(), "1 2\n");
  EXPECT_EQ(opened->host->files.read("/sys/absolute").value(), "1 2\n");
  EXPECT_FALSE(opened->host->files.read("/sys/out"));
}

}  // namespace
}  // namespace autopilot::host
