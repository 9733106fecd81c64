// SPDX-License-Identifier: Apache-2.0
#include "learning/baseline/kind.hpp"

#include <gtest/gtest.h>

namespace autopilot::learning {
namespace {

const MachineKind kKind{.gpu = "NVIDIA H100 80GB HBM3",
                        .form = "SXM5",
                        .nics = "ConnectX-7 x8",
                        .cpu = "",
                        .image = "cuda12.4-nccl2.21",
                        .power = "",
                        .driver = "570",
                        .firmware = "28"};

TEST(MachineKinds, a_general_kind_leaves_out_firmware_driver_and_the_rest) {
  EXPECT_EQ(kind_text(kKind),
            "gpu=NVIDIA H100 80GB HBM3;form=SXM5;nics=ConnectX-7 "
            "x8;image=cuda12.4-nccl2.21;driver=570;firmware=28");
  EXPECT_EQ(kind_text(kKind, KindLevel::without_firmware),
            "gpu=NVIDIA H100 80GB HBM3;form=SXM5;nics=ConnectX-7 x8;image=cuda12.4-nccl2.21;driver=570");
  EXPECT_EQ(kind_text(kKind, KindLevel::without_driver),
            "gpu=NVIDIA H100 80GB HBM3;form=SXM5;nics=ConnectX-7 x8;image=cuda12.4-nccl2.21");
  EXPECT_EQ(kind_text(kKind, KindLevel::gpu_and_nics), "gpu=NVIDIA H100 80GB HBM3;nics=ConnectX-7 x8");
}

TEST(MachineKinds, the_text_of_a_kind_is_read_back) {
  const auto read = parse_kind(kind_text(kKind));
  ASSERT_TRUE(read);
  EXPECT_EQ(kind_text(*read), kind_text(kKind));
  EXPECT_EQ(read->nics, "ConnectX-7 x8");
  EXPECT_TRUE(parse_kind(""));
  EXPECT_EQ(parse_kind(kind_text({.gpu = "a;b=c"}))->gpu, "a,b,c");
}

TEST(MachineKinds, invalid_text_is_refused) {
  for (const char* text : {"gpu", "gpu=", "wheels=4", "gpu=a;gpu=b", "=", ";", "gpu=a;;nics=b"})
    EXPECT_EQ(parse_kind(text).error().code, Errc::malformed) << text;
  EXPECT_FALSE(parse_kind("gpu=" + std::string(1024, 'x')));
}

}  // namespace
}  // namespace autopilot::learning
