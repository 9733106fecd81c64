// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "core/parse.hpp"
#include "host/storage/filesystems.hpp"

namespace autopilot::host {
namespace {

// Types whose data lies on another machine. FUSE ones carry their own name behind "fuse.".
constexpr std::array<std::string_view, 26> kNetworkTypes = {
    "nfs",    "nfs4",   "cifs",    "smb3",   "smbfs",   "lustre", "gpfs",     "ceph",     "ceph-fuse",
    "beegfs", "wekafs", "9p",      "afs",    "gfs2",    "ocfs2",  "pvfs2",    "orangefs", "glusterfs",
    "sshfs",  "s3fs",   "gcsfuse", "rclone", "juicefs", "goofys", "blobfuse", "blobfuse2"};

constexpr std::size_t kBeforeSeparator = 6;  // id, parent, device, root, mount point, options

bool is_network_type(std::string_view type) {
  if (type.starts_with("fuse.")) type.remove_prefix(5);
  return std::find(kNetworkTypes.begin(), kNetworkTypes.end(), type) != kNetworkTypes.end();
}

bool is_octal(char c) {
  return c >= '0' && c <= '7';
}

// The kernel writes blanks, newlines and backslashes as \ and three octal digits.
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) &&
                           is_octal(text[i + 2]) && is_octal(text[i + 3]);
    if (!is_escape) {
      plain += text[i];
      continue;
    }
    plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return plain;
}

bool has_option(std::string_view options, std::string_view word) {
  const auto words = split(options, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_device(std::string_view text) {
  const auto parts = split(text, ':');
  return parts.size() == 2 && parse_number<unsigned>(parts[0]) && parse_number<unsigned>(parts[1]);
}

std::optional<Mount> parse_row(std::string_view line) {
  const auto separator = line.find(" - ");
  if (separator == std::string_view::npos) return std::nullopt;
  const auto before = split(line.substr(0, separator), ' ');
  // The source may be empty: "- tmpfs  rw".
  const auto after = split(line.substr(separator + 3), ' ');
  if (before.size() < kBeforeSeparator || after.size() < 3) return std::nullopt;
  if (!is_device(before[2]) || !before[4].starts_with('/') || after[0].empty()) return std::nullopt;
  Mount mount;
  mount.device = before[2];
  mount.root = unescape(before[3]);
  mount.mount_point = unescape(before[4]);
  mount.read_only = has_option(before[5], "ro");
  mount.type = unescape(after[0]);
  mount.source = unescape(after[1]);
  mount.super_read_only = has_option(after[2], "ro");
  mount.stopped_by_error = has_option(after[2], "emergency_ro") || has_option(after[2], "shutdown");
  mount.is_network = is_network_type(mount.type);
  return mount;
}

}  // namespace

bool may_hang(const Mount& mount) {
  return mount.is_network || mount.type == "fuse" || mount.type == "fuseblk" ||
         mount.type.starts_with("fuse.");
}

Result<std::vector<Mount>> parse_mountinfo(std::string_view text) {
  std::vector<Mount> mounts;
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    auto mount = parse_row(line);
    if (!mount) return fail(Errc::malformed, "mountinfo: line " + std::to_string(number) + " is no mount");
    mounts.push_back(std::move(*mount));
  }
  return mounts;
}

}  // namespace autopilot::host
