// SPDX-License-Identifier: Apache-2.0
#include "host/process/child.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <vector>

#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {
namespace {

class FindProgram : public ::testing::Test {
 protected:
  FindProgram() {
    std::filesystem::create_directories(folder_ + "/first/dcgmi");  // a folder of that name is none
    std::filesystem::create_directories(folder_ + "/second");
    for (const char* name : {"/second/dcgmi", "/second/text"})
      std::ofstream(folder_ + name) << "x";
    std::filesystem::permissions(folder_ + "/second/dcgmi", std::filesystem::perms::owner_all);
  }

  const TestFolder made_;
  const std::string folder_ = made_.path();
  const std::vector<std::string> environment_{"HOME=/", "PATH=" + folder_ + "/first::" + folder_ + "/second"};
};

TEST_F(FindProgram, is_the_first_that_may_be_started) {
  EXPECT_EQ(find_program("dcgmi", environment_), folder_ + "/second/dcgmi");
}

TEST_F(FindProgram, a_path_is_taken_as_it_is) {
  EXPECT_EQ(find_program("./dcgmi", environment_), "./dcgmi");
}

TEST_F(FindProgram, says_where_it_looked) {
  const auto found = find_program("nvbandwidth", environment_);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Errc::not_found);
  EXPECT_NE(found.error().what.find("/second"), std::string::npos);
  EXPECT_FALSE(find_program("dcgmi-of-nobody", {}));
}

}  // namespace
}  // namespace autopilot::host
