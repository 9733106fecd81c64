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

// Name in /sys/block: a controller's first namespace.
std::string block_name(const FaultEffect& effect) {
  return effect.key.starts_with("nvme") ? effect.key + "n1" : effect.key;
}

struct MountRow {
  std::string type;
  std::string source;
};

// The row of the mount; with `read_only`, makes its filesystem (the last word) read-only.
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

void apply_io_errors(FaultEffect& effect) {
  const std::string disk = block_name(effect);
  const bool is_discard = effect.kind == "discard";
  const std::string error = effect.kind == "medium" ? "critical medium"
                            : is_discard            ? "critical target"
                                                    : "I/O";
  const std::string operation = is_discard ? "0x3:(DISCARD)" : "0x0:(READ)";
  const std::string begin = error + " error, dev " + disk + ", sector ";
  const std::string end = " op " + operation + " flags 0x80700 phys_seg 1 prio class 2";
  for (std::int64_t i = 0; i < std::min(effect.count(), FaultEffect::kMaxRepeats); ++i) {
    std::string line = begin;
    line += std::to_string(2048 + 8 * i);
    line += end;
    effect.log(0.1 * static_cast<double>(i), 3, line);
  }
}

// No process on a machine tree uses a disk, so requests in flight are the only value to change.
void apply_io_stall(FaultEffect& effect) {
  if (!effect.is_active) return;
  constexpr std::size_t in_flight = 8;
  const std::string path = effect.files.resolve("/sys/block/" + block_name(effect) + "/stat").value_or("");
  const std::string* text = effect.files.text(path);
  if (text == nullptr) return;
  std::string row;
  std::size_t column = 0;
  for (const std::string_view word : split_words(*text))
    row += " " + (column++ == in_flight ? std::to_string(effect.count()) : std::string(word));
  effect.files.write(path, row + "\n");
}

// A level without redundancy fails; the others continue with the remaining members.
void apply_raid_member_lost(FaultEffect& effect) {
  const std::string array = effect.files.resolve("/sys/block/" + effect.key).value_or("") + "/md";
  const std::string level = effect.files.value(array + "/level").value_or("");
  const std::string begin = "md/" + level + ":" + effect.key + ": Disk failure on ";
  std::int64_t lost = 0;
  for (const std::string& name : effect.files.list(array)) {
    if (!name.starts_with("dev-") || lost == effect.count()) continue;
    ++lost;
    const std::string member = name.substr(4);
    effect.log(0, 2, begin + member + ", disabling device.");
    if (effect.is_active)
      effect.files.write_value(std::string(array).append("/").append(name).append("/state"), "faulty");
  }
  if (!effect.is_active) return;
  const auto places = effect.files.number(array + "/raid_disks").value_or(0);
  if (effect.files.value(array + "/degraded")) effect.files.write_number(array + "/degraded", lost);
  if (level == "raid0" || lost >= places) effect.files.write_value(array + "/array_state", "broken");
}

// Errors that an ext4 filesystem records until fsck repairs it.
void remember_errors(FaultEffect& effect, const std::string& device, std::int64_t count) {
  const std::string path = "/sys/fs/ext4/" + device;
  effect.add_file(path + "/errors_count", count);
  for (const char* file : {"/first_error_time", "/last_error_time"})
    if (effect.files.value(path + file)) effect.files.write_number(path + file, effect.begin_wall_seconds());
}

void apply_filesystem_errors(FaultEffect& effect) {
  const MountRow row = edit_mount(effect, false);
  const std::string device = base_name(row.source);
  for (std::int64_t i = 0; i < std::min(effect.count(), FaultEffect::kMaxRepeats); ++i)
    effect.log(
        0.1 * static_cast<double>(i), 2,
        row.type == "xfs"
            ? "XFS (" + device +
                  "): Metadata corruption detected at xfs_agf_read_verify+0xb0/0xe0 [xfs], xfs_agf block 0x1"
            : "EXT4-fs error (device " + device +
                  "): ext4_find_entry:1455: inode #2: comm ls: reading directory lblock 0");
  remember_errors(effect, device, effect.count());
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
  remember_errors(effect, device, 1);
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

// Adds requests of the mount without a reply, and requests that exceeded their last timeout.
void edit_mountstats(FaultEffect& effect, std::int64_t unanswered, std::int64_t timeouts) {
  const std::string* text = effect.files.text("/proc/self/mountstats");
  if (text == nullptr) return;
  constexpr std::size_t sends = 7;  // of "xprt: tcp ...", words from 0
  constexpr std::size_t late = 3;   // of "READ: ops transmissions timeouts ..."
  std::string changed;
  bool is_ours = false;
  for (const std::string_view line : split(*text, '\n')) {
    const auto words = split_words(line);
    if (words.size() > 4 && words[0] == "device") is_ours = words[4] == effect.key;
    const bool is_transport = is_ours && words.size() > sends && words[0] == "xprt:";
    const bool is_read = is_ours && words.size() > late && words[0] == "READ:";
    if (!is_transport && !is_read) {
      changed += std::string(line) + "\n";
      continue;
    }
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::int64_t more = is_transport && i == sends ? unanswered : is_read && i == late ? timeouts : 0;
      const auto number = parse_number<std::int64_t>(words[i]);
      changed += (i == 0 ? "\t" : " ") +
                 (more > 0 && number ? std::to_string(*number + more) : std::string(words[i]));
    }
    changed += "\n";
  }
  changed.pop_back();
  effect.files.write("/proc/self/mountstats", changed);
}

void apply_nfs_slow(FaultEffect& effect) {
  const MountRow row = edit_mount(effect, false);
  const std::string server = row.source.substr(0, row.source.find(':'));
  for (std::int64_t i = 0; i < std::min(effect.count(), FaultEffect::kMaxRepeats); ++i) {
    effect.log(static_cast<double>(i), 5, "nfs: server " + server + " not responding, still trying");
    effect.log(static_cast<double>(i) + 0.5, 5, "nfs: server " + server + " OK");
  }
  edit_mountstats(effect, 0, effect.count());
}

void apply_mount_hang(FaultEffect& effect) {
  const MountRow row = edit_mount(effect, false);
  if (row.type.starts_with("nfs")) {
    const std::string server = row.source.substr(0, row.source.find(':'));
    effect.log(0, 5, "nfs: server " + server + " not responding, still trying");
    effect.log_end(5, "nfs: server " + server + " OK");
    // A program sends a request, and the client repeats it every minute.
    constexpr double repeat_seconds = 60;
    edit_mountstats(effect, 1 + static_cast<std::int64_t>(effect.seconds / repeat_seconds),
                    effect.is_active ? 0 : 1);
  }
  if (effect.is_active) yaml_member(usage_of(effect), "hangs") = yaml_flag(true);
}

}  // namespace autopilot::simulator
