// SPDX-License-Identifier: Apache-2.0
#include "host/facts/fact_files.hpp"

#include <algorithm>

namespace autopilot::host {
namespace {

constexpr std::string_view kSettings[] = {"fs.file-max",
                                          "fs.inotify.max_user_instances",
                                          "fs.inotify.max_user_watches",
                                          "kernel.dmesg_restrict",
                                          "kernel.numa_balancing",
                                          "kernel.panic",
                                          "kernel.panic_on_oops",
                                          "kernel.perf_event_paranoid",
                                          "kernel.pid_max",
                                          "kernel.threads-max",
                                          "kernel.yama.ptrace_scope",
                                          "net.core.netdev_max_backlog",
                                          "net.core.rmem_max",
                                          "net.core.somaxconn",
                                          "net.core.wmem_max",
                                          "net.ipv4.conf.all.arp_announce",
                                          "net.ipv4.conf.all.arp_ignore",
                                          "net.ipv4.conf.all.rp_filter",
                                          "net.ipv4.tcp_congestion_control",
                                          "net.ipv4.tcp_mtu_probing",
                                          "net.ipv4.tcp_rmem",
                                          "net.ipv4.tcp_wmem",
                                          "vm.max_map_count",
                                          "vm.min_free_kbytes",
                                          "vm.nr_hugepages",
                                          "vm.overcommit_memory",
                                          "vm.swappiness",
                                          "vm.zone_reclaim_mode"};

// Beginnings of the names of modules that matter for accelerators, networks and shared file systems.
constexpr std::string_view kModules[] = {"nvidia", "nouveau", "gdrdrv", "amdgpu", "mlx",  "ib_",   "irdma",
                                         "bnxt",   "rdma",    "efa",    "lustre", "lnet", "mmfs",  "weka",
                                         "beegfs", "nfs",     "ceph",   "nvme",   "vfio", "xpmem", "knem"};

}  // namespace

std::span<const std::string_view> fact_settings() {
  return kSettings;
}

std::string setting_path(std::string_view name) {
  std::string path = "/proc/sys/" + std::string(name);
  std::ranges::replace(path, '.', '/');
  return path;
}

bool is_fact_module(std::string_view name) {
  return std::ranges::any_of(kModules, [name](std::string_view begin) { return name.starts_with(begin); });
}

std::vector<std::string> fact_files() {
  std::vector<std::string> files{"/sys/kernel/mm/transparent_hugepage/enabled"};
  for (const std::string_view name : kSettings)
    files.push_back(setting_path(name));
  for (const std::string_view begin : kModules)
    for (const char* file : {"/initstate", "/version"})
      files.push_back("/sys/module/" + std::string(begin) + "*" + file);
  return files;
}

}  // namespace autopilot::host
