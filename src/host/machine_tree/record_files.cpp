// SPDX-License-Identifier: Apache-2.0
#include "host/machine_tree/record_files.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/parse.hpp"
#include "host/facts/fact_files.hpp"
#include "host/gpu/amd_gpus.hpp"
#include "host/pci/pci.hpp"
#include "host/process/processes.hpp"

namespace autopilot::host {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{256} << 10;

constexpr std::string_view kPciDevices = "/sys/bus/pci/devices";

// "*" stands for every name in its directory.
constexpr std::string_view kMachineFiles[] = {
    "/proc/meminfo",
    "/proc/vmstat",
    "/proc/pressure/*",
    "/proc/self/mountinfo",
    "/proc/self/mountstats",
    "/proc/self/status",
    "/proc/net/route",
    "/proc/net/ipv6_route",
    "/proc/net/arp",
    "/proc/sys/fs/file-nr",
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/pid_max",
    "/proc/sys/kernel/threads-max",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/ostype",
    "/proc/sys/kernel/random/boot_id",
    "/proc/sys/kernel/soft_watchdog",
    "/proc/sys/kernel/tainted",
    "/proc/sys/kernel/nmi_watchdog",
    "/proc/sys/net/netfilter/nf_conntrack_count",
    "/proc/sys/net/netfilter/nf_conntrack_max",
    "/proc/uptime",
    "/proc/loadavg",
    "/proc/version",
    "/proc/cmdline",
    "/proc/driver/nvidia/version",
    "/proc/driver/nvidia/params",
    "/proc/driver/nvidia/gpus/*/information",
    "/proc/driver/nvidia-nvswitch/devices/*/information",
    "/etc/os-release",
    "/etc/fstab",
    "/etc/resolv.conf",
    "/sys/fs/ext4/*/errors_count",
    "/sys/fs/ext4/*/first_error_time",
    "/sys/fs/ext4/*/last_error_time",
    "/sys/fs/ext4/*/last_error_func",
    "/sys/class/block/*/dev",
    "/sys/module/nvidia/version",
    "/sys/module/amdgpu/version",
    "/sys/module/amdgpu/initstate",
    "/sys/module/pstore/parameters/backend",
    "/var/lib/systemd/pstore/*/dmesg.txt",
    "/var/lib/systemd/pstore/*/*/dmesg.txt",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "/sys/devices/system/clocksource/clocksource0/available_clocksource",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/present",
    "/sys/devices/system/cpu/smt/control",
    "/sys/devices/system/cpu/*/topology/physical_package_id",
    "/sys/devices/system/cpu/*/thermal_throttle/package_throttle_total_time_ms",
    "/sys/devices/system/edac/mc/*/mc_name",
    "/sys/devices/system/edac/mc/*/size_mb",
    "/sys/devices/system/edac/mc/*/ce_count",
    "/sys/devices/system/edac/mc/*/ue_count",
    "/sys/devices/system/edac/mc/*/ce_noinfo_count",
    "/sys/devices/system/edac/mc/*/ue_noinfo_count",
    "/sys/devices/system/edac/mc/*/*/dimm_label",
    "/sys/devices/system/edac/mc/*/*/dimm_location",
    "/sys/devices/system/edac/mc/*/*/dimm_ce_count",
    "/sys/devices/system/edac/mc/*/*/dimm_ue_count",
};

constexpr std::string_view kPciFiles[] = {"vendor",
                                          "device",
                                          "subsystem_vendor",
                                          "subsystem_device",
                                          "class",
                                          "revision",
                                          "numa_node",
                                          "local_cpulist",
                                          "enable",
                                          "power_state",
                                          "current_link_speed",
                                          "max_link_speed",
                                          "current_link_width",
                                          "max_link_width",
                                          "aer_dev_correctable",
                                          "aer_dev_nonfatal",
                                          "aer_dev_fatal",
                                          "aer_rootport_total_err_cor",
                                          "aer_rootport_total_err_nonfatal",
                                          "aer_rootport_total_err_fatal",
                                          "power/runtime_status",
                                          "driver_override"};

// Newer kernels read these from the device itself and wake it.
constexpr std::string_view kPciFilesThatWake[] = {"current_link_speed", "current_link_width",
                                                  "max_link_width"};

constexpr std::string_view kInterfaceFiles[] = {"address",
                                                "operstate",
                                                "carrier",
                                                "carrier_changes",
                                                "carrier_up_count",
                                                "carrier_down_count",
                                                "speed",
                                                "duplex",
                                                "mtu",
                                                "flags",
                                                "type",
                                                "ifindex",
                                                "iflink",
                                                "uevent",
                                                "device",
                                                "master",
                                                "bonding/mode",
                                                "bonding/slaves",
                                                "bonding/mii_status",
                                                "bonding/ad_aggregator",
                                                "bonding/ad_partner_mac",
                                                "bonding_slave/mii_status",
                                                "bonding_slave/ad_aggregator_id",
                                                "bonding_slave/link_failure_count",
                                                "statistics/*"};

constexpr std::string_view kInfinibandFiles[] = {"fw_ver",
                                                 "board_id",
                                                 "hca_type",
                                                 "hw_rev",
                                                 "node_type",
                                                 "node_desc",
                                                 "node_guid",
                                                 "sys_image_guid",
                                                 "device",
                                                 "ports/*/state",
                                                 "ports/*/phys_state",
                                                 "ports/*/rate",
                                                 "ports/*/link_layer",
                                                 "ports/*/lid",
                                                 "ports/*/sm_lid",
                                                 "ports/*/lid_mask_count",
                                                 "ports/*/cap_mask",
                                                 "ports/*/counters/*",
                                                 "ports/*/hw_counters/*"};

constexpr std::string_view kNvmeFiles[] = {"state",     "model",   "serial", "firmware_rev",
                                           "transport", "address", "cntlid", "device"};

constexpr std::string_view kBlockFiles[] = {"size",
                                            "ro",
                                            "removable",
                                            "stat",
                                            "inflight",
                                            "device",
                                            "queue/rotational",
                                            "queue/io_timeout",
                                            "slaves/*",
                                            "md/level",
                                            "md/array_state",
                                            "md/raid_disks",
                                            "md/degraded",
                                            "md/sync_action",
                                            "md/sync_completed",
                                            "md/metadata_version",
                                            "md/*/state"};

constexpr std::string_view kDmiFiles[] = {"sys_vendor", "product_name", "bios_version", "product_serial"};

struct DeviceClass {
  std::string_view directory;  // of links to devices
  std::span<const std::string_view> files;
};

constexpr DeviceClass kClasses[] = {{kPciDevices, kPciFiles},
                                    {"/sys/class/net", kInterfaceFiles},
                                    {"/sys/class/infiniband", kInfinibandFiles},
                                    {"/sys/class/nvme", kNvmeFiles},
                                    {"/sys/block", kBlockFiles}};

class Recorder {
 public:
  explicit Recorder(const Files& files) : files_(files) {}

  // Records the file, the link, or all files that match the pattern.
  void take(const std::string& pattern) {
    const auto star = pattern.find('*');
    if (star == std::string::npos) return take_one(pattern);
    const auto begin = pattern.rfind('/', star);
    const auto end = pattern.find('/', star);
    const std::string directory = pattern.substr(0, begin);
    const std::string rest = end == std::string::npos ? "" : pattern.substr(end);
    const std::string_view head = std::string_view(pattern).substr(begin + 1, star - begin - 1);
    const std::string_view tail = std::string_view(pattern).substr(
        star + 1, (end == std::string::npos ? pattern.size() : end) - star - 1);
    for (const std::string& name : names_in(directory))
      if (name.starts_with(head) && name.ends_with(tail))
        take(std::string(directory).append("/").append(name).append(rest));
  }

  void take_class(const DeviceClass& kind) {
    const std::string directory(kind.directory);
    for (const std::string& name : names_in(directory)) {
      const std::string path = std::string(directory).append("/").append(name);
      const auto device = files_.resolve(path);
      if (!device) continue;
      if (*device != path) recorded_[path] = link_to(*device);
      const bool is_asleep = kind.directory == kPciDevices && is_pci_asleep(files_, name);
      for (const std::string_view file : kind.files)
        if (!is_asleep || std::ranges::find(kPciFilesThatWake, file) == std::end(kPciFilesThatWake))
          take(*device + "/" + std::string(file));
      take_driver(kind.directory == kPciDevices ? *device : *device + "/device");
    }
  }

  // Records the state and program name of each process, never its arguments; for a process in uninterruptible
  // sleep also what it waits for.
  void take_processes() {
    std::size_t taken = 0;
    for (const std::string& name : names_in("/proc")) {
      if (!parse_number<unsigned>(name) || taken++ >= Tasks::kMostLookedAt) continue;
      const std::string folder = "/proc/" + name + "/";
      take_one(folder + "stat");
      take_one(folder + "comm");
      const auto stat = recorded_.find(folder + "stat");
      const auto task = stat == recorded_.end() ? std::nullopt : state_of(stat->second.text);
      if (task != 'D') continue;
      take_one(folder + "status");
      take_one(folder + "wchan");
    }
  }

  // Skips suspended GPUs so that they are not woken.
  void take_amd_gpus() {
    const auto gpus = scan_amd_gpus(files_);
    if (!gpus) return;
    for (const PciDevice& gpu : *gpus) {
      const auto folder = files_.resolve(std::string(kPciDevices).append("/").append(gpu.address));
      if (!folder || is_pci_asleep(files_, gpu.address)) continue;
      take_config(*folder + "/config");
      for (const std::string_view file : amd_gpu_files())
        take(std::string(*folder).append("/").append(file));
    }
    take("/sys/class/kfd/kfd/topology/nodes/*/gpu_id");
    take("/sys/class/kfd/kfd/topology/nodes/*/properties");
    take_kfd_processes();
  }

  // Records the messages of kernels that crashed, without records of programs; compressed records cannot be
  // scrubbed, so only their names are recorded.
  void take_crash_records() {
    for (const std::string& name : names_in("/sys/fs/pstore")) {
      const std::string path = "/sys/fs/pstore/" + name;
      if (name.starts_with("dmesg-") && name.ends_with(".enc.z"))
        recorded_[path] = {};
      else if (name.starts_with("dmesg-"))
        take_one(path);
    }
  }

  RecordedFiles recorded() && { return std::move(recorded_); }
  [[nodiscard]] std::size_t count() const { return recorded_.size(); }

 private:
  static RecordedFile link_to(const std::string& target) {
    return {.is_link = true, .text = target, .is_folder = false, .error = {}};
  }
  static std::optional<char> state_of(std::string_view stat) {
    const auto task = parse_task_state(stat);
    return task ? std::optional(task->state) : std::nullopt;
  }

  // Only the vendor and device ids, which show whether it is on the bus; the rest may contain the serial
  // number.
  void take_config(const std::string& path) {
    constexpr std::size_t kIdBytes = 4;
    if (const auto config = files_.read(path, kMaxFileBytes))
      recorded_[path] = {
          .is_link = false, .text = config->substr(0, kIdBytes), .is_folder = false, .error = {}};
  }

  // Without compute processes the directory is empty; `.keep`, which is not a process id, preserves it in the
  // recording.
  void take_kfd_processes() {
    const std::string folder = "/sys/class/kfd/kfd/proc";
    if (!files_.list(folder)) return;
    recorded_[folder + "/.keep"] = {};
    take(folder + "/*/vram_*");
  }

  // Records both directions: backends follow device to driver, and driver to device.
  void take_driver(const std::string& path) {
    const auto device = files_.resolve(path);
    if (!device) return;
    take_one(*device + "/physfn");
    take_one(*device + "/driver");
    const auto driver = files_.resolve(*device + "/driver");
    if (!driver) return;
    const std::string back = *driver + device->substr(device->rfind('/'));
    if (files_.exists(back)) recorded_[back] = link_to(*device);
  }

  void take_one(const std::string& path) {
    const auto real = files_.resolve(path);
    if (!real) return note_unreadable(path, real.error().code, false);
    // A link to a directory is recorded as a link, because the backends follow it.
    if (files_.list(*real)) {
      if (*real != path) recorded_[path] = link_to(*real);
      return;
    }
    auto text = files_.read(path, kMaxFileBytes);
    if (!text) return note_unreadable(path, text.error().code, false);
    recorded_[path] = {.is_link = false, .text = *std::move(text), .is_folder = false, .error = {}};
  }

  // Empty if the folder cannot be listed.
  std::vector<std::string> names_in(const std::string& folder) {
    auto names = files_.list(folder);
    if (!names) note_unreadable(folder, names.error().code, true);
    return names.value_or(std::vector<std::string>{});
  }

  // Files that are missing, too large or of another type are left out.
  void note_unreadable(const std::string& path, Errc why, bool is_folder) {
    if (why == Errc::denied || why == Errc::timed_out || why == Errc::unsupported || why == Errc::unavailable)
      recorded_[path] = {.is_link = false, .text = {}, .is_folder = is_folder, .error = why};
  }

  const Files& files_;
  RecordedFiles recorded_;
};

}  // namespace

Result<RecordedFiles> record_files(const Files& files) {
  Recorder recorder(files);
  for (const std::string_view pattern : kMachineFiles)
    recorder.take(std::string(pattern));
  for (const std::string& pattern : fact_files())
    recorder.take(pattern);
  recorder.take_processes();
  recorder.take_amd_gpus();
  recorder.take_crash_records();
  for (const DeviceClass& kind : kClasses)
    recorder.take_class(kind);
  for (const std::string_view file : kDmiFiles)
    recorder.take("/sys/class/dmi/id/" + std::string(file));
  if (recorder.count() > kMaxRecordedFiles)
    return fail(Errc::exhausted, "this machine has more than " + std::to_string(kMaxRecordedFiles) +
                                     " files that belong in a recording");
  return std::move(recorder).recorded();
}

}  // namespace autopilot::host
