// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "checks/kernel_log/record_effects.hpp"
#include "checks/kernel_log/rule_events.hpp"
#include "checks/storage/stall.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace storage_block {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr Duration kWindow = minutes{60};
// Disks beyond this limit are counted as left out.
constexpr std::size_t kMaxDisks = 256;

constexpr std::string_view kSysfs = "sysfs";
constexpr std::string_view kDevices = "block.devices";
constexpr std::string_view kLeftOut = "block.left_out";

constexpr std::string_view kId = "storage.block";

// --- observe ---

bool is_nvme(std::string_view name) {
  return name.starts_with("nvme");
}

// storage.nvme reports controllers: "nvme0" for "nvme0n1".
std::string controller_of(const std::string& name) {
  return name.substr(0, name.find_first_not_of("0123456789", std::string_view("nvme").size()));
}

Subject disk_subject(const host::Files& files, const std::string& name) {
  Subject subject;
  subject.kind = SubjectKind::disk;
  subject.key = host::disk_of_partition(files, name);
  if (is_nvme(subject.key)) subject.key = controller_of(subject.key);
  return subject;
}

// A device that consists of other disks stalls with them; storage.nvme watches NVMe.
bool is_watched(const host::BlockDevice& device) {
  return device.sectors > 0 && !device.is_on_others && !is_nvme(device.name);
}

bool is_disk(const host::BlockDevice& device) {
  return device.sectors > 0 && !device.is_in_memory && !device.has_weak_medium;
}

void add_activity(const host::Files& files, const std::vector<host::BlockDevice>& disks,
                  ObservationBuilder& seen) {
  std::size_t watched = 0;
  for (const host::BlockDevice& device : disks) {
    if (!is_watched(device)) continue;
    if (++watched > kMaxDisks) continue;
    const Subject subject = disk_subject(files, device.name);
    const auto activity = host::read_block_activity(files, device.name);
    if (!activity) {
      if (activity.error().code != Errc::not_found)  // not_found: removed since the list was read
        seen.add_missing(subject, kBlockCompleted, kSysfs, to_string(activity.error().code),
                         activity.error().what);
      continue;
    }
    seen.add_count(subject, kBlockCompleted, kSysfs, activity->completed);
    seen.add_count(subject, kBlockInFlight, kSysfs, activity->in_flight);
  }
  if (watched > kMaxDisks) seen.add_count(host_subject(), kLeftOut, kSysfs, watched - kMaxDisks);
}

Result<Observed> observe(const host::Host& host, const Request& request) {
  auto devices = host::scan_block_devices(host.files);
  std::vector<host::BlockDevice> disks;
  if (devices) std::ranges::copy_if(*devices, std::back_inserter(disks), is_disk);
  if (devices && disks.empty()) return fail(Errc::unsupported, "the kernel lists no disk");

  Observed observed;
  ObservationBuilder seen(request.now);
  if (devices) {
    observed.witnesses.emplace_back(kSysfs);
    seen.add_count(host_subject(), kDevices, kSysfs, disks.size());
    add_activity(host.files, disks, seen);
  }
  observed.observations = seen.take();
  const auto subject_of = [&](const DecodedRecord& decoded) {
    return disk_subject(host.files, attribute_of(decoded, "device"));
  };
  // Failed requests are visible only in the log; if it cannot be read, `witnesses` lacks it.
  static_cast<void>(add_rule_events(host, request, kId, subject_of, observed));
  if (observed.witnesses.empty()) return fail(devices.error());
  if (!devices) return observed;
  for (const host::BlockDevice& device : *devices)
    if (device.has_weak_medium)
      std::erase_if(observed.observations, [&](const Observation& observation) {
        return observation.is_event() && observation.subject.key == device.name;
      });
  return observed;
}

// --- judge ---

void judge_disk(const JudgeInput& input, const Subject& disk, Findings& findings) {
  const Observation* answer = input.history.find(disk, kBlockCompleted);
  if (answer != nullptr && !answer->missing.empty()) {
    findings.push_back(
        make_finding(input, disk, "could_not_look", Health::unknown,
                     disk.key + ": " + to_string(*find_attribute(answer->attributes, "error"))));
    return;
  }
  const Limit longest = limit(input, "storage.block.stall_time");
  const Duration stalled = stalled_for(input.history, disk);
  if (to_seconds(stalled) < longest.value) return;
  const auto in_flight = input.history.number(disk, kBlockInFlight).value_or(0);
  findings.push_back(make_finding(input, disk, "io_stalled", Health::degraded,
                                  disk.key + ": " + rounded(in_flight) +
                                      " requests are in flight, and none has finished for " +
                                      format_duration(std::chrono::duration_cast<seconds>(stalled)),
                                  to_seconds(stalled), longest));
}

Findings judge(const JudgeInput& input) {
  Findings findings = rule_findings(input);
  for (const Subject& disk : input.history.subjects(SubjectKind::disk))
    judge_disk(input, disk, findings);
  return findings;
}

}  // namespace
}  // namespace storage_block

const Check kStorageBlock = {
    .info = {.id = std::string(storage_block::kId),
             .title = "Disks",
             .tags = {"storage", "passive"},
             .period = std::chrono::seconds{30},
             .deadline = std::chrono::seconds{5},
             .window = storage_block::kWindow,
             .cost = Cost::cheap,
             .witnesses = {std::string(storage_block::kSysfs), "/dev/kmsg"},
             .rights = {"CAP_SYSLOG"},
             .needs_window = true},
    .observe = storage_block::observe,
    .judge = storage_block::judge,
    .interpret = interpret_records,
};

}  // namespace autopilot::checks
