// SPDX-License-Identifier: Apache-2.0
#include "host/process/own_rights.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/parse.hpp"

namespace autopilot::host {
namespace {

// By number, as in <linux/capability.h>.
constexpr std::array<std::string_view, 41> kCapabilityNames{"CAP_CHOWN",
                                                            "CAP_DAC_OVERRIDE",
                                                            "CAP_DAC_READ_SEARCH",
                                                            "CAP_FOWNER",
                                                            "CAP_FSETID",
                                                            "CAP_KILL",
                                                            "CAP_SETGID",
                                                            "CAP_SETUID",
                                                            "CAP_SETPCAP",
                                                            "CAP_LINUX_IMMUTABLE",
                                                            "CAP_NET_BIND_SERVICE",
                                                            "CAP_NET_BROADCAST",
                                                            "CAP_NET_ADMIN",
                                                            "CAP_NET_RAW",
                                                            "CAP_IPC_LOCK",
                                                            "CAP_IPC_OWNER",
                                                            "CAP_SYS_MODULE",
                                                            "CAP_SYS_RAWIO",
                                                            "CAP_SYS_CHROOT",
                                                            "CAP_SYS_PTRACE",
                                                            "CAP_SYS_PACCT",
                                                            "CAP_SYS_ADMIN",
                                                            "CAP_SYS_BOOT",
                                                            "CAP_SYS_NICE",
                                                            "CAP_SYS_RESOURCE",
                                                            "CAP_SYS_TIME",
                                                            "CAP_SYS_TTY_CONFIG",
                                                            "CAP_MKNOD",
                                                            "CAP_LEASE",
                                                            "CAP_AUDIT_WRITE",
                                                            "CAP_AUDIT_CONTROL",
                                                            "CAP_SETFCAP",
                                                            "CAP_MAC_OVERRIDE",
                                                            "CAP_MAC_ADMIN",
                                                            "CAP_SYSLOG",
                                                            "CAP_WAKE_ALARM",
                                                            "CAP_BLOCK_SUSPEND",
                                                            "CAP_AUDIT_READ",
                                                            "CAP_PERFMON",
                                                            "CAP_BPF",
                                                            "CAP_CHECKPOINT_RESTORE"};
static_assert(kCapabilityNames[CAP_SYSLOG] == "CAP_SYSLOG");
static_assert(kCapabilityNames[CAP_CHECKPOINT_RESTORE] == "CAP_CHECKPOINT_RESTORE");

// Inodes of the machine's own namespaces, which the kernel fixes (include/linux/proc_ns.h).
constexpr std::uint64_t kInitialUser = 0xEFFFFFFD;
constexpr std::uint64_t kInitialPid = 0xEFFFFFFC;

constexpr std::size_t kMaxGroups = 65536;

// The words after "Name:"; empty: no such line.
std::vector<std::string_view> words_of_line(std::string_view status, std::string_view name) {
  for (std::string_view line : split(status, '\n')) {
    if (!line.starts_with(name) || line.substr(name.size(), 1) != ":") continue;
    line.remove_prefix(name.size() + 1);
    return split_words(line);
  }
  return {};
}

Result<std::uint32_t> effective_id(std::string_view status, std::string_view name) {
  const auto words = words_of_line(status, name);
  const auto id = words.size() > 1 ? parse_number<std::uint32_t>(words[1]) : std::nullopt;
  if (!id)
    return fail(Errc::malformed, "malformed " + std::string(name) + " line in the status of a process");
  return *id;
}

Result<Capabilities> capabilities_of(std::string_view status, std::string_view name) {
  const auto words = words_of_line(status, name);
  const auto bits = words.size() == 1 ? parse_number<Capabilities>(words[0], 16) : std::nullopt;
  if (!bits)
    return fail(Errc::malformed, "malformed " + std::string(name) + " line in the status of a process");
  return *bits;
}

// Lines of /etc/group: "name:x:27:members".
void name_groups(std::string_view text, std::vector<OwnGroup>& groups) {
  for (const std::string_view line : split(text, '\n')) {
    const auto fields = split(line, ':');
    const auto id = fields.size() > 2 ? parse_number<std::uint32_t>(fields[2]) : std::nullopt;
    if (!id) continue;
    for (OwnGroup& group : groups)
      if (group.id == *id) group.name = std::string(fields[0]);
  }
}

// The inode of a namespace of this process; 0: unknown.
std::uint64_t namespace_inode(const Files& files, const std::string& name) {
  struct stat status {};
  const std::string path = files.root() + "/proc/self/ns/" + name;
  return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

std::optional<std::uint64_t> hard_limit(__rlimit_resource resource) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_max == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_max;
}

// The path of this process in the hierarchy of cgroup v2: "0::/user.slice".
std::string own_group_path(const Files& files) {
  const std::string text = files.read("/proc/self/cgroup").value_or("");
  for (const std::string_view line : split(text, '\n'))
    if (line.starts_with("0::/")) return std::string(line.substr(3));
  return {};
}

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

// "nvidiactl", "nvidia-uvm", "nvidia0", "kfd"
bool is_gpu_device(std::string_view name) {
  if (name == "kfd" || name == "nvidiactl" || name == "nvidia-uvm") return true;
  return name.starts_with("nvidia") && is_number(name.substr(std::string_view("nvidia").size()));
}

}  // namespace

Result<OwnRights> parse_rights(std::string_view status) {
  OwnRights rights;
  rights.uid = TRY(effective_id(status, "Uid"));
  rights.gid = TRY(effective_id(status, "Gid"));
  rights.effective = TRY(capabilities_of(status, "CapEff"));
  rights.bounding = TRY(capabilities_of(status, "CapBnd"));
  for (const std::string_view word : words_of_line(status, "Groups")) {
    const auto id = parse_number<std::uint32_t>(word);
    if (!id) return fail(Errc::malformed, "malformed Groups line in the status of a process");
    if (rights.groups.size() < kMaxGroups) rights.groups.push_back({*id, {}});
  }
  return rights;
}

Result<OwnRights> read_own_rights(const Files& files) {
  const std::string status = TRY(files.read("/proc/self/status"));
  auto rights = TRY(parse_rights(status));
  name_groups(files.read("/etc/group").value_or(""), rights.groups);
  return rights;
}

std::optional<Capabilities> capability_named(std::string_view name) {
  const auto found = std::ranges::find(kCapabilityNames, name);
  if (found == kCapabilityNames.end()) return std::nullopt;
  return Capabilities{1} << static_cast<unsigned>(found - kCapabilityNames.begin());
}

std::string names_of_capabilities(Capabilities capabilities) {
  std::string text;
  while (capabilities != kNoCapabilities) {
    const auto number = static_cast<std::size_t>(std::countr_zero(capabilities));
    capabilities &= capabilities - 1;
    text += (text.empty() ? "" : ", ") + (number < kCapabilityNames.size()
                                              ? std::string(kCapabilityNames[number])
                                              : "capability " + std::to_string(number));
  }
  return text.empty() ? "none" : text;
}

bool has_every_capability(Capabilities capabilities) {
  constexpr Capabilities kAll = (Capabilities{1} << kCapabilityNames.size()) - 1;
  return (capabilities & kAll) == kAll;
}

OwnNamespaces read_own_namespaces(const Files& files) {
  const auto is_initial = [&](const std::string& name, std::uint64_t inode) {
    const std::uint64_t own = namespace_inode(files, name);
    return own == 0 || own == inode;
  };
  return {.user = is_initial("user", kInitialUser),
          .pid = is_initial("pid", kInitialPid),
          .is_container = files.exists("/.dockerenv") || files.exists("/run/.containerenv") ||
                          files.exists("/var/run/secrets/kubernetes.io/serviceaccount")};
}

OwnLimits read_own_limits(const Files& files) {
  OwnLimits limits{.open_files = hard_limit(RLIMIT_NOFILE),
                   .locked_bytes = hard_limit(RLIMIT_MEMLOCK),
                   .memory_of_group = {}};
  const std::string group = own_group_path(files);
  const auto word = files.read_word("/sys/fs/cgroup" + group + "/memory.max");
  if (word) limits.memory_of_group = parse_number<std::uint64_t>(*word);
  return limits;
}

std::optional<bool> is_kernel_log_restricted(const Files& files) {
  const auto setting = files.read_integer("/proc/sys/kernel/dmesg_restrict");
  return setting ? std::optional(*setting != 0) : std::nullopt;
}

std::vector<DeviceNode> scan_device_nodes(const Files& files) {
  std::vector<DeviceNode> nodes;
  for (const std::string& name : files.list("/dev").value_or(std::vector<std::string>{})) {
    if (!is_gpu_device(name)) continue;
    const std::string path = "/dev/" + name;
    nodes.push_back({path, ::access((files.root() + path).c_str(), R_OK | W_OK) == 0});
  }
  return nodes;
}

}  // namespace autopilot::host
