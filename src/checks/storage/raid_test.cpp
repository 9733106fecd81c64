// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/builtin.hpp"
#include "tests/fakes/fake_host.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class StorageRaid : public ::testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) const {
    folder_.write("/sys/block/md0/md/" + file, text + "\n");
  }
  void make_array(const std::string& level, int places) const {
    write("array_state", "active");
    write("level", level);
    write("raid_disks", std::to_string(places));
    write("degraded", "0");
    write("sync_action", "idle");
  }
  Result<Observed> observe() {
    const Instant now = empty_.clock.now();
    return kStorageRaid.observe(host_, {.now = now, .deadline = now.mono + 5s});
  }
  Findings look() {
    empty_.clock.advance(60s);
    auto observed = observe();
    if (!observed) {
      ADD_FAILURE() << observed.error().what;
      return {};
    }
    history_.add(std::move(observed->observations), kStorageRaid.info.window);
    return kStorageRaid.judge(
        {.now = empty_.clock.now(), .history = history_, .facts = catalog::builtin(), .expectation = {}});
  }
  std::vector<std::string> words() {
    std::vector<std::string> list;
    for (const Finding& finding : look())
      list.push_back(finding.subject.key + " " + std::string(to_string(finding.health)) + " " +
                     finding.reason);
    return list;
  }

  host::TestFolder folder_;
  fakes::EmptyHost empty_;
  host::Files files_{folder_.path()};
  host::Host host_{empty_.clock,       files_,          empty_.kernel_log, empty_.gpus,
                   empty_.filesystems, empty_.ethernet, empty_.time_sync,  empty_.nvme};
  History history_;
};

TEST_F(StorageRaid, a_machine_without_one_is_not_supported_and_one_without_sysfs_unknown) {
  EXPECT_EQ(observe().error().code, Errc::unavailable);
  folder_.write("/sys/block/sda/size", "1\n");
  EXPECT_EQ(observe().error().code, Errc::unsupported);
}

TEST_F(StorageRaid, each_level_survives_what_it_is_made_for) {
  const auto with = [&](const std::string& level, int places, int missing) {
    make_array(level, places);
    write("degraded", std::to_string(missing));
    return words();
  };
  EXPECT_THAT(with("raid1", 2, 0), IsEmpty());
  EXPECT_THAT(with("raid1", 3, 2), ElementsAre("md0 degraded raid_degraded"));
  EXPECT_THAT(with("raid5", 4, 1), ElementsAre("md0 degraded raid_degraded"));
  EXPECT_THAT(with("raid5", 4, 2), ElementsAre("md0 failed raid_failed"));
  EXPECT_THAT(with("raid6", 8, 2), ElementsAre("md0 degraded raid_degraded"));
  EXPECT_THAT(with("raid6", 8, 3), ElementsAre("md0 failed raid_failed"));
  EXPECT_THAT(with("raid10", 4, 2), ElementsAre("md0 degraded raid_degraded"));
  write("array_state", "broken");
  EXPECT_THAT(words(), ElementsAre("md0 failed raid_failed"));
}

TEST_F(StorageRaid, the_message_says_what_is_faulty_and_whether_it_is_being_rebuilt) {
  make_array("raid1", 2);
  write("degraded", "1");
  write("dev-sdb1/state", "faulty");
  EXPECT_EQ(look().at(0).message, "md0 (raid1) lacks 1 of 2 members (faulty: sdb1); no rebuild is running");
  write("sync_action", "recover");
  write("sync_completed", "250 / 1000");
  EXPECT_THAT(look().at(0).message, HasSubstr("it is being rebuilt, 25 % done"));
}

TEST_F(StorageRaid, a_faulty_spare_is_told_though_nothing_is_missing) {
  make_array("raid1", 2);
  write("dev-sdc1/state", "faulty,spare");
  EXPECT_THAT(words(), ElementsAre("md0 degraded raid_degraded"));
}

TEST_F(StorageRaid, an_array_that_cannot_be_understood_hides_no_other) {
  make_array("raid1", 2);
  write("degraded", "?");
  folder_.write("/sys/block/md1/md/array_state", "inactive\n");
  EXPECT_THAT(words(), ElementsAre("md0 unknown could_not_look", "md1 degraded raid_inactive"));
}

}  // namespace
}  // namespace autopilot::checks
