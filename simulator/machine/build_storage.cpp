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

void build_mounts(const Description& description, Machine& machine) {
  std::string text =
      "22 1 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw\n"
      "23 1 0:22 / /sys rw,nosuid,nodev,noexec,relatime shared:2 - sysfs sysfs rw\n"
      "24 1 0:6 / /dev rw,nosuid,relatime shared:8 - devtmpfs udev rw,size=1048576k,mode=755\n"
      "25 1 0:24 / /run rw,nosuid,nodev shared:5 - tmpfs tmpfs rw,size=26214400k,mode=755\n"
      "26 23 0:25 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw\n";
  add_usage("/run", 26.8, 0.001, 1'000'000, machine);
  std::string fstab;
  int number = 30;
  for (const MountDescription& mount : description.mounts) {
    const bool is_root = mount.point == "/";
    text += std::to_string(number) + (is_root ? " 1 " : " 30 ") + mount.device + " / " + mount.point + " " +
            mount.options + " shared:" + std::to_string(number) + " - " + mount.type + " " + mount.source +
            " rw\n";
    fstab +=
        mount.source + " " + mount.point + " " + mount.type + " defaults 0 " + (is_root ? "1" : "2") + "\n";
    add_usage(mount.point, mount.gigabytes, mount.used_ratio, mount.inodes, machine);
    ++number;
  }
  machine.files.write("/proc/self/mountinfo", text);
  machine.files.write("/proc/1/mountinfo", text);
  machine.files.write("/etc/fstab", fstab);
}

}  // namespace autopilot::simulator
