// SPDX-License-Identifier: Apache-2.0
#include "host/host_facts.hpp"

#include <algorithm>
#include <array>

#include "core/parse.hpp"

namespace autopilot::host {
namespace {

// Names by bit number, as in the kernel's capability.h.
constexpr std::array<std::string_view, 41> kCapabilities = {"CAP_CHOWN",
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

constexpr std::string_view kStatus = "/proc/self/status";

// The words after "Name:" in the status file.
Result<std::vector<std::string_view>> status_row(std::string_view status, std::string_view name) {
  for (std::string_view line : split(status, '\n')) {
    if (!line.starts_with(name) || line.substr(name.size(), 1) != ":") continue;
    return split_words(line.substr(name.size() + 1));
  }
  return fail(Errc::malformed, std::string(kStatus) + ": no row " + std::string(name));
}

Result<std::vector<std::string>> parse_capabilities(std::string_view status) {
  const auto words = TRY(status_row(status, "CapEff"));
  const auto mask = words.empty() ? std::nullopt : parse_number<std::uint64_t>(words.front(), 16);
  if (!mask) return fail(Errc::malformed, std::string(kStatus) + ": CapEff is no mask");
  std::vector<std::string> names;
  for (std::size_t bit = 0; bit < kCapabilities.size(); ++bit)
    if ((*mask >> bit & 1) != 0) names.emplace_back(kCapabilities.at(bit));
  return names;
}

// Real, effective, saved, filesystem.
Result<std::uint32_t> parse_effective_uid(std::string_view status) {
  const auto words = TRY(status_row(status, "Uid"));
  const auto uid = words.size() < 2 ? std::nullopt : parse_number<std::uint32_t>(words.at(1));
  if (!uid) return fail(Errc::malformed, std::string(kStatus) + ": Uid is no row of numbers");
  return *uid;
}

}  // namespace

bool HostFacts::has_capability(std::string_view name) const {
  return std::find(capabilities.begin(), capabilities.end(), name) != capabilities.end();
}

Result<HostFacts> read_host_facts(const Files& files) {
  HostFacts facts;
  facts.node = TRY(files.read_word("/proc/sys/kernel/hostname"));
  facts.boot_id = TRY(files.read_word("/proc/sys/kernel/random/boot_id"));
  facts.kernel_release = TRY(files.read_word("/proc/sys/kernel/osrelease"));
  const std::string status = TRY(files.read(kStatus));
  facts.uid = TRY(parse_effective_uid(status));
  facts.capabilities = TRY(parse_capabilities(status));
  return facts;
}

}  // namespace autopilot::host
