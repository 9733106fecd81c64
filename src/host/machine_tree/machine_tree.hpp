// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>

#include "core/clock.hpp"
#include "core/observation.hpp"
#include "core/result.hpp"
#include "host/clock/system_clock.hpp"
#include "host/dns/name_servers.hpp"
#include "host/ethtool/ethtool.hpp"
#include "host/files/files.hpp"
#include "host/storage/filesystems.hpp"
#include "host/storage/nvme.hpp"

namespace autopilot::host {

// What statfs of one mount answers in a machine tree.
struct TreeUsage {
  Usage usage;
  bool hangs = false;         // statfs never returns
  std::optional<Errc> error;  // statfs fails so
};

struct TreeTimeSync {
  TimeSyncState state;  // without the clock source: that is a file of the tree
  std::optional<Errc> error;
};

struct TreeNvmeHealth {
  NvmeHealth health;
  std::optional<Errc> error;
};

// A test that is made of the machine of a tree.
struct TreeProbe {
  Duration takes{0};
  bool hangs = false;  // it never ends
  Observations found;  // by a test that ends now
};

// What happens to whoever reads a file, or anything in a directory, of a machine tree. One of the two.
struct TreeObstacle {
  bool hangs = false;         // the read never returns
  std::optional<Errc> error;  // the read fails so
};

// machine.yaml of an expanded machine tree (docs/machine-tree.md).
struct MachineTree {
  std::string directory;  // as given
  std::string node;
  std::string boot_id;
  WallTime time{};         // when the tree was taken
  Duration uptime{0};      // since boot, at `time`
  bool simulated = false;  // false: recorded from a real machine
  bool live = false;       // being played: its clocks are the real ones
  std::string description;
  std::map<std::string, TreeUsage, std::less<>> filesystems;          // by mount point
  std::optional<TreeTimeSync> time_sync;                              // nothing: was not asked when recorded
  std::map<std::string, TreeNvmeHealth, std::less<>> nvme;            // by controller: "nvme0"
  std::map<std::string, NameServerAnswer, std::less<>> name_servers;  // by address
  std::map<std::string, Result<EthtoolPort>, std::less<>> ethernet_ports;  // by interface
  std::map<std::string, Result<Observations>, std::less<>> tests;          // by check
  std::map<std::string, TreeProbe, std::less<>> probes;                    // likewise
  std::map<std::string, TreeObstacle, std::less<>> unreadable;             // by path as on the machine
  bool driver_library_broken = false;  // libnvidia-ml.so.1 is there and cannot be loaded

  [[nodiscard]] std::string root() const { return directory + "/root"; }
  [[nodiscard]] std::string kernel_log() const { return directory + "/kmsg.jsonl"; }
  // Exists while the kernel log is fed (`autopilot-sim feed`): it stands in place of kmsg.jsonl then.
  [[nodiscard]] std::string kernel_log_socket() const { return directory + "/kmsg.sock"; }
  // Need not exist: then the machine has no NVML library.
  [[nodiscard]] std::string nvml() const { return directory + "/nvml.yaml"; }
};

// The text of machine.yaml. malformed: every problem with `<directory>/machine.yaml:<line>`. unsupported: a
// source with `base:`, which autopilot-sim expands.
[[nodiscard]] Result<MachineTree> parse_machine_tree(std::string_view text, const std::string& directory);

// machine.yaml of one directory, read again whenever it changed: a scenario that is being played edits it.
// Thread-safe.
class MachineTreeFile {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

  // not_found: no machine.yaml in the directory.
  [[nodiscard]] static Result<std::unique_ptr<MachineTreeFile>> open(const std::string& directory);
  [[nodiscard]] Result<std::shared_ptr<const MachineTree>> read() const;

 private:
  // What tells one version of the file from the next.
  struct Version {
    std::uint64_t inode = 0;
    std::int64_t size = 0;
    std::int64_t modified_ns = 0;
    friend bool operator==(const Version&, const Version&) = default;
  };

  static Version version_of(const struct stat& status);

  explicit MachineTreeFile(std::string directory) : directory_(std::move(directory)) {}

  std::string directory_;
  mutable std::mutex mutex_;
  mutable Version version_;
  mutable std::shared_ptr<const MachineTree> tree_;
};

// The gate of the files of a machine tree: what machine.yaml says under `unreadable`. A path counts as well
// when it leads there by a symbolic link. Thread-safe.
class UnreadableFiles {
 public:
  // How soon a read that hangs notices that it no longer should.
  static constexpr Duration kHangPoll = std::chrono::milliseconds{20};

  UnreadableFiles(const MachineTreeFile& tree, std::string root) : tree_(tree), files_(std::move(root)) {}

  // The error that the tree has for this path. Does not return while the tree says that the read hangs; a
  // tree that is gone lets everybody go.
  [[nodiscard]] Status pass(std::string_view path) const;

 private:
  [[nodiscard]] TreeObstacle obstacle(const MachineTree& tree, std::string_view path) const;

  const MachineTreeFile& tree_;
  const Files files_;  // without the gate
};

}  // namespace autopilot::host
