// SPDX-License-Identifier: Apache-2.0
#include "checks/storage/relevant_mounts.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>

namespace autopilot::checks {
namespace {

// Written once and mounted read-only: they have no free space by design.
constexpr std::array<std::string_view, 7> kImages = {"squashfs", "iso9660", "udf", "erofs",
                                                     "cramfs",   "romfs",   "cdfs"};
// On a device, but with their own device number.
constexpr std::array<std::string_view, 3> kMultiDevice = {"btrfs", "zfs", "bcachefs"};

template <std::size_t Size>
bool is_one_of(std::string_view type, const std::array<std::string_view, Size>& types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

// Major number 0 is for filesystems without a device.
bool has_device(const host::Mount& mount) {
  return !mount.device.starts_with("0:") || is_one_of(mount.type, kMultiDevice);
}

// A part of a filesystem that is also mounted elsewhere. Subvolumes look the same, but are not bind mounts.
bool is_bind(const host::Mount& mount) {
  return mount.root != "/" && !mount.is_network && !is_one_of(mount.type, kMultiDevice);
}

bool is_relevant(const host::Mount& mount) {
  if (mount.mount_point == "/") return true;
  if (is_one_of(mount.type, kImages) || is_bind(mount)) return false;
  return mount.is_network || has_device(mount);
}

bool comes_before(const host::Mount& a, const host::Mount& b) {
  if (a.mount_point.size() != b.mount_point.size()) return a.mount_point.size() < b.mount_point.size();
  return a.mount_point < b.mount_point;
}

}  // namespace

RelevantMounts relevant_mounts(const std::vector<host::Mount>& mounts) {
  // Of several mounts at one mount point only the last is visible.
  std::map<std::string_view, const host::Mount*> visible;
  for (const host::Mount& mount : mounts)
    visible[mount.mount_point] = &mount;
  std::map<std::string_view, const host::Mount*> by_device;
  for (const auto& [point, mount] : visible) {
    if (!is_relevant(*mount)) continue;
    const host::Mount*& kept = by_device[mount->device];
    if (kept == nullptr || comes_before(*mount, *kept)) kept = mount;
  }
  RelevantMounts relevant;
  for (const auto& [device, mount] : by_device)
    relevant.mounts.push_back(*mount);
  std::sort(relevant.mounts.begin(), relevant.mounts.end(),
            [](const host::Mount& a, const host::Mount& b) { return a.mount_point < b.mount_point; });
  if (relevant.mounts.size() > RelevantMounts::kMax) {
    relevant.left_out = relevant.mounts.size() - RelevantMounts::kMax;
    relevant.mounts.resize(RelevantMounts::kMax);
  }
  return relevant;
}

}  // namespace autopilot::checks
