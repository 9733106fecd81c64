// SPDX-License-Identifier: Apache-2.0
#include "host/files/tree_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {
namespace {

TEST(TreeFile, a_file_is_read_up_to_its_limit) {
  const TestFolder folder;
  folder.write("/machine.yaml", "node: a\n");
  EXPECT_EQ(read_tree_file(folder / "machine.yaml", 8).value(), "node: a\n");
  EXPECT_EQ(read_tree_file(folder / "machine.yaml", 7).error().code, Errc::exhausted);
  EXPECT_EQ(read_tree_file(folder / "nvml.yaml", 8).error().code, Errc::not_found);
}

TEST(TreeFile, the_directory_may_be_a_link_of_the_operator) {
  const TestFolder folder;
  folder.write("/tree/machine.yaml", "x");
  folder.link("/current", folder / "tree");
  EXPECT_EQ(read_tree_file(folder / "current/machine.yaml", 8).value(), "x");
}

TEST(TreeFile, a_link_is_not_followed_wherever_it_leads) {
  const TestFolder folder;
  folder.write("/secret", "root:x:0:0");
  folder.write("/tree/other.yaml", "x");
  int links = 0;
  for (const std::string& target : {folder / "secret", std::string("../secret"), std::string("other.yaml"),
                                    std::string("/dev/zero"), std::string("/proc/self/environ")}) {
    const std::string name = "/tree/link" + std::to_string(++links);
    folder.link(name, target);
    const auto text = read_tree_file(folder.path() + name, 1 << 20);
    ASSERT_FALSE(text) << target;
    EXPECT_EQ(text.error().code, Errc::malformed);
    EXPECT_EQ(text.error().what.find("root:"), std::string::npos);
    EXPECT_FALSE(find_in_tree(folder.path() + name)) << target;
  }
}

TEST(TreeFile, what_is_no_file_is_not_opened) {
  const TestFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_tree_file(folder / "pipe", 8).error().code, Errc::malformed)
      << "and does not wait for a writer";
  ASSERT_EQ(::mkdir((folder / "folder").c_str(), 0700), 0);
  EXPECT_EQ(read_tree_file(folder / "folder", 8).error().code, Errc::malformed);
  EXPECT_TRUE(find_in_tree(folder / "folder"));
}

}  // namespace
}  // namespace autopilot::host
