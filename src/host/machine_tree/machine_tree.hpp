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

// Result of statfs for one mount of a machine tree.
struct TreeUsage {
  Usage usage;
  bool hangs = false;         // statfs never returns
  std::optional<Errc> error;  // statfs fails with it
};

struct TreeTimeSync {
  TimeSyncState state;  // without the clock source, which is a file of the tree
  std::optional<Errc> error;
};

struct TreeNvmeHealth {
  NvmeHealth health;
  std::optional<Errc> error;
};

// A diagnostic of the machine of a tree.
struct TreeProbe {
  Duration takes{0};
  bool hangs = false;  // the diagnostic never ends
  Observations found;  // the results if it ends now
};

// Result of reading a file of a machine tree, or anything in a directory of it. One member is set.
struct TreeObstacle {
  bool hangs = false;         // the read never returns
  std::optional<Errc> error;  // the read fails with it
};

// machine.yaml of an expanded machine tree (docs/machine-tree.md).
struct MachineTree {
  std::string directory;  // as given
  std::string node;
  std::string boot_id;
  WallTime time{};         // when the tree was recorded
  Duration uptime{0};      // since boot, at `time`
  bool simulated = false;  // false: recorded from a real machine
  bool live = false;       // a running scenario: its clocks are the real ones
  std::string description;
  std::map<std::string, TreeUsage, std::less<>> filesystems;               // by mount point
  std::optional<TreeTimeSync> time_sync;                                   // missing: not recorded
  std::map<std::string, TreeNvmeHealth, std::less<>> nvme;                 // by controller: "nvme0"
  std::map<std::string, NameServerAnswer, std::less<>> name_servers;       // by address
  std::map<std::string, Result<EthtoolPort>, std::less<>> ethernet_ports;  // by interface
  std::map<std::string, Result<Observations>, std::less<>> tests;          // by check
  std::map<std::string, TreeProbe, std::less<>> probes;                    // likewise
  std::map<std::string, TreeObstacle, std::less<>> unreadable;             // by path as on the machine
  bool driver_library_broken = false;  // libnvidia-ml.so.1 exists and cannot be loaded

  [[nodiscard]] std::string root() const { return directory + "/root"; }
  [[nodiscard]] std::string kernel_log() const { return directory + "/kmsg.jsonl"; }
  // Exists while `autopilot-sim feed` runs, and then replaces kmsg.jsonl.
  [[nodiscard]] std::string kernel_log_socket() const { return directory + "/kmsg.sock"; }
  // If it does not exist the machine has no NVML library.
  [[nodiscard]] std::string nvml() const { return directory + "/nvml.yaml"; }
};

// `text`: machine.yaml. malformed: all problems, each with `<directory>/machine.yaml:<line>`. unsupported: a
// source with `base:`, which autopilot-sim expands.
[[nodiscard]] Result<MachineTree> parse_machine_tree(std::string_view text, const std::string& directory);

// machine.yaml of one directory, read again after every change: a running scenario edits it. Thread-safe.
class MachineTreeFile {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

  // not_found: no machine.yaml in the directory.
  [[nodiscard]] static Result<std::unique_ptr<MachineTreeFile>> open(const std::string& directory);
  [[nodiscard]] Result<std::shared_ptr<const MachineTree>> read() const;

 private:
  // Identifies a version of the file.
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

// Applies `unreadable` of machine.yaml to the files of a machine tree, also to paths that reach them through
// a symbolic link. Thread-safe.
class UnreadableFiles {
 public:
  // How often a hanging read checks whether it may continue.
  static constexpr Duration kHangPoll = std::chrono::milliseconds{20};

  UnreadableFiles(const MachineTreeFile& tree, std::string root) : tree_(tree), files_(std::move(root)) {}

  // The error of the tree for this path. Does not return while the read hangs; returns an error if the tree
  // is removed.
  [[nodiscard]] Status pass(std::string_view path) const;

 private:
  [[nodiscard]] TreeObstacle obstacle(const MachineTree& tree, std::string_view path) const;

  const MachineTreeFile& tree_;
  const Files files_;  // without this check
};

}  // namespace autopilot::host
