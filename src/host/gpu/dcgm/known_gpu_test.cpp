// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/dcgm/known_gpu.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace autopilot::host {
namespace {

Subject gpu(int index, const std::string& serial) {
  return {.kind = SubjectKind::gpu,
          .key = "0000:0" + std::to_string(index) + ":00.0",
          .index = index,
          .uuid = {},
          .serial = serial};
}

TEST(KnownGpu, a_gpu_of_dcgm_is_known_by_its_serial_else_by_its_number) {
  const std::vector<Subject> gpus{gpu(0, "S0"), gpu(1, "S1"), gpu(2, "")};
  EXPECT_EQ(gpu_of({0, "S1"}, gpus), &gpus[1]);
  EXPECT_EQ(gpu_of({1, ""}, gpus), &gpus[1]);
  EXPECT_EQ(gpu_of({2, "S9"}, gpus), &gpus[2]);
  EXPECT_EQ(gpu_of({0, "S9"}, gpus), nullptr);
  EXPECT_EQ(gpu_of({7, ""}, gpus), nullptr);
}

}  // namespace
}  // namespace autopilot::host
