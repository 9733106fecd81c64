// SPDX-License-Identifier: Apache-2.0
#include "host/storage/nfs.hpp"

#include <optional>

#include "core/parse.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kPath = "/proc/self/mountstats";

// Columns of an "xprt:" row after its protocol. TCP and RDMA say how they connected before what they sent.
constexpr std::size_t kConnectedSends = 5;
constexpr std::size_t kDatagramSends = 2;
// Of a row of an operation: ops, transmissions, timeouts, ...
constexpr std::size_t kTimeouts = 2;
constexpr std::size_t kLeastOperationColumns = 8;

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

}  // namespace autopilot::host
