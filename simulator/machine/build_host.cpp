// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "machine/build.hpp"

namespace autopilot::simulator {
namespace {

std::string line(const std::string& name, std::int64_t kilobytes) {
  const std::string number = std::to_string(kilobytes);
  std::string text = name + ":";
  text.resize(std::max<std::size_t>(text.size(), 16), ' ');
  return text + std::string(number.size() < 12 ? 12 - number.size() : 0, ' ') + number + " kB\n";
}

void write_memory(const Description& description, FileTree& files) {
  const std::int64_t total = std::int64_t{description.memory_gib} * 1024 * 1024 * 99 / 100;
  files.write("/proc/meminfo",
              line("MemTotal", total) + line("MemFree", total * 7 / 10) +
                  line("MemAvailable", total * 9 / 10) + line("Buffers", 812344) + line("Cached", total / 6) +
                  line("SwapCached", 0) + line("SwapTotal", 0) + line("SwapFree", 0) + line("Dirty", 5120) +
                  line("Writeback", 0) + line("AnonPages", total / 20) + line("Shmem", 94208) +
                  line("HardwareCorrupted", 0) + "HugePages_Total:       0\nHugePages_Free:        0\n" +
                  line("Hugepagesize", 2048));
  files.write("/proc/vmstat",
              "nr_free_pages 376021934\npgpgin 48213044\npgpgout 91822012\npswpin 0\npswpout 0\n"
              "pgfault 1284401922\npgmajfault 41220\noom_kill 0\nallocstall_normal 0\n");
  for (const char* resource : {"cpu", "memory", "io"})
    files.write("/proc/pressure/" + std::string(resource),
                "some avg10=0.00 avg60=0.00 avg300=0.00 total=1840231\n"
                "full avg10=0.00 avg60=0.00 avg300=0.00 total=1502210\n");
}

void write_edac(const Description& description, FileTree& files) {
  const std::string edac = "/sys/devices/system/edac/mc";
  files.make_directory(edac);
  for (int controller = 0; controller < description.memory_controllers; ++controller) {
    const std::string path = edac + "/mc" + std::to_string(controller);
    const int size_mb = description.memory_gib * 1024 / description.memory_controllers;
    files.write_value(path + "/mc_name", description.edac_driver + "#" + std::to_string(controller));
    files.write_number(path + "/size_mb", size_mb);
    files.write_number(path + "/seconds_since_reset", 129580);
    for (const char* counter : {"ce_count", "ue_count", "ce_noinfo_count", "ue_noinfo_count"})
      files.write_number(path + "/" + counter, 0);
    for (int dimm = 0; dimm < description.dimms_per_controller; ++dimm) {
      const std::string module = path + "/dimm" + std::to_string(dimm);
      files.write_value(
          module + "/dimm_label",
          "CPU_SrcID#" + std::to_string(controller * description.sockets / description.memory_controllers) +
              "_MC#" + std::to_string(controller) + "_Chan#" + std::to_string(dimm) + "_DIMM#0");
      files.write_value(module + "/dimm_location", "channel " + std::to_string(dimm) + " slot 0");
      files.write_number(module + "/size", size_mb / description.dimms_per_controller);
      files.write_number(module + "/dimm_ce_count", 0);
      files.write_number(module + "/dimm_ue_count", 0);
    }
  }
}

void write_kernel(const Description& description, FileTree& files) {
  files.write_value("/proc/2/comm", "kthreadd");
  files.write_value("/proc/sys/kernel/hostname", description.node);
  files.write_value("/proc/sys/kernel/osrelease", description.kernel);
  files.write_value("/proc/sys/kernel/ostype", "Linux");
  files.write_value("/proc/sys/kernel/random/boot_id", uuid_of(description.id + " boot"));
  // P, O and E: a driver from outside the kernel.
  files.write_number("/proc/sys/kernel/tainted", description.gpu ? 12289 : 0);
  for (const char* detector : {"soft_watchdog", "nmi_watchdog"})
    files.write_number("/proc/sys/kernel/" + std::string(detector), 1);
  files.write("/proc/sys/fs/file-nr", "18432\t0\t9223372036854775807\n");
  files.write_number("/proc/sys/kernel/threads-max", 4127000);
  files.write_number("/proc/sys/kernel/pid_max", 4194304);
  files.write_number("/proc/sys/net/netfilter/nf_conntrack_count", 2113);
  files.write_number("/proc/sys/net/netfilter/nf_conntrack_max", 262144);
  files.write("/proc/2/stat", "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 12 0 0 20 0 1 0 4 0 0\n");
  files.write("/proc/version", "Linux version " + description.kernel +
                                   " (buildd@host) (gcc version 11.4.0) #1 SMP PREEMPT_DYNAMIC\n");
  files.write("/proc/cmdline", "BOOT_IMAGE=/boot/vmlinuz-" + description.kernel +
                                   " root=/dev/nvme0n1p2 ro iommu=pt pci=realloc=off\n");
  files.write("/proc/uptime", "129600.00 28512000.00\n");
  files.write("/proc/loadavg", "1.42 1.31 1.28 2/2841 184220\n");
  files.write("/proc/stat", "cpu  184220 110 92011 2851200000 4210 0 1893 0 0 0\nbtime 1768334400\n");
  files.write("/proc/self/status",
              "Name:\tautopilot\nState:\tR (running)\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n"
              "CapInh:\t0000000000000000\nCapPrm:\t000001ffffffffff\nCapEff:\t000001ffffffffff\n"
              "CapBnd:\t000001ffffffffff\nCapAmb:\t0000000000000000\n");
  files.write("/proc/cpuinfo", "processor\t: 0\nmodel name\t: " + description.cpu_model + "\n");
  files.write("/etc/os-release", "PRETTY_NAME=\"Ubuntu 22.04.4 LTS\"\nID=ubuntu\nVERSION_ID=\"22.04\"\n");
  files.write_value("/etc/hostname", description.node);
}

void write_platform(const Description& description, FileTree& files) {
  const std::string clock = "/sys/devices/system/clocksource/clocksource0";
  files.write_value(clock + "/current_clocksource", description.clocksource);
  files.write_value(clock + "/available_clocksource", description.clocksources);
  const std::string cpus = "/sys/devices/system/cpu";
  for (const char* list : {"/online", "/present"})
    files.write_value(cpus + list, "0-" + std::to_string(description.cpu_threads - 1));
  files.write_value(cpus + "/smt/control", "on");
  const int per_node = description.cpu_threads / description.sockets;
  for (int socket = 0; socket < description.sockets; ++socket) {
    const std::string cpu = cpus + "/cpu" + std::to_string(socket * per_node);
    files.write_number(cpu + "/topology/physical_package_id", socket);
    files.write_number(cpu + "/thermal_throttle/package_throttle_total_time_ms", 0);
  }
  for (int node = 0; node < description.sockets; ++node)
    files.write_value("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist",
                      std::to_string(node * per_node) + "-" + std::to_string((node + 1) * per_node - 1));
  const std::string dmi = "/sys/devices/virtual/dmi/id";
  files.write_value(dmi + "/sys_vendor", description.vendor);
  files.write_value(dmi + "/product_name", description.product);
  files.write_value(dmi + "/bios_version", description.bios);
  files.write_value(dmi + "/product_serial", "SIM" + hex_of(description.id, 8));
  files.link("/sys/class/dmi/id", dmi);
}

}  // namespace

void build_host_files(const Description& description, Machine& machine) {
  write_kernel(description, machine.files);
  write_platform(description, machine.files);
  write_memory(description, machine.files);
  write_edac(description, machine.files);
}

namespace {

// Appends records as the kernel writes them at boot, each slightly later than the previous one.
class BootLog {
 public:
  explicit BootLog(std::vector<LogRecord>& log) : log_(log) {}
  void add(std::string text, int priority = 6) {
    log_.push_back({.priority = priority, .sequence = {}, .seconds = seconds_, .text = std::move(text)});
    seconds_ += 0.041273;
  }
  void wait(double seconds) { seconds_ += seconds; }

 private:
  std::vector<LogRecord>& log_;
  double seconds_ = 0;
};

void log_kernel(const Description& description, BootLog& log) {
  log.add(
      "Linux version " + description.kernel + " (buildd@host) (gcc version 11.4.0) #1 SMP PREEMPT_DYNAMIC",
      5);
  log.add("Command line: BOOT_IMAGE=/boot/vmlinuz-" + description.kernel +
          " root=/dev/nvme0n1p2 ro iommu=pt pci=realloc=off");
  log.add("DMI: " + description.vendor + " " + description.product + ", BIOS " + description.bios);
  log.add("tsc: Detected 2000.000 MHz processor");
  log.add("smpboot: CPU0: " + description.cpu_model);
  log.wait(2.1);
  log.add("clocksource: Switched to clocksource " + description.clocksource);
  for (int i = 0; i < description.memory_controllers; ++i)
    log.add("EDAC MC" + std::to_string(i) + ": Giving out device to module " + description.edac_driver +
                " controller " + description.edac_driver + "#" + std::to_string(i),
            6);
}

void log_storage(const Description& description, BootLog& log) {
  for (const Slot& slot : description.slots("nvme")) {
    log.add("nvme " + slot.name + ": pci function " + slot.address);
    log.add("nvme " + slot.name + ": 64/0/0 default/read/poll queues");
  }
  for (const MountDescription& mount : description.mounts) {
    const std::string device = mount.source.substr(mount.source.rfind('/') + 1);
    if (mount.type == "ext4")
      log.add("EXT4-fs (" + device + "): mounted filesystem with ordered data mode. Opts: (null)");
    if (mount.type == "xfs") log.add("XFS (" + device + "): Mounting V5 Filesystem", 5);
  }
}

void log_network(const Description& description, BootLog& log) {
  for (const char* kind : {"infiniband", "ethernet"})
    for (const Slot& slot : description.slots(kind)) {
      const DeviceKind& device = description.kinds.find(kind)->second;
      if (device.driver != "mlx5_core") continue;
      if (description.infiniband)
        log.add("mlx5_core " + slot.address + ": firmware version: " + description.infiniband->firmware);
      log.add("mlx5_core " + slot.address + ": Port module event: module 0, Cable plugged");
    }
  for (const EthernetDescription& port : description.ethernet)
    log.add("IPv6: ADDRCONF(NETDEV_CHANGE): " + port.name + ": link becomes ready");
}

void log_amd_driver(const Description& description, BootLog& log) {
  if (!description.amd_gpu) return;
  log.wait(6.5);
  log.add("[drm] amdgpu kernel modesetting enabled.");
  for (const Slot& slot : description.slots("amd_gpu"))
    log.add("amdgpu " + slot.address + ": amdgpu: SMU is initialized successfully!");
}

void log_driver(const Description& description, BootLog& log) {
  if (!description.gpu) return;
  log.wait(6.5);
  log.add("nvidia: module license 'NVIDIA' taints kernel.", 4);
  log.add("nvidia-nvlink: Nvlink Core is being initialized, major device number 510");
  for (const Slot& slot : description.slots("gpu"))
    log.add("nvidia " + slot.address + ": enabling device (0140 -> 0142)");
  log.add("NVRM: loading NVIDIA UNIX x86_64 Kernel Module  " + description.driver_version +
              "  Tue Mar  5 22:42:15 UTC 2024",
          4);
  int number = 0;
  for (const Slot& slot : description.slots("nvswitch"))
    log.add("nvidia-nvswitch" + std::to_string(number++) + ": open (major=508) " + slot.address);
  log.add("nvidia-uvm: Loaded the UVM driver, major device number 507.");
}

}  // namespace

void build_boot_log(const Description& description, Machine& machine) {
  BootLog log(machine.log);
  log_kernel(description, log);
  log_storage(description, log);
  log_network(description, log);
  log_driver(description, log);
  log_amd_driver(description, log);
}

}  // namespace autopilot::simulator
