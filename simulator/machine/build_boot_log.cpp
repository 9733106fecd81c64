// SPDX-License-Identifier: Apache-2.0
#include "machine/build.hpp"

namespace autopilot::simulator {
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
