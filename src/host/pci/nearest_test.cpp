// SPDX-License-Identifier: Apache-2.0
#include "host/pci/nearest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/files/test_folder.hpp"

namespace autopilot::host {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Two adapters below one switch, each with a GPU at its port of the switch, and a GPU at another root port.
class NearestTest : public testing::Test {
 protected:
  NearestTest() {
    const std::string upper = "/sys/devices/pci0000:37/0000:37:01.0/0000:38:00.0";
    for (const std::string& path :
         {upper + "/0000:39:00.0/0000:3b:00.0", upper + "/0000:39:00.0/0000:3c:00.0",
          upper + "/0000:39:01.0/0000:4b:00.0", upper + "/0000:39:01.0/0000:4c:00.0",
          std::string("/sys/devices/pci0000:37/0000:37:02.0/0000:5b:00.0")}) {
      folder_.write(path + "/class", "0x030200\n");
      folder_.link("/sys/bus/pci/devices" + path.substr(path.rfind('/')), path);
    }
  }

  TestFolder folder_;
  Files files_{folder_.path()};
};

TEST_F(NearestTest, who_shares_most_bridges_is_near) {
  const std::vector<std::string> gpus{"0000:5b:00.0", "0000:3b:00.0", "0000:4b:00.0"};
  EXPECT_THAT(nearest_of(files_, "0000:3c:00.0", gpus), ElementsAre("0000:3b:00.0"));
  EXPECT_THAT(nearest_of(files_, "0000:4c:00.0", gpus), ElementsAre("0000:4b:00.0"));
}

TEST_F(NearestTest, several_may_be_as_near) {
  const std::vector<std::string> gpus{"0000:5b:00.0", "0000:4b:00.0", "0000:4c:00.0"};
  EXPECT_THAT(nearest_of(files_, "0000:3c:00.0", gpus), ElementsAre("0000:4b:00.0", "0000:4c:00.0"));
}

TEST_F(NearestTest, nobody_is_near_without_a_bridge_in_common) {
  const std::vector<std::string> gpus{"0000:3b:00.0", "0000:4b:00.0"};
  EXPECT_THAT(nearest_of(files_, "0000:5b:00.0", gpus), IsEmpty());
  EXPECT_THAT(nearest_of(files_, "", gpus), IsEmpty());
  EXPECT_THAT(nearest_of(files_, "0000:ff:00.0", gpus), IsEmpty());
  EXPECT_THAT(nearest_of(files_, "0000:3c:00.0", {}), IsEmpty());
}

}  // namespace
}  // namespace autopilot::host
