// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <string>
#include <utility>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "checks/kernel_log/record_effects.hpp"
#include "checks/kernel_log/rule_events.hpp"
#include "checks/storage/relevant_mounts.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace storage_fs_errors {
namespace {

using std::chrono::hours;

constexpr std::string_view kId = "storage.fs_errors";
constexpr Duration kWindow = hours{24};

constexpr std::string_view kSysfs = "sysfs";
constexpr std::string_view kMountinfo = "/proc/self/mountinfo";

constexpr std::string_view kType = "filesystem.type";  // with the device as attribute
constexpr std::string_view kErrors = "filesystem.errors";

// After these lines XFS refuses every request; ext4 without its journal, and a read-only filesystem, refuse
// every write.
constexpr std::string_view kShutdownRule = "filesystem.xfs_shutdown";
constexpr std::array<std::string_view, 4> kStoppedRules{
    kShutdownRule, "filesystem.journal_aborted", "filesystem.ext4_read_only", "filesystem.btrfs_read_only"};
constexpr std::array<std::string_view, 2> kMountedRules{"filesystem.xfs_mounted", "filesystem.ext4_mounted"};

// --- observe ---

bool is_ext(std::string_view type) {
  return type == "ext4" || type == "ext3" || type == "ext2";
}

bool is_watched(const host::Mount& mount) {
  return is_ext(mount.type) || mount.type == "xfs" || mount.type == "btrfs";
}

// Maps devices, as sysfs and the kernel log name them, to mount points.
class Places {
 public:
  Places(const host::Files& files, const std::vector<host::Mount>& mounts) : files_(files) {
    for (const host::Mount& mount : mounts) {
      points_.emplace(mount.device, mount.mount_point);
      // Btrfs uses its own device numbers.
      points_.emplace(mount.source.substr(mount.source.rfind('/') + 1), mount.mount_point);
    }
  }

  [[nodiscard]] Subject of(const std::string& device, const std::string& device_number) const {
    Subject subject;
    for (const std::string& name : {device_number, device}) {
      const auto found = points_.find(name);
      if (name.empty() || found == points_.end()) continue;
      subject.kind = SubjectKind::mount;
      subject.key = found->second;
      return subject;
    }
    subject.kind = SubjectKind::disk;
    subject.key = device;
    return subject;
  }
  [[nodiscard]] Subject of(const std::string& device) const {
    return of(device, host::device_number(files_, device));
  }

 private:
  const host::Files& files_;
  std::map<std::string, std::string> points_;
};

void add_ext4(const host::Ext4Errors& errors, const Subject& subject, ObservationBuilder& seen) {
  if (errors.problem) {
    seen.add_missing(subject, kErrors, kSysfs, to_string(errors.problem->code), errors.problem->what);
    return;
  }
  Attributes& facts = seen.add_count(subject, kErrors, kSysfs, errors.count).attributes;
  facts = {{"device", errors.device}};
  if (errors.first) facts.emplace_back("first", format_time(*errors.first));
  if (errors.last) facts.emplace_back("last", format_time(*errors.last));
  if (!errors.last_function.empty()) facts.emplace_back("function", errors.last_function);
}

Result<Observed> observe(const host::Host& host, const Request& request) {
  const auto mounts = relevant_mounts(TRY(host.filesystems.mounts())).mounts;
  const auto ext4 = host::scan_ext4_errors(host.files);
  const bool has_ext4 = ext4 && !ext4->empty();
  if (std::ranges::none_of(mounts, is_watched) && !has_ext4)
    return fail(Errc::unsupported, "no ext4, XFS or Btrfs filesystem is mounted");

  Observed observed;
  observed.witnesses = {std::string(kMountinfo)};
  const Places places(host.files, mounts);
  ObservationBuilder seen(request.now);
  for (const host::Mount& mount : mounts) {
    if (!is_watched(mount)) continue;
    const Subject subject = make_subject(SubjectKind::mount, mount.mount_point);
    seen.add(subject, kType, kMountinfo, mount.type).attributes = {{"source", mount.source}};
  }
  if (has_ext4) {
    observed.witnesses.emplace_back(kSysfs);
    for (const host::Ext4Errors& errors : *ext4)
      add_ext4(errors, places.of(errors.device, errors.device_number), seen);
  }
  observed.observations = seen.take();
  // Errors of XFS and Btrfs are visible only in the log; if it cannot be read, `witnesses` lacks it.
  const Status logged = add_rule_events(
      host, request, kId,
      [&](const DecodedRecord& decoded) { return places.of(attribute_of(decoded, "device")); }, observed);
  // The list of mounts alone shows no errors.
  if (observed.witnesses.size() == 1) return fail(ext4 ? logged.error() : ext4.error());
  return observed;
}

// --- judge ---

// The device, as the mount table names it.
void add_source(Finding& finding, const std::string& device) {
  if (!device.empty()) finding.evidence.emplace_back("source", "/dev/" + device);
}

void judge_ext4(const JudgeInput& input, const Observation& errors, Findings& findings) {
  const Subject& subject = errors.subject;
  if (!errors.missing.empty()) {
    findings.push_back(make_finding(input, subject, "could_not_look", Health::unknown,
                                    subject.key + ": " + attribute_of(errors, "error")));
    return;
  }
  const Limit most = limit(input, "storage.fs_errors.ext4_errors");
  const double count = errors.value ? as_number(*errors.value).value_or(0) : 0;
  if (count <= most.value) return;
  const std::string last = attribute_of(errors, "last");
  const std::string function = attribute_of(errors, "function");
  Finding finding = make_finding(
      input, subject, "filesystem_errors", Health::degraded,
      subject.key + " (ext4 on " + attribute_of(errors, "device") + ") has " + rounded(count) +
          (count == 1 ? " error" : " errors") + " that fsck has not repaired" +
          (last.empty() ? "" : ", the last at " + last) + (function.empty() ? "" : " in " + function),
      count, most);
  finding.evidence.emplace_back("witness", std::string(kSysfs));
  add_source(finding, attribute_of(errors, "device"));
  if (const auto first = parse_time(attribute_of(errors, "first"))) finding.since = *first;
  findings.push_back(std::move(finding));
}

// Log lines of one device since its last mount. Its mount point may change or vanish between a shutdown and
// the next mount, so records are grouped by device.
struct Damage {
  const Observation* stopped = nullptr;
  const Observation* last = nullptr;
  double lines = 0;
};

using DamageByDevice = std::map<std::pair<std::string, bool>, Damage>;  // device, injected

DamageByDevice read_log(const History& history) {
  DamageByDevice devices;
  for (const Observation& event : history.events()) {
    if (!may_act(event)) continue;
    Damage& damage = devices[{attribute_of(event, "device"), is_injected(event)}];
    if (std::ranges::find(kMountedRules, event.name.text()) != kMountedRules.end()) {
      damage = {};
      continue;
    }
    if (std::ranges::find(kStoppedRules, event.name.text()) != kStoppedRules.end()) damage.stopped = &event;
    damage.last = &event;
    damage.lines += static_cast<double>(event_count(event));
  }
  return devices;
}

void judge_log(const JudgeInput& input, const std::string& device, const Damage& damage, Findings& findings) {
  if (damage.stopped != nullptr) {
    const Subject& subject = damage.stopped->subject;
    const bool is_shut = damage.stopped->name == kShutdownRule;
    findings.push_back(make_finding(
        input, subject, "filesystem_shut_down", allowed_health(input, *damage.stopped, Health::failed),
        subject.key + " (on " + device + ") was shut down by the kernel and refuses all " +
            (is_shut ? "requests" : "writes")));
    add_line(findings.back(), *damage.stopped);
    add_source(findings.back(), device);
    return;
  }
  const Limit most = limit(input, "storage.fs_errors.log_lines");
  if (damage.last == nullptr || damage.lines <= most.value) return;
  const Subject& subject = damage.last->subject;
  // Errors that ext4 counts itself get one finding.
  const auto counted = std::ranges::find_if(findings, [&](const Finding& finding) {
    return finding.subject == subject && finding.reason == "filesystem_errors" &&
           finding.injected == is_injected(*damage.last);
  });
  if (counted != findings.end()) return add_line(*counted, *damage.last);
  findings.push_back(make_finding(input, subject, "filesystem_errors", Health::degraded,
                                  subject.key + " (on " + device + "): the kernel reported damage, " +
                                      rounded(damage.lines) + (damage.lines == 1 ? " line" : " lines") +
                                      " in the last " + format_duration(kWindow),
                                  damage.lines, most));
  add_line(findings.back(), *damage.last);
  add_source(findings.back(), device);
}

Findings judge(const JudgeInput& input) {
  Findings findings;
  for (const Observation& observation : input.history.latest())
    if (observation.name == kErrors) judge_ext4(input, observation, findings);
  for (const auto& [key, damage] : read_log(input.history))
    judge_log(input, key.first, damage, findings);
  const auto& ignored = input.expectation.ignored_mounts;
  std::erase_if(findings, [&](const Finding& finding) {
    return finding.subject.kind == SubjectKind::mount &&
           std::ranges::find(ignored, finding.subject.key) != ignored.end();
  });
  return findings;
}

}  // namespace
}  // namespace storage_fs_errors

const Check kStorageFsErrors = {
    .info = {.id = std::string(storage_fs_errors::kId),
             .title = "Filesystem errors",
             .tags = {"storage", "passive"},
             .period = std::chrono::minutes{5},
             .deadline = std::chrono::seconds{5},
             .window = storage_fs_errors::kWindow,
             .cost = Cost::cheap,
             .witnesses = {std::string(storage_fs_errors::kMountinfo), std::string(storage_fs_errors::kSysfs),
                           "/dev/kmsg"},
             .rights = {"CAP_SYSLOG"},
             .needs_window = false},
    .observe = storage_fs_errors::observe,
    .judge = storage_fs_errors::judge,
    .interpret = interpret_records,
};

}  // namespace autopilot::checks
