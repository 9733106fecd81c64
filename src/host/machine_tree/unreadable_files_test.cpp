// SPDX-License-Identifier: Apache-2.0
#include "host/machine_tree/unreadable_files.hpp"

#include <filesystem>
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "host/files/test_folder.hpp"

namespace autopilot::host {
namespace {

using namespace std::chrono_literals;

class UnreadableFilesTest : public ::testing::Test {
 protected:
  UnreadableFilesTest() {
    folder_.write("/root/sys/devices/port/state", "4: ACTIVE\n");
    folder_.write("/root/sys/devices/portal", "sound\n");
    folder_.link("/root/sys/class/port", "../devices/port");
    say("");
    tree_ = MachineTreeFile::open(folder_.path()).value();
    unreadable_ = std::make_unique<UnreadableFiles>(*tree_, folder_.path() + "/root");
  }

  // In one step, as a scenario that is played does it.
  void say(const std::string& unreadable) const {
    folder_.write(
        "/fresh",
        "schema: autopilot.machine/v1\nnode: node-1\nboot_id: 5d1ad1d8-5c5c-4b1e-9c5e-000000000001\n"
        "time: 2026-01-15T08:00:00Z\nuptime: 36h\nsimulated: true\n" +
            unreadable);
    std::filesystem::rename(folder_.path() + "/fresh", folder_.path() + "/machine.yaml");
  }
  [[nodiscard]] Files files() const {
    return Files(folder_.path() + "/root", [this](std::string_view path) { return unreadable_->pass(path); });
  }

  const TestFolder folder_;
  std::unique_ptr<MachineTreeFile> tree_;
  std::unique_ptr<UnreadableFiles> unreadable_;
};

TEST_F(UnreadableFilesTest, a_path_is_refused_by_whatever_name_it_is_asked) {
  say("unreadable: {/sys/class/port: {error: denied}}\n");
  EXPECT_EQ(files().read("/sys/class/port/state").error().code, Errc::denied);
  EXPECT_EQ(files().read("/sys/devices/port/state").error().code, Errc::denied);
  EXPECT_EQ(files().list("/sys/class/port").error().code, Errc::denied);
  EXPECT_TRUE(files().exists("/sys/class/port/state"));
  EXPECT_EQ(files().read_word("/sys/devices/portal"), "sound") << "only begins like it";
}

TEST_F(UnreadableFilesTest, an_obstacle_of_what_is_not_there_is_met_all_the_same) {
  say("unreadable: {/sys/class/none: {error: unavailable}}\n");
  EXPECT_EQ(files().read("/sys/class/none/x").error().code, Errc::unavailable);
  EXPECT_EQ(files().read("/sys/class/other").error().code, Errc::not_found);
}

TEST_F(UnreadableFilesTest, a_read_that_hangs_returns_when_the_tree_lets_it) {
  say("unreadable: {/sys/class/port/state: {hangs: true}}\n");
  auto read = std::async(std::launch::async, [this] { return files().read_word("/sys/class/port/state"); });
  EXPECT_EQ(read.wait_for(5 * UnreadableFiles::kHangPoll), std::future_status::timeout);
  EXPECT_EQ(files().read_word("/sys/devices/portal"), "sound") << "the rest answers meanwhile";
  say("");
  EXPECT_EQ(read.get(), "4: ACTIVE");
}

TEST_F(UnreadableFilesTest, a_tree_that_is_gone_lets_everybody_go) {
  say("unreadable: {/sys: {hangs: true}}\n");
  auto read = std::async(std::launch::async, [this] { return files().list("/sys/class"); });
  std::filesystem::remove(folder_.path() + "/machine.yaml");
  EXPECT_FALSE(read.get());
}

}  // namespace
}  // namespace autopilot::host
