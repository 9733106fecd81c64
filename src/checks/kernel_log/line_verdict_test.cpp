// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/line_verdict.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "checks/check.hpp"
#include "checks/kernel_log/decode.hpp"
#include "checks/kernel_log/nvidia_lines.hpp"
#include "checks/kernel_log/rule_events.hpp"
#include "host/kernel_log/text_log.hpp"
#include "tests/fakes/fake_host.hpp"
#include "tests/paths/paths.hpp"
#include "tests/support/checks/test_log.hpp"
#include "tests/support/host/test_folder.hpp"

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
    const LineVerdict result = verdict(text);
    EXPECT_EQ(result.health, health) << text;
    EXPECT_EQ(result.reason, reason) << text;
    EXPECT_FALSE(result.check.empty()) << text;
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
      const LineVerdict result = verdict(example);
      EXPECT_TRUE(result.health == Health::healthy || !result.reason.empty()) << example;
      if (!rule.reason.empty()) EXPECT_NE(result.health, Health::healthy) << example;
    }
}

}  // namespace

// What decode and explain say of one line is what the check finds where the log holds that line alone.

namespace {

using namespace std::chrono_literals;

struct OneNvme : host::NvmeDevices {
  std::string name;
  [[nodiscard]] Result<std::vector<host::NvmeController>> controllers() const override {
    return std::vector<host::NvmeController>{
        {.name = name, .state = "live", .model = "", .serial = "", .firmware = ""}};
  }
  [[nodiscard]] Result<host::NvmeHealth> health(const std::string& controller, MonoTime) const override {
    return fail(Errc::unsupported, controller);
  }
};

// Drivers that did not start these say so; on a machine where a driver has them the line is over.
bool is_of_device_without_driver(const std::string& rule) {
  constexpr std::array kOfDrivers{"network.mlx5_not_started",  "network.probe_failed",
                                  "network.slow_probe_failed", "storage.nvme_gone",
                                  "storage.nvme_not_ready",    "storage.nvme_probe_failed"};
  return std::ranges::find(kOfDrivers, rule) != kOfDrivers.end();
}

// A machine on which every check can look, and that has the device of a line.
class Machine {
 public:
  Machine() {
    folder_.write("/proc/driver/nvidia/version", "");
    folder_.write("/sys/module/amdgpu/version", "");
    folder_.write("/sys/fs/ext4/sdz9/errors_count", "0\n");
    folder_.write("/sys/block/sdz/size", "2048\n");
    folder_.write("/proc/self/mountstats",
                  "device filer0:/export mounted on /mnt with fstype nfs4 statvers=1.1\n");
    folder_.write("/proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 500 kB\n");
    folder_.write("/proc/sys/kernel/tainted", "0\n");
    folder_.write("/proc/sys/kernel/soft_watchdog", "1\n");
    add_card("/sys/devices/pci0000:f0/0000:f0:01.0", "0x060400");
    add_card("/sys/devices/pci0000:f0/0000:f0:01.0/0000:f1:00.0", "0x020000");
  }

  // The worst of the findings of the check that it has not without the line.
  LineVerdict judge(const Check& check, const host::KernelRecord& record, const DecodedRecord& decoded) {
    const auto [known, is_new] = before_.try_emplace(check.info.id);
    if (is_new) known->second = findings(check, nullptr);
    const Findings& before = known->second;
    const std::string driver = "/sys/bus/pci/drivers/mlx5_core/" + decoded.pci;
    const bool has_driver = !is_of_device_without_driver(decoded.rule);
    if (has_driver && !decoded.pci.empty()) folder_.write(driver + "/vendor", "0x15b3\n");
    nvme_.name = has_driver ? attribute_of(decoded, "device") : "nvme99";
    LineVerdict worst;
    for (const Finding& finding : findings(check, &record)) {
      const bool is_old = std::ranges::any_of(before, [&finding](const Finding& other) {
        return other.subject == finding.subject && other.reason == finding.reason;
      });
      const Health health = finding.health == Health::unknown ? Health::degraded : finding.health;
      if (is_old || health <= worst.health) continue;
      worst = {.health = health, .check = check.info.id, .reason = finding.reason, .action = finding.action};
    }
    if (!decoded.pci.empty()) std::filesystem::remove_all(folder_.path() + driver);
    return worst;
  }

 private:
  void add_card(const std::string& path, const std::string& class_code) const {
    folder_.write(path + "/vendor", "0x15b3\n");
    folder_.write(path + "/device", "0x1021\n");
    folder_.write(path + "/class", class_code + "\n");
    for (const char* end : {"current", "max"}) {
      folder_.write(path + "/" + end + "_link_width", "16\n");
      folder_.write(path + "/" + end + "_link_speed", "32.0 GT/s PCIe\n");
    }
    folder_.link("/sys/bus/pci/devices" + path.substr(path.rfind('/')), path);
  }
  [[nodiscard]] Findings findings(const Check& check, const host::KernelRecord* record) const {
    TestLog log;
    const Instant now = empty_.clock.now();
    if (record != nullptr)
      log.write(now, record->text, [record](host::KernelRecord& written) {
        written.facility = record->facility;
        written.injected = record->injected;
      });
    const host::Host host{empty_.clock,    files_,           log,  empty_.gpus, empty_.filesystems,
                          empty_.ethernet, empty_.time_sync, nvme_};
    auto observed = check.observe(host, {.now = now, .deadline = now.mono + 5s, .kernel_log_from = 0});
    EXPECT_TRUE(observed) << check.info.id << ": " << observed.error().what;
    if (!observed) return {};
    History history;
    history.add(std::move(observed->observations), check.info.window);
    const Expectation expectation;
    return check.judge(
        {.now = now, .history = history, .facts = catalog::builtin(), .expectation = expectation});
  }

  host::TestFolder folder_;
  fakes::EmptyHost empty_;
  OneNvme nvme_;
  std::map<std::string, Findings> before_;
  host::Files files_{folder_.path()};
};

const Check* reader_of(const DecodedRecord& decoded, const std::string& text) {
  if (may_be_nvidia(text)) return find_check("gpu.xid");
  for (const catalog::CheckPage& page : catalog::builtin().checks())
    if (std::ranges::find(page.log_rules, decoded.rule) != page.log_rules.end()) return find_check(page.id);
  return nullptr;
}

void expect_agreement(Machine& machine, const host::KernelRecord& record, const std::string& place) {
  const auto decoded = builtin_decoder().decode(record);
  if (!decoded) return;
  const LineVerdict result = verdict_on(record, *decoded, catalog::builtin());
  const Check* check = reader_of(*decoded, record.text);
  if (check == nullptr) {
    EXPECT_EQ(result.health, Health::healthy) << place << ": " << record.text;
    return;
  }
  const LineVerdict found = machine.judge(*check, record, *decoded);
  EXPECT_EQ(to_string(found.health), to_string(result.health)) << place << ": " << record.text;
  EXPECT_EQ(found.reason, result.reason) << place << ": " << record.text;
}

std::string unescaped(std::string text) {
  for (auto at = text.find("\\x0a"); at != std::string::npos; at = text.find("\\x0a"))
    text.replace(at, 4, "\n");
  return text;
}

TEST(LineVerdictAgreement, of_every_line_of_the_corpus) {
  Machine machine;
  for (const auto& file : std::filesystem::directory_iterator(paths::source("tests/golden/kernel_log"))) {
    if (file.path().extension() != ".txt") continue;
    std::ifstream stream(file.path());
    for (std::string line; std::getline(stream, line);) {
      if (line.empty() || line.starts_with("#") || line.starts_with("@") || line.starts_with("=>")) continue;
      host::KernelRecord record;
      record.sequence = 1;
      record.text = unescaped(line);
      expect_agreement(machine, record, file.path().filename().string());
    }
  }
}

TEST(LineVerdictAgreement, of_every_record_of_logs_that_people_paste) {
  Machine machine;
  for (const auto& folder : std::filesystem::directory_iterator(paths::source("tests/decode"))) {
    if (!folder.is_directory()) continue;
    host::TextLogReader reader(
        [](const host::KernelRecord& record) { return builtin_decoder().decode(record).has_value(); });
    std::vector<host::KernelRecord> records;
    std::ifstream stream(folder.path() / "input.log");
    for (std::string line; std::getline(stream, line);)
      std::ranges::move(reader.add_line(line), std::back_inserter(records));
    std::ranges::move(reader.finish(), std::back_inserter(records));
    for (const host::KernelRecord& record : records)
      expect_agreement(machine, record, folder.path().filename().string());
  }
}

}  // namespace

}  // namespace autopilot::checks
