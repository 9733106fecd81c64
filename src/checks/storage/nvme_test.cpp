// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

#include "checks/builtin.hpp"
#include "tests/fakes/fake_host.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

struct FakeNvme : host::NvmeDevices {
  std::vector<host::NvmeController> present = {
      {.name = "nvme0", .state = "live", .model = "Fast Disk", .serial = "S1", .firmware = "1.0"}};
  std::map<std::string, Result<host::NvmeHealth>> answers;

  [[nodiscard]] Result<std::vector<host::NvmeController>> controllers() const override { return present; }
  [[nodiscard]] Result<host::NvmeHealth> health(const std::string& controller, MonoTime) const override {
    const auto found = answers.find(controller);
    if (found != answers.end()) return found->second;
    return host::NvmeHealth{
        .temperature_celsius = 40, .available_spare_percent = 100, .spare_threshold_percent = 10};
  }
};

struct FakeKernelLog : host::KernelLog {
  host::KernelRecords log{.records = {}, .next = 0, .lost = 0, .witness = "/dev/kmsg"};

  void write(const std::string& text, Instant time, int facility = 0) {
    host::KernelRecord record;
    record.sequence = log.next++;
    record.time = time;
    record.facility = facility;
    record.text = text;
    log.records.push_back(record);
  }
  [[nodiscard]] Result<host::KernelRecords> read(std::uint64_t from, MonoTime) const override {
    host::KernelRecords records = log;
    std::erase_if(records.records, [&](const auto& record) { return record.sequence < from; });
    return records;
  }
};

class StorageNvme : public ::testing::Test {
 protected:
  Result<Observed> observe() {
    const Instant now = empty_.clock.now();
    return kStorageNvme.observe(host_,
                                {.now = now, .deadline = now.mono + 10s, .kernel_log_from = next_record_});
  }
  Findings look(Duration later = 60s) {
    empty_.clock.advance(later);
    auto observed = observe();
    if (!observed) {
      ADD_FAILURE() << observed.error().what;
      return {};
    }
    next_record_ = observed->kernel_log_next.value_or(0);
    witnesses_ = observed->witnesses;
    history_.add(std::move(observed->observations), kStorageNvme.info.window);
    return kStorageNvme.judge(
        {.now = empty_.clock.now(), .history = history_, .facts = catalog::builtin(), .expectation = {}});
  }
  std::vector<std::string> words(Duration later = 60s) {
    std::vector<std::string> list;
    for (const Finding& finding : look(later))
      list.push_back(finding.subject.key + " " + std::string(to_string(finding.health)) + " " +
                     finding.reason);
    return list;
  }
  host::NvmeHealth& health() {
    return nvme_.answers
        .try_emplace("nvme0", host::NvmeHealth{.temperature_celsius = 40,
                                               .available_spare_percent = 100,
                                               .spare_threshold_percent = 10})
        .first->second.value();
  }

  host::TestFolder folder_;
  fakes::EmptyHost empty_;
  host::Files files_{folder_.path()};
  FakeNvme nvme_;
  FakeKernelLog log_;
  host::Host host_{empty_.clock,    files_,           log_, empty_.gpus, empty_.filesystems,
                   empty_.ethernet, empty_.time_sync, nvme_};
  History history_;
  std::uint64_t next_record_ = 0;
  std::vector<std::string> witnesses_;
};

TEST_F(StorageNvme, says_nothing_about_a_sound_device) {
  EXPECT_THAT(words(), IsEmpty());
  EXPECT_THAT(witnesses_, ElementsAre("sysfs", "nvme admin command", "/dev/kmsg"));
  const auto disks = history_.subjects(SubjectKind::disk);
  ASSERT_EQ(disks.size(), 1U);
  EXPECT_EQ(disks[0].serial, "S1");
  EXPECT_EQ(history_.number(disks[0], "nvme.temperature"), 40);
}

TEST_F(StorageNvme, is_unsupported_without_a_controller) {
  nvme_.present.clear();
  EXPECT_EQ(observe().error().code, Errc::unsupported);
}

TEST_F(StorageNvme, a_device_that_never_got_ready_is_told_by_the_log_and_by_the_pci_tree) {
  const std::string device = "/sys/bus/pci/devices/0000:3d:00.0";
  folder_.write(device + "/class", "0x010802\n");
  nvme_.present.clear();
  EXPECT_THAT(words(), ElementsAre("0000:3d:00.0 unknown could_not_look"));
  folder_.write("/sys/bus/pci/drivers/nvme/0000:01:00.0/vendor", "0x144d\n");
  EXPECT_THAT(words(), ElementsAre("0000:3d:00.0 degraded nvme_not_live"));
  log_.write("nvme nvme1: Device not ready; aborting initialisation, CSTS=0x0", empty_.clock.now());
  EXPECT_THAT(words(), ElementsAre("0000:3d:00.0 degraded nvme_not_live", "nvme1 degraded nvme_not_live"));
  folder_.write(device + "/driver_override", "vfio-pci\n");
  EXPECT_EQ(observe().error().code, Errc::unsupported);
}

TEST_F(StorageNvme, a_device_that_the_driver_has_by_now_did_start) {
  const std::string line = "nvme: probe of 0000:3d:00.0 failed with error -12";
  log_.write(line, empty_.clock.now());
  EXPECT_THAT(words(), ElementsAre("0000:3d:00.0 degraded nvme_not_live"));
  folder_.write("/sys/bus/pci/devices/0000:3e:00.0/class", "0x010802\n");
  folder_.write("/sys/bus/pci/drivers/nvme/uevent", "");
  folder_.link("/sys/bus/pci/devices/0000:3e:00.0/driver", "/sys/bus/pci/drivers/nvme");
  log_.write("nvme: probe of 0000:3e:00.0 failed with error -12", empty_.clock.now());
  EXPECT_THAT(words(), ElementsAre("0000:3d:00.0 degraded nvme_not_live"));
}

TEST_F(StorageNvme, a_controller_out_of_service) {
  const auto with = [&](const std::string& state) {
    nvme_.present[0].state = state;
    return words();
  };
  EXPECT_THAT(with("dead"), ElementsAre("nvme0 failed nvme_not_live"));
  EXPECT_THAT(with("resetting"), ElementsAre("nvme0 degraded nvme_not_live"));
  EXPECT_THAT(with("live"), IsEmpty());
  EXPECT_THAT(with(""), IsEmpty());
}

TEST_F(StorageNvme, critical_warnings_are_named) {
  health().critical_warning = 0b1010;
  const Findings findings = look();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].health, Health::failed);
  EXPECT_EQ(findings[0].reason, "nvme_critical_warning");
  EXPECT_THAT(findings[0].message,
              HasSubstr("nvme0 (Fast Disk): temperature is out of its range, media is read-only"));
  health().critical_warning = 0b10;
  EXPECT_THAT(words(), ElementsAre("nvme0 degraded nvme_critical_warning"));
}

TEST_F(StorageNvme, wear_and_spare) {
  const auto with = [&](int used, int spare, int least) {
    health().percentage_used = used;
    health().available_spare_percent = spare;
    health().spare_threshold_percent = least;
    return words();
  };
  EXPECT_THAT(with(79, 100, 10), IsEmpty());
  EXPECT_THAT(with(80, 100, 10), ElementsAre("nvme0 degraded nvme_wearing"));
  EXPECT_THAT(with(104, 10, 10), ElementsAre("nvme0 degraded nvme_worn"));
  EXPECT_THAT(with(0, 9, 10), ElementsAre("nvme0 failed nvme_spare_low"));
  // Firmware that sets no limit.
  EXPECT_THAT(with(0, 9, 100), IsEmpty());
  EXPECT_THAT(with(0, 0, 0), IsEmpty());
}

TEST_F(StorageNvme, old_media_errors_are_history_new_ones_are_not) {
  health().media_errors = 500;
  EXPECT_THAT(words(), IsEmpty());
  EXPECT_THAT(words(), IsEmpty());
  health().media_errors = 502;
  EXPECT_THAT(words(), ElementsAre("nvme0 degraded media_errors"));
}

TEST_F(StorageNvme, without_the_right_the_rest_is_still_seen) {
  nvme_.answers.insert_or_assign("nvme0", fail(Errc::denied, "needs CAP_SYS_ADMIN"));
  nvme_.present[0].state = "dead";
  EXPECT_THAT(words(), ElementsAre("nvme0 failed nvme_not_live"));
  EXPECT_THAT(witnesses_, ElementsAre("sysfs", "/dev/kmsg"));
  EXPECT_EQ(history_.find(history_.subjects(SubjectKind::disk)[0], "nvme.critical_warning")->missing,
            "denied");
}

TEST_F(StorageNvme, a_device_of_which_nothing_can_be_read_is_unknown) {
  nvme_.present[0].state = "";
  EXPECT_THAT(words(), IsEmpty()) << "the health log page is enough";
  nvme_.answers.insert_or_assign("nvme0", fail(Errc::denied, "needs CAP_SYS_ADMIN"));
  EXPECT_THAT(words(), ElementsAre("nvme0 unknown could_not_look"));
}

TEST_F(StorageNvme, tells_a_silent_controller_from_one_that_was_not_asked) {
  const auto with = [&](Errc code) {
    nvme_.answers.insert_or_assign("nvme0", fail(code, "no"));
    return words();
  };
  EXPECT_THAT(with(Errc::timed_out), ElementsAre("nvme0 degraded io_timeouts"));
  EXPECT_THAT(with(Errc::exhausted), ElementsAre("nvme0 unknown limit_reached"));
  EXPECT_THAT(with(Errc::internal), ElementsAre("nvme0 unknown could_not_look"));
  EXPECT_THAT(with(Errc::not_found), IsEmpty());
}

TEST_F(StorageNvme, a_device_that_finishes_nothing_stalls) {
  const auto with = [&](int completed, int in_flight) {
    folder_.write("/sys/block/nvme0n1/stat",
                  std::to_string(completed) + " 0 0 0 0 0 0 0 " + std::to_string(in_flight) + " 0 0\n");
    return words(30s);
  };
  EXPECT_THAT(with(100, 4), IsEmpty());
  EXPECT_THAT(with(100, 4), IsEmpty());
  EXPECT_THAT(with(100, 4), ElementsAre("nvme0 degraded io_stalled"));
  EXPECT_THAT(with(101, 4), IsEmpty());
  EXPECT_THAT(with(101, 0), IsEmpty());
  EXPECT_THAT(with(101, 0), IsEmpty());
  EXPECT_THAT(with(101, 0), IsEmpty());  // idle
}

TEST_F(StorageNvme, timeouts_in_the_kernel_log) {
  log_.write("nvme nvme0: I/O tag 12 (100c) opcode 0x2 (I/O Cmd) QID 3 timeout, reset controller",
             empty_.clock.now());
  const Findings findings = look();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].reason, "io_timeouts");
  EXPECT_EQ(findings[0].health, Health::degraded);
  EXPECT_THAT(to_string(*find_attribute(findings[0].evidence, "line")),
              HasSubstr("timeout, reset controller"));
  EXPECT_THAT(words(2h), IsEmpty());
}

TEST_F(StorageNvme, a_line_that_user_space_wrote_never_acts) {
  log_.write("nvme nvme0: I/O 123 QID 5 timeout, aborting", empty_.clock.now(), 1);
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(StorageNvme, a_device_that_is_gone_is_told_by_the_log) {
  nvme_.present.push_back({.name = "nvme1", .state = "live", .model = "", .serial = "", .firmware = ""});
  nvme_.present.erase(nvme_.present.begin());
  log_.write("nvme nvme0: Disabling device after reset failure: -19", empty_.clock.now());
  EXPECT_THAT(words(), ElementsAre("nvme0 degraded nvme_not_live"));
}

TEST_F(StorageNvme, a_line_about_a_device_that_is_back_is_old) {
  log_.write("nvme nvme0: Removing after probe failure status: -19", empty_.clock.now());
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(StorageNvme, a_state_that_no_kernel_has_is_unknown) {
  for (const char* state : {"Unknown", "N/A", "-1"}) {
    nvme_.present[0].state = state;
    EXPECT_THAT(words(), ElementsAre("nvme0 unknown malformed_answer")) << state;
  }
}

TEST_F(StorageNvme, every_timeout_of_a_storm_is_counted) {
  for (int i = 0; i < 500; ++i)
    log_.write("nvme nvme0: I/O 12 QID 3 timeout, aborting", empty_.clock.now());
  const Findings findings = look();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0].message, HasSubstr("500 commands timed out"));
}

}  // namespace
}  // namespace autopilot::checks
