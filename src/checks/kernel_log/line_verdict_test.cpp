// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/line_verdict.hpp"

#include <gtest/gtest.h>
#include <string>

#include "checks/kernel_log/decode.hpp"

namespace autopilot::checks {
namespace {

LineVerdict verdict(const std::string& text, int facility = 0) {
  host::KernelRecord record;
  record.sequence = 7;
  record.text = text;
  record.verified = facility != 0;
  record.facility = facility;
  const auto decoded = builtin_decoder().decode(record);
  EXPECT_TRUE(decoded) << text;
  return decoded ? verdict_on(record, *decoded, catalog::builtin()) : LineVerdict{};
}

struct Said {
  const char* text;
  Health health;
  const char* reason;
};

TEST(LineVerdict, is_what_the_check_that_reads_the_line_finds) {
  for (const auto& [text, health, reason] :
       {Said{"NVRM: Xid (PCI:0000:3b:00): 79, pid=0, GPU has fallen off the bus.", Health::failed,
             "gpu_fallen_off_bus"},
        Said{"NVRM: GPU 0000:18:00.0: GPU has fallen off the bus.", Health::failed, "gpu_fallen_off_bus"},
        Said{"NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x62:0x65:1859)", Health::failed,
             "gpu_init_failed"},
        Said{"NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset "
             "Required)",
             Health::failed, "xid_verdict"},
        Said{"nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 44 egress", Health::degraded,
             "xid_nvlink"},
        Said{"XFS (nvme1n1): Corruption of in-memory data (0x8) detected at x. Shutting down filesystem.",
             Health::failed, "filesystem_shut_down"},
        Said{"EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2: x", Health::degraded,
             "filesystem_errors"},
        Said{"nvme nvme0: Disabling device after reset failure: -19", Health::degraded, "nvme_not_live"},
        Said{"watchdog: BUG: soft lockup - CPU#7 stuck for 22s! [kworker/7:1:4242]", Health::degraded,
             "cpu_stuck"},
        Said{"nfs: server 10.0.0.5 not responding, still trying", Health::degraded, "could_not_look"},
        Said{"pcieport 0000:00:03.0: AER: Uncorrected (Fatal) error received: 0000:00:03.0", Health::degraded,
             "pcie_device_errors"}}) {
    const LineVerdict said = verdict(text);
    EXPECT_EQ(said.health, health) << text;
    EXPECT_EQ(said.reason, reason) << text;
    EXPECT_FALSE(said.check.empty()) << text;
  }
}

TEST(LineVerdict, is_nothing_of_what_is_no_trouble) {
  for (const char* text :
       {"NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.161.08  Tue Mar  5 22:42:15 UTC 2024",
        "NVRM: GPU at PCI:0000:03:00: GPU-1f2a3b4c-0000-1111-2222-333344445555",
        "EXT4-fs (nvme0n1p2): mounted filesystem with ordered data mode. Quota mode: none.",
        "XFS (nvme1n1p1): Mounting V5 Filesystem 2f8a3c1e-5f43-4b0a-9c62-6f1d8f0f7a11",
        "nfs: server 10.0.0.5 OK",
        "NVRM: Xid (PCI:0000:3b:00): 13, pid=7, name=a, Graphics Exception: ChID 0010",
        "NVRM: Xid (PCI:0000:3b:00): 9999, what",
        "NVRM: Xid (PCI:0000:c8:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x0000"})
    EXPECT_EQ(verdict(text).health, Health::healthy) << text;
}

TEST(LineVerdict, is_nothing_of_what_user_space_wrote) {
  EXPECT_EQ(verdict("NVRM: Xid (PCI:0000:3b:00): 79, pid=0, GPU has fallen off the bus.", 1).health,
            Health::healthy);
}

// No line that a rule of the catalog knows breaks a judge.
TEST(LineVerdict, is_there_for_every_example_of_the_catalog) {
  for (const auto& rule : catalog::builtin().log_rules())
    for (const auto& example : rule.examples) {
      const LineVerdict said = verdict(example);
      EXPECT_TRUE(said.health == Health::healthy || !said.reason.empty()) << example;
      if (!rule.reason.empty()) EXPECT_NE(said.health, Health::healthy) << example;
    }
}

}  // namespace
}  // namespace autopilot::checks
