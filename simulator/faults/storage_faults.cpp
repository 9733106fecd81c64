// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/parse.hpp"
#include "faults/effect.hpp"

namespace autopilot::simulator {
namespace {

YamlNode& health_of(FaultEffect& effect) {
  return yaml_member(yaml_member(effect.machine.machine, "nvme"), effect.key);
}

YamlNode& usage_of(FaultEffect& effect) {
  return yaml_member(yaml_member(effect.machine.machine, "filesystems"), effect.key);
}

std::int64_t integer_of(const YamlNode& map, std::string_view key) {
  const YamlNode* value = map.find(key);
  return value == nullptr ? 0 : parse_number<std::int64_t>(value->text).value_or(0);
}

struct MountRow {
  std::string type;
  std::string source;
};

// The row of the mount, and with `read_only` its filesystem (the last word) made so.
MountRow edit_mount(FaultEffect& effect, bool read_only) {
  MountRow found;
  for (const char* path : {"/proc/self/mountinfo", "/proc/1/mountinfo"}) {
    const std::string* text = effect.files.text(path);
    if (text == nullptr) continue;
    std::string changed;
    for (const std::string_view line : split(*text, '\n')) {
      const auto words = split_words(line);
      if (words.size() < 10 || words[4] != effect.key) {
        changed += line.empty() ? "" : std::string(line) + "\n";
        continue;
      }
      found = {std::string(words[words.size() - 3]), std::string(words[words.size() - 2])};
      std::string row(line);
      if (const auto super = row.rfind(" rw"); read_only && super != std::string::npos)
        row.replace(super, 3, " ro");
      changed += row + "\n";
    }
    effect.files.write(path, changed);
  }
  return found;
}

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

void apply_nvme_wear(FaultEffect& effect) {
  YamlNode& health = health_of(effect);
  yaml_member(health, "percentage_used") = yaml_integer(effect.count());
  const auto spare = std::clamp<std::int64_t>(200 - effect.count(), 40, 100);
  yaml_member(health, "available_spare_percent") = yaml_integer(spare);
}

void apply_nvme_critical(FaultEffect& effect) {
  if (!effect.is_active) return;
  constexpr std::int64_t spare_bit = 1;
  constexpr std::int64_t temperature_bit = 2;
  YamlNode& health = health_of(effect);
  yaml_member(health, "critical_warning") = yaml_integer(effect.count());
  if ((effect.count() & spare_bit) != 0) yaml_member(health, "available_spare_percent") = yaml_integer(4);
  if ((effect.count() & temperature_bit) != 0) yaml_member(health, "temperature_celsius") = yaml_integer(86);
}

void apply_nvme_dead(FaultEffect& effect) {
  const std::string name = "nvme " + effect.key + ": ";
  effect.log(0, 4, name + "I/O 128 QID 4 timeout, aborting");
  effect.log(30, 4, name + "I/O 128 QID 4 timeout, reset controller");
  effect.log(30, 4, name + "controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10");
  effect.log(60, 4, name + "Disabling device after reset failure: -19");
  if (!effect.is_active) return;
  const std::string device = effect.files.resolve("/sys/class/nvme/" + effect.key).value_or("");
  if (!device.empty())
    effect.files.write_value(device + "/state", effect.seconds < 60 ? "resetting" : "dead");
  YamlNode& health = health_of(effect);
  health = yaml_map();
  yaml_member(health, "error") = yaml_word("timed_out");
}

void apply_filesystem_read_only(FaultEffect& effect) {
  const MountRow row = edit_mount(effect, effect.is_active);
  const std::string device = base_name(row.source);
  if (row.type == "xfs") {
    effect.log(0, 1,
               "XFS (" + device +
                   "): metadata I/O error in \"xfs_imap_to_bp+0x50/0x70\" at daddr 0x80 len 32 error 5");
    effect.log(0.1, 1, "XFS (" + device + "): I/O Error Detected. Shutting down filesystem");
    return;
  }
  effect.log(0, 2,
             "EXT4-fs error (device " + device +
                 "): ext4_journal_check_start:83: comm kworker/u512:2: Detected aborted journal");
  effect.log(0.1, 2, "EXT4-fs (" + device + "): Remounting filesystem read-only");
}

void apply_filesystem_full(FaultEffect& effect) {
  if (!effect.is_active) return;
  YamlNode& usage = usage_of(effect);
  const double free = static_cast<double>(integer_of(usage, "total_bytes")) * (1 - effect.share());
  for (const char* key : {"free_bytes", "available_bytes"})
    yaml_member(usage, key) = yaml_integer(std::max<std::int64_t>(0, static_cast<std::int64_t>(free)));
}

void apply_inodes_full(FaultEffect& effect) {
  if (!effect.is_active) return;
  YamlNode& usage = usage_of(effect);
  const double free = static_cast<double>(integer_of(usage, "total_inodes")) * (1 - effect.share());
  yaml_member(usage, "free_inodes") =
      yaml_integer(std::max<std::int64_t>(0, static_cast<std::int64_t>(free)));
}

void apply_mount_hang(FaultEffect& effect) {
  const MountRow row = edit_mount(effect, false);
  if (row.type.starts_with("nfs")) {
    const std::string server = row.source.substr(0, row.source.find(':'));
    effect.log(0, 5, "nfs: server " + server + " not responding, still trying");
    effect.log_end(5, "nfs: server " + server + " OK");
  }
  if (effect.is_active) yaml_member(usage_of(effect), "hangs") = yaml_flag(true);
}

}  // namespace autopilot::simulator
