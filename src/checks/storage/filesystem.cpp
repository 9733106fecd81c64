// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdio>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "checks/storage/relevant_mounts.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace storage_filesystem {
namespace {

using std::chrono::seconds;

// Observations. The first three exist for every mount; the usage may be missing.
constexpr std::string_view kReadOnly = "mount.read_only";            // by the mount options
constexpr std::string_view kSuperReadOnly = "filesystem.read_only";  // the filesystem itself refuses writes
constexpr std::string_view kStoppedByError = "filesystem.stopped_by_error";  // the kernel reports why
constexpr std::string_view kTotalBytes = "filesystem.total_bytes";
constexpr std::string_view kFreeBytes = "filesystem.free_bytes";
constexpr std::string_view kAvailableBytes = "filesystem.available_bytes";
constexpr std::string_view kTotalInodes = "filesystem.total_inodes";
constexpr std::string_view kFreeInodes = "filesystem.free_inodes";
constexpr std::string_view kLeftOut = "mounts.left_out";

constexpr std::string_view kMountinfo = "/proc/self/mountinfo";
constexpr std::string_view kStatfs = "statfs";

// Time limit for one mount, so that the others are read too.
constexpr auto kPatience = seconds{2};
// Missing, because the run ended before this mount was read.
constexpr std::string_view kNotAsked = "not_asked";

// --- observe ---

void add_mount(const Subject& subject, const host::Mount& mount, ObservationBuilder& seen) {
  seen.add(subject, kReadOnly, kMountinfo, mount.read_only).attributes = {
      {"type", mount.type}, {"source", mount.source}, {"device", mount.device}};
  seen.add(subject, kSuperReadOnly, kMountinfo, mount.super_read_only);
  seen.add(subject, kStoppedByError, kMountinfo, mount.stopped_by_error);
}

void add_usage(const Subject& subject, const host::Usage& usage, ObservationBuilder& seen) {
  const auto add = [&](std::string_view name, std::uint64_t count, std::string_view unit) {
    seen.add(subject, name, kStatfs, static_cast<std::int64_t>(count), unit);
  };
  add(kTotalBytes, usage.total_bytes, "bytes");
  add(kFreeBytes, usage.free_bytes, "bytes");
  add(kAvailableBytes, usage.available_bytes, "bytes");
  add(kTotalInodes, usage.total_inodes, "count");
  add(kFreeInodes, usage.free_inodes, "count");
}

// True if the mount answered.
bool read_mount(const host::Host& host, const host::Mount& mount, MonoTime run_deadline,
                ObservationBuilder& seen) {
  const Subject subject = make_subject(SubjectKind::mount, mount.mount_point);
  add_mount(subject, mount, seen);
  const auto add_missing = [&](std::string_view why, const std::string& what) {
    seen.add_missing(subject, kAvailableBytes, kStatfs, why, what).unit = "bytes";
  };
  const MonoTime now = host.clock.now().mono;
  if (now >= run_deadline) {
    add_missing(kNotAsked, "the run reached its deadline before this mount was read");
    return false;
  }
  const auto usage = host.filesystems.usage(mount, std::min(now + kPatience, run_deadline));
  if (usage)
    add_usage(subject, *usage, seen);
  else
    add_missing(to_string(usage.error().code), usage.error().what);
  return usage.has_value();
}

Result<Observed> observe(const host::Host& host, const Request& request) {
  const auto mounts = TRY(host.filesystems.mounts());
  const RelevantMounts relevant = relevant_mounts(mounts);
  if (relevant.mounts.empty()) return fail(Errc::unavailable, "no filesystem is mounted, not even /");
  // Leaves time to kill the slowest helper before the runtime abandons this run.
  const MonoTime deadline = request.deadline - seconds{1};
  ObservationBuilder seen(request.now);
  bool any_answered = false;
  for (const host::Mount& mount : relevant.mounts)
    if (read_mount(host, mount, deadline, seen)) any_answered = true;
  if (relevant.left_out != 0) seen.add_count(host_subject(), kLeftOut, kStatfs, relevant.left_out);
  Observed observed;
  observed.observations = seen.take();
  observed.witnesses = {std::string(kMountinfo)};
  if (any_answered) observed.witnesses.emplace_back(kStatfs);
  return observed;
}

// --- judge ---

// "1.5 GB"
std::string size_text(double bytes) {
  constexpr std::array<const char*, 6> units = {"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < units.size(); ++unit)
    bytes /= 1000;
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), unit == 0 || bytes >= 100 ? "%.0f %s" : "%.1f %s", bytes,
                units.at(unit));
  return text.data();
}

class MountJudge {
 public:
  MountJudge(const JudgeInput& input, const Subject& mount) : input_(input), mount_(mount) {}

  [[nodiscard]] Findings findings() {
    judge_writable();
    // A read-only filesystem cannot fill up; images are always full.
    if (!is(kReadOnly) && !is(kSuperReadOnly)) judge_space();
    judge_answer();
    return std::move(findings_);
  }

 private:
  [[nodiscard]] bool is(std::string_view name) const {
    return input_.history.number(mount_, name).value_or(0) != 0;
  }
  [[nodiscard]] bool was_writable() const {
    const auto samples = input_.history.samples(mount_, kSuperReadOnly);
    return std::any_of(samples.begin(), samples.end(),
                       [](const Sample& sample) { return as_number(sample.value) == 0.0; });
  }
  [[nodiscard]] Attributes identity() const {
    const Observation* mount = input_.history.find(mount_, kReadOnly);
    return mount == nullptr ? Attributes{} : mount->attributes;
  }
  // A FUSE filesystem answers only the user who mounted it.
  [[nodiscard]] bool is_private() const {
    const Attributes mount = identity();
    const Value* type = find_attribute(mount, "type");
    return type != nullptr && to_string(*type).starts_with("fuse");
  }
  void add(Finding finding) {
    for (auto& attribute : identity())
      finding.evidence.push_back(std::move(attribute));
    findings_.push_back(std::move(finding));
  }
  void add(std::string_view reason, Health health, const std::string& message, std::string_view witness) {
    Finding finding = make_finding(input_, mount_, reason, health, message);
    finding.evidence = {{"witness", std::string(witness)}};
    add(std::move(finding));
  }

  void add_unanswered(std::string_view reason, Health health, const std::string& message,
                      const std::string& what) {
    add(reason, health, message, kStatfs);
    findings_.back().evidence.emplace_back("error", what);
  }

  void judge_writable() {
    if (is(kStoppedByError)) {
      add("filesystem_read_only", Health::failed,
          mount_.key + " refuses writes: the kernel stopped it after an error", kMountinfo);
    } else if (is(kSuperReadOnly) && !is(kReadOnly)) {
      add("filesystem_read_only", Health::failed,
          mount_.key + " is mounted for writing, but its filesystem became read-only", kMountinfo);
    } else if (is(kSuperReadOnly) && was_writable()) {
      // A remount was requested; its author is unknown.
      add("filesystem_read_only", Health::degraded, mount_.key + " was writable and was remounted read-only",
          kMountinfo);
    }
  }

  void judge_space() {
    const auto total = input_.history.number(mount_, kTotalBytes);
    const auto free = input_.history.number(mount_, kFreeBytes);
    const auto available = input_.history.number(mount_, kAvailableBytes);
    if (!total || !free || !available || *total <= 0) return;
    const Limit full = limit(input_, "storage.filesystem.full_available_bytes");
    if (*available <= full.value) {
      add(make_finding(
          input_, mount_, "filesystem_full", Health::failed,
          mount_.key + " is full: " + size_text(*available) + " of " + size_text(*total) + " left",
          *available, full));
      return;
    }
    const double used = *total - *free;
    const double ratio = used / (used + *available);  // as df(1): without the blocks reserved for root
    const Limit nearly = limit(input_, "storage.filesystem.nearly_full_used_ratio");
    const Limit plenty = limit(input_, "storage.filesystem.nearly_full_available_bytes");
    if (ratio >= nearly.value && *available < plenty.value) {
      add(make_finding(input_, mount_, "filesystem_nearly_full", Health::degraded,
                       mount_.key + " is " + percent(ratio) + " full: " + size_text(*available) + " of " +
                           size_text(*total) + " left",
                       ratio, nearly));
      return;  // on filesystems that allocate inodes from free space, both run out together
    }
    judge_inodes();
  }

  void judge_inodes() {
    const auto total = input_.history.number(mount_, kTotalInodes);
    const auto free = input_.history.number(mount_, kFreeInodes);
    if (!total || !free || *total <= 0) return;
    const Limit exhausted = limit(input_, "storage.filesystem.inodes_exhausted_free");
    if (*free <= exhausted.value) {
      add(make_finding(input_, mount_, "inodes_exhausted", Health::failed, mount_.key + " has no free inode",
                       *free, exhausted));
      return;
    }
    const double ratio = (*total - *free) / *total;
    const Limit low = limit(input_, "storage.filesystem.inodes_low_used_ratio");
    if (ratio >= low.value)
      add(make_finding(input_, mount_, "inodes_low", Health::degraded,
                       mount_.key + " uses " + percent(ratio) + " of its inodes", ratio, low));
  }

  void judge_answer() {
    const Observation* answer = input_.history.find(mount_, kAvailableBytes);
    if (answer == nullptr || answer->missing.empty()) return;
    const Value* error = find_attribute(answer->attributes, "error");
    const std::string what = error == nullptr ? answer->missing.text() : to_string(*error);
    if (answer->missing == to_string(Errc::timed_out))
      add_unanswered("mount_hangs", Health::failed, mount_.key + " does not answer: access to it hangs",
                     what);
    else if (answer->missing == to_string(Errc::unavailable))
      add_unanswered("mount_broken", Health::failed, mount_.key + " cannot be used (" + what + ")", what);
    else if (answer->missing == to_string(Errc::exhausted))
      add_unanswered("limit_reached", Health::unknown, mount_.key + " was not read", what);
    else if (answer->missing == kNotAsked || answer->missing == to_string(Errc::internal))
      add_unanswered("could_not_look", Health::unknown, mount_.key + " was not read", what);
    else if (answer->missing == to_string(Errc::denied) && !is_private())
      add_unanswered("not_permitted", Health::unknown, "permission to read " + mount_.key + " is missing",
                     what);
    // not_found: unmounted since the list was read.
  }

  const JudgeInput& input_;
  const Subject& mount_;
  Findings findings_;
};

Findings judge(const JudgeInput& input) {
  Findings findings;
  const auto& ignored = input.expectation.ignored_mounts;
  for (const Subject& mount : input.history.subjects(SubjectKind::mount)) {
    if (std::find(ignored.begin(), ignored.end(), mount.key) != ignored.end()) continue;
    for (Finding& finding : MountJudge(input, mount).findings())
      findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace
}  // namespace storage_filesystem

const Check kStorageFilesystem = {
    .info = {.id = "storage.filesystem",
             .title = "Filesystems",
             .tags = {"storage", "passive"},
             .period = std::chrono::seconds{30},
             .deadline = std::chrono::seconds{10},
             .window = std::chrono::minutes{10},
             .cost = Cost::cheap,
             .witnesses = {std::string(storage_filesystem::kMountinfo),
                           std::string(storage_filesystem::kStatfs)},
             .rights = {},
             .needs_window = false},
    .observe = storage_filesystem::observe,
    .judge = storage_filesystem::judge,
};

}  // namespace autopilot::checks
