// SPDX-License-Identifier: Apache-2.0
#include "cli/output/phrases.hpp"

#include <gtest/gtest.h>

namespace autopilot::cli {

namespace {

TEST(SubjectTextTest, a_subject_has_one_form) {
  EXPECT_EQ(subject_text({SubjectKind::gpu, "0000:61:00.0", 3, "", ""}), "GPU 3 (0000:61:00.0)");
  EXPECT_EQ(subject_text({SubjectKind::gpu, "0000:61:00.0", {}, "", ""}), "GPU 0000:61:00.0");
  EXPECT_EQ(subject_text({SubjectKind::nvlink, "0000:61:00.0/3", {}, "", ""}),
            "NVLink 3 of GPU 0000:61:00.0");
  EXPECT_EQ(subject_text({SubjectKind::nvlink, "3", {}, "", ""}), "nvlink 3");
  EXPECT_EQ(subject_text({SubjectKind::nic_port, "mlx5_0/1", {}, "", ""}), "mlx5_0 port 1");
  EXPECT_EQ(subject_text({SubjectKind::nic_port, "eth0", {}, "", ""}), "eth0");
  EXPECT_EQ(subject_text({SubjectKind::disk, "nvme0n1", {}, "", ""}), "nvme0n1");
  EXPECT_EQ(subject_text({SubjectKind::mount, "/data", {}, "", ""}), "mount /data");
  EXPECT_EQ(subject_text({SubjectKind::nvswitch, "0000:c1:00.0", {}, "", ""}), "NVSwitch 0000:c1:00.0");
  EXPECT_EQ(subject_text(host_subject()), "");
}

}  // namespace

}  // namespace autopilot::cli
