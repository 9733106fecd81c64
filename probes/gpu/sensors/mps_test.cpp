// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/sensors/mps.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <vector>

namespace autopilot::probes::gpu {
namespace {

TEST(FindMpsServer, it_is_found_by_its_name) {
  const std::string proc = testing::TempDir() + "autopilot-mps-test";
  for (const auto& [process, name] : {std::pair(17, "python3\n"), std::pair(4200, "nvidia-cuda-mps\n")}) {
    const std::string folder = proc + "/" + std::to_string(process);
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/comm") << name;
  }
  EXPECT_EQ(find_mps_server(std::vector<unsigned>{5, 17, 4200}, proc), 4200U);
  EXPECT_EQ(find_mps_server(std::vector<unsigned>{5, 17}, proc), std::nullopt);
  std::filesystem::remove_all(proc);
  EXPECT_EQ(find_mps_server(std::vector<unsigned>{4200}, proc), std::nullopt);
}

}  // namespace
}  // namespace autopilot::probes::gpu
