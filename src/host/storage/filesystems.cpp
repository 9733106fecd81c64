// SPDX-License-Identifier: Apache-2.0
#include "host/storage/filesystems.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include "core/parse.hpp"
#include "host/storage/block.hpp"

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
    if (!mount) return fail(Errc::malformed, "mountinfo: line " + std::to_string(number) + " is not a mount");
    mounts.push_back(std::move(*mount));
  }
  return mounts;
}

namespace {

constexpr std::string_view kPath = "/proc/self/mountstats";

// Columns of an "xprt:" row after its protocol. TCP and RDMA say how they connected before what they sent.
constexpr std::size_t kConnectedSends = 5;
constexpr std::size_t kDatagramSends = 2;
// Of a row of an operation: ops, transmissions, timeouts, ...
constexpr std::size_t kTimeouts = 2;
constexpr std::size_t kLeastOperationColumns = 8;
// Of the row of bytes: by applications, past the cache, then from and to the server.
constexpr std::size_t kServerReadBytes = 5;
constexpr std::size_t kServerWrittenBytes = 6;

// "device SERVER:/EXPORT mounted on POINT with fstype nfs4 statvers=1.1"
std::optional<NfsMount> parse_head(std::string_view line) {
  const auto words = split_words(line);
  if (words.size() < 8 || words[0] != "device" || words[2] != "mounted" || words[5] != "with" ||
      words[6] != "fstype" || (words[7] != "nfs" && words[7] != "nfs4"))
    return std::nullopt;
  const auto end = words[1].rfind(":/");
  NfsMount mount;
  mount.server = words[1].substr(0, end);
  if (mount.server.starts_with('[') && mount.server.ends_with(']'))
    mount.server = mount.server.substr(1, mount.server.size() - 2);
  mount.exported = words[1];
  mount.mount_point = words[4];
  return mount;
}

bool add_number(std::string_view word, std::uint64_t& sum) {
  const auto number = parse_number<std::uint64_t>(word);
  if (number) sum += *number;
  return number.has_value();
}

// A mount has several transports with the option nconnect.
bool add_transport(const std::vector<std::string_view>& words, NfsMount& mount) {
  if (words.size() < 2) return false;
  if (words[1] == "local") return true;  // a server on this machine, over a socket file
  const std::size_t sends = 2 + (words[1] == "udp" ? kDatagramSends : kConnectedSends);
  return words.size() > sends + 1 && add_number(words[sends], mount.sends) &&
         add_number(words[sends + 1], mount.receives);
}

// Rows of one mount, up to the next.
class MountReader {
 public:
  explicit MountReader(NfsMount mount) : mount_(std::move(mount)) {}

  [[nodiscard]] bool take(std::string_view line) {
    const auto words = split_words(line);
    if (words.empty()) return true;
    if (words[0] == "xprt:") return add_transport(words, mount_);
    if (words[0] == "bytes:")
      return words.size() > kServerWrittenBytes && add_number(words[kServerReadBytes], mount_.read_bytes) &&
             add_number(words[kServerWrittenBytes], mount_.written_bytes);
    if (words[0] == "RPC") {  // "RPC iostats version: 1.1  p/v: 100003/4 (nfs)"
      for (std::size_t i = 0; i + 1 < words.size(); ++i)
        if (words[i] == "p/v:") mount_.version = words[i + 1];
      return true;
    }
    if (words[0] == "per-op") {
      in_operations_ = true;
      return true;
    }
    if (!in_operations_ || !words[0].ends_with(':')) return true;
    return words.size() > kLeastOperationColumns && add_number(words[1 + kTimeouts], mount_.timeouts);
  }
  [[nodiscard]] const NfsMount& mount() const { return mount_; }

 private:
  NfsMount mount_;
  bool in_operations_ = false;
};

}  // namespace

Result<std::vector<NfsMount>> parse_mountstats(std::string_view text) {
  std::vector<NfsMount> mounts;
  std::optional<MountReader> reader;
  bool any_mount = false;
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with("device ") || line.starts_with("no device ")) {
      any_mount = true;
      if (reader) mounts.push_back(reader->mount());
      reader.reset();
      if (auto mount = parse_head(line)) reader.emplace(*std::move(mount));
      continue;
    }
    if (reader && !reader->take(line))
      return fail(Errc::malformed, std::string(kPath) + ": " + reader->mount().mount_point +
                                       ": cannot be understood: " + std::string(trim(line).substr(0, 80)));
  }
  if (reader) mounts.push_back(reader->mount());
  // Every process has a root filesystem, and every mount a line.
  if (!any_mount) return fail(Errc::malformed, std::string(kPath) + ": no mount is listed");
  return mounts;
}

Result<std::vector<NfsMount>> read_nfs_mounts(const Files& files) {
  const std::string text = TRY(files.read(kPath));
  return parse_mountstats(text);
}

namespace {

constexpr std::string_view kExt4 = "/sys/fs/ext4";

// Seconds since 1970; 0 where there was no error.
std::optional<WallTime> read_time(const Files& files, const std::string& path) {
  const auto seconds = files.read_integer(path);
  constexpr std::int64_t most = 1'000'000'000'000;  // beyond it no clock was ever set
  if (!seconds || *seconds <= 0 || *seconds > most) return std::nullopt;
  return WallTime{std::chrono::seconds{*seconds}};
}

Result<std::uint64_t> read_count(const Files& files, const std::string& path) {
  const std::string word = TRY(files.read_word(path));
  const auto count = parse_number<std::uint64_t>(word);
  if (!count) return fail(Errc::malformed, path + ": no number");
  return *count;
}

}  // namespace

Result<std::vector<Ext4Errors>> scan_ext4_errors(const Files& files) {
  const auto names = TRY(files.list_sysfs(kExt4));
  std::vector<Ext4Errors> filesystems;
  for (const std::string& name : names) {
    const std::string path = std::string(kExt4) + "/" + name;
    const auto count = read_count(files, path + "/errors_count");
    // "features" is what the driver can; a filesystem may be unmounted since the list was read.
    if (!count && count.error().code == Errc::not_found) continue;
    Ext4Errors errors;
    errors.device = name;
    errors.device_number = device_number(files, name);
    if (!count) errors.problem = count.error();
    errors.count = count.value_or(0);
    errors.first = read_time(files, path + "/first_error_time");
    errors.last = read_time(files, path + "/last_error_time");
    errors.last_function = files.read_word(path + "/last_error_func").value_or("");
    filesystems.push_back(std::move(errors));
  }
  return filesystems;
}

}  // namespace autopilot::host
