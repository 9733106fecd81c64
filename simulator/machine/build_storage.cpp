// SPDX-License-Identifier: Apache-2.0
#include "core/yaml_text.hpp"
#include "machine/build.hpp"

namespace autopilot::simulator {
namespace {

constexpr double kGigabyte = 1e9;

void write_health(const NvmeDescription& model, const std::string& name, int number, Machine& machine) {
  YamlNode& health = yaml_member(yaml_member(machine.machine, "nvme"), name);
  health = yaml_map();
  yaml_member(health, "critical_warning") = yaml_integer(0);
  yaml_member(health, "temperature_celsius") = yaml_integer(34 + number % 4);
  yaml_member(health, "available_spare_percent") = yaml_integer(100);
  yaml_member(health, "spare_threshold_percent") = yaml_integer(10);
  yaml_member(health, "percentage_used") = yaml_integer(model.used_percent);
  yaml_member(health, "media_errors") = yaml_integer(0);
  yaml_member(health, "error_log_entries") = yaml_integer(0);
  yaml_member(health, "unsafe_shutdowns") = yaml_integer(9 + number % 3);
  yaml_member(health, "power_on_hours") = yaml_integer(11840);
}

void write_controller(const NvmeDescription& model, const Slot& slot, int number, Machine& machine) {
  FileTree& files = machine.files;
  const std::string pci = files.resolve("/sys/bus/pci/devices/" + slot.address).value_or("");
  const std::string device = pci + "/nvme/" + slot.name;
  files.write_value(device + "/state", "live");
  files.write_value(device + "/model", model.model);
  files.write_value(device + "/serial", "S6" + hex_of(machine.machine.find("node")->text + slot.name, 12));
  files.write_value(device + "/firmware_rev", model.firmware);
  files.write_value(device + "/transport", "pcie");
  files.write_value(device + "/address", slot.address);
  files.write_value(device + "/cntlid", "4");
  files.write_number(device + "/hwmon" + std::to_string(number) + "/temp1_input", (34 + number % 4) * 1000);
  files.link(device + "/device", pci);
  files.link("/sys/class/nvme/" + slot.name, device);

  const std::string disk = device + "/" + slot.name + "n1";
  files.write_number(disk + "/size", static_cast<std::int64_t>(model.gigabytes) * 1'000'000'000 / 512);
  files.write_number(disk + "/ro", 0);
  files.write_number(disk + "/removable", 0);
  files.write_number(disk + "/queue/rotational", 0);
  files.write_number(disk + "/queue/io_timeout", 30000);
  files.write(disk + "/inflight", "       0        0\n");
  files.write(disk + "/stat", " 1842201 12 98221044 402211 2219840 88 181220440 812044 0 610220 1214255\n");
  files.link(disk + "/device", device);
  files.link("/sys/block/" + slot.name + "n1", disk);
  files.link("/sys/class/block/" + slot.name + "n1", disk);
  write_health(model, slot.name, number, machine);
}

// The sysfs files of a partition or disk with a mounted filesystem.
void write_filesystem(const MountDescription& mount, FileTree& files) {
  const std::string name = mount.source.substr(mount.source.rfind('/') + 1);
  if (!mount.source.starts_with("/dev/")) return;
  const std::string device = "/sys/class/block/" + name;
  // A partition is a directory of its disk.
  if (const auto disk = files.resolve("/sys/block/" + name.substr(0, name.rfind('p')));
      disk && !files.resolve(device)) {
    files.write_number(*disk + "/" + name + "/partition", 1);
    files.link(device, *disk + "/" + name);
  }
  if (const auto real = files.resolve(device)) files.write_value(*real + "/dev", mount.device);
  if (mount.type != "ext4") return;
  for (const char* file : {"errors_count", "first_error_time", "last_error_time"})
    files.write_number("/sys/fs/ext4/" + name + "/" + file, 0);
}

// The rows of one mount in mountstats; counters are constant, because no process uses the machine.
std::string mountstats_of(const MountDescription& mount) {
  std::string text = "device " + mount.source + " mounted on " + mount.point + " with fstype " + mount.type;
  if (!mount.type.starts_with("nfs")) return text + "\n";
  text += " statvers=1.1\n\topts:\t" + mount.options + ",vers=4.2,proto=tcp,timeo=600,retrans=2\n";
  text += "\tage:\t129000\n\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n";
  text += "\txprt:\ttcp 0 0 2 0 31 48213 48213 0 51022 0 12 0 3204\n\tper-op statistics\n";
  text += "\t        READ: 20110 20110 0 3217600 2635137024 8120 40220 50120 0\n";
  text += "\t       WRITE: 4022 4022 0 263585792 546992 3011 12066 16130 0\n";
  return text + "\t     GETATTR: 24081 24081 0 4334580 5779440 2400 19264 22003 0\n\n";
}

void add_usage(const std::string& point, double gigabytes, double used_ratio, std::int64_t inodes,
               Machine& machine) {
  const auto total = static_cast<std::int64_t>(gigabytes * kGigabyte / 4096) * 4096;
  const auto free = static_cast<std::int64_t>(static_cast<double>(total) * (1 - used_ratio) / 4096) * 4096;
  YamlNode& usage = yaml_member(yaml_member(machine.machine, "filesystems"), point);
  usage = yaml_map();
  yaml_member(usage, "total_bytes") = yaml_integer(total);
  yaml_member(usage, "free_bytes") = yaml_integer(free);
  yaml_member(usage, "available_bytes") = yaml_integer(free);
  yaml_member(usage, "total_inodes") = yaml_integer(inodes);
  yaml_member(usage, "free_inodes") = yaml_integer(inodes - inodes / 20);
}

}  // namespace

void build_nvme(const Description& description, Machine& machine) {
  int number = 0;
  for (const Slot& slot : description.slots("nvme"))
    for (const NvmeDescription& model : description.nvme)
      for (const std::string& name : model.names)
        if (name == slot.name) write_controller(model, slot, number++, machine);
}

void build_raid(const Description& description, Machine& machine) {
  FileTree& files = machine.files;
  for (const RaidDescription& raid : description.raid) {
    const std::string disk = "/sys/devices/virtual/block/" + raid.name;
    std::int64_t sectors = 0;
    for (const std::string& member : raid.members) {
      const std::string below = files.resolve("/sys/block/" + member).value_or("");
      sectors += files.number(below + "/size").value_or(0);
      files.write_value(std::string(disk).append("/md/dev-").append(member).append("/state"), "in_sync");
      files.link(std::string(disk).append("/slaves/").append(member), below);
    }
    files.write_number(disk + "/size", raid.level == "raid1" ? sectors / 2 : sectors);
    files.write_number(disk + "/ro", 0);
    files.write_value(disk + "/md/level", raid.level);
    files.write_value(disk + "/md/array_state", "clean");
    files.write_value(disk + "/md/metadata_version", "1.2");
    files.write_number(disk + "/md/raid_disks", static_cast<std::int64_t>(raid.members.size()));
    if (raid.level != "raid0") {
      files.write_number(disk + "/md/degraded", 0);
      files.write_value(disk + "/md/sync_action", "idle");
      files.write_value(disk + "/md/sync_completed", "none");
    }
    files.link("/sys/block/" + raid.name, disk);
    files.link("/sys/class/block/" + raid.name, disk);
  }
}

void build_mounts(const Description& description, Machine& machine) {
  std::string text =
      "22 1 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw\n"
      "23 1 0:22 / /sys rw,nosuid,nodev,noexec,relatime shared:2 - sysfs sysfs rw\n"
      "24 1 0:6 / /dev rw,nosuid,relatime shared:8 - devtmpfs udev rw,size=1048576k,mode=755\n"
      "25 1 0:24 / /run rw,nosuid,nodev shared:5 - tmpfs tmpfs rw,size=26214400k,mode=755\n"
      "26 23 0:25 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw\n";
  add_usage("/run", 26.8, 0.001, 1'000'000, machine);
  std::string fstab;
  std::string mountstats =
      "device proc mounted on /proc with fstype proc\ndevice sysfs mounted on /sys with fstype sysfs\n";
  int number = 30;
  for (const MountDescription& mount : description.mounts) {
    const bool is_root = mount.point == "/";
    text += std::to_string(number) + (is_root ? " 1 " : " 30 ") + mount.device + " / " + mount.point + " " +
            mount.options + " shared:" + std::to_string(number) + " - " + mount.type + " " + mount.source +
            " rw\n";
    fstab +=
        mount.source + " " + mount.point + " " + mount.type + " defaults 0 " + (is_root ? "1" : "2") + "\n";
    write_filesystem(mount, machine.files);
    mountstats += mountstats_of(mount);
    add_usage(mount.point, mount.gigabytes, mount.used_ratio, mount.inodes, machine);
    ++number;
  }
  machine.files.write("/proc/self/mountinfo", text);
  machine.files.write("/proc/1/mountinfo", text);
  machine.files.write("/proc/self/mountstats", mountstats);
  machine.files.write("/etc/fstab", fstab);
}

}  // namespace autopilot::simulator
