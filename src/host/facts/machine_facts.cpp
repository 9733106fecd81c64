// SPDX-License-Identifier: Apache-2.0
#include "host/facts/machine_facts.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "core/parse.hpp"
#include "core/value.hpp"
#include "host/boot/kernel_release.hpp"
#include "host/cpu/processors.hpp"
#include "host/facts/fact_files.hpp"
#include "host/facts/pci_facts.hpp"
#include "host/process/own_rights.hpp"

namespace autopilot::host {
namespace {

class FactReader {
 public:
  FactReader(const Host& host, MonoTime deadline) : host_(host), files_(host.files), deadline_(deadline) {}

  MachineFacts read() {
    read_system();
    read_settings();
    read_modules();
    read_nvidia_gpus();
    read_amd_gpus();
    read_adapters();
    read_interfaces();
    read_drives();
    read_pci();
    read_limits();
    return std::move(facts_);
  }

 private:
  void add(std::string key, std::string value, std::string source) {
    if (!value.empty()) facts_.known.push_back({std::move(key), std::move(value), std::move(source)});
  }
  void miss(std::string key, const Error& error) {
    if (error.code != Errc::not_found && error.code != Errc::unsupported)
      facts_.missing.emplace(std::move(key), error.what);
  }
  void add_file(const std::string& key, const std::string& path) {
    const auto word = files_.read_word(path);
    if (word)
      add(key, *word, path);
    else
      miss(key, word.error());
  }

  void read_system() {
    const auto release = read_kernel_release(files_);
    if (release) add("kernel.release", *release, "/proc/sys/kernel/osrelease");
    read_os();
    read_arguments();
    read_huge_pages();
    add_file("firmware.bios", "/sys/class/dmi/id/bios_version");
    add_file("machine.vendor", "/sys/class/dmi/id/sys_vendor");
    add_file("machine.product", "/sys/class/dmi/id/product_name");
    const auto processors = read_processors(files_);
    if (!processors) return miss("cpu.*", processors.error());
    add("cpu.online", std::to_string(processors->online), "/sys/devices/system/cpu/online");
    add("cpu.smt", processors->smt, "/sys/devices/system/cpu/smt/control");
  }

  // PRETTY_NAME="Ubuntu 22.04.4 LTS"
  void read_os() {
    constexpr std::string_view kName = "PRETTY_NAME=";
    const std::string text = files_.read("/etc/os-release").value_or("");
    for (std::string_view line : split(text, '\n')) {
      if (!line.starts_with(kName)) continue;
      line.remove_prefix(kName.size());
      if (line.size() > 1 && line.front() == '"' && line.back() == '"')
        line = line.substr(1, line.size() - 2);
      add("os.name", std::string(line), "/etc/os-release");
    }
  }

  void read_arguments() {
    const auto line = files_.read("/proc/cmdline");
    if (!line) return miss("kernel.argument.*", line.error());
    for (const auto& [name, value] : parse_kernel_arguments(*line))
      add("kernel.argument." + name, value, "/proc/cmdline");
  }

  // "always [madvise] never"
  void read_huge_pages() {
    const std::string path = "/sys/kernel/mm/transparent_hugepage/enabled";
    const std::string text = files_.read_word(path).value_or("");
    const std::size_t begin = text.find('[');
    const std::size_t end = text.find(']');
    if (begin < end && end != std::string::npos)
      add("kernel.huge_pages", text.substr(begin + 1, end - begin - 1), path);
  }

  void read_settings() {
    for (const std::string_view name : fact_settings()) {
      const std::string path = setting_path(name);
      const auto text = files_.read(path, 4096);
      if (!text) {
        miss("sysctl." + std::string(name), text.error());
        continue;
      }
      std::string value;
      for (const std::string_view word : split_words(*text))
        value.append(value.empty() ? "" : " ").append(word);
      add("sysctl." + std::string(name), value, path);
    }
  }

  // A folder without initstate is that of a part of the kernel itself.
  void read_modules() {
    const std::string folder = "/sys/module";
    const auto names = files_.list_sysfs(folder);
    if (!names) return miss("module.*", names.error());
    for (const std::string& name : *names) {
      const std::string path = folder + "/" + name;
      if (!is_fact_module(name) || !files_.exists(path + "/initstate")) continue;
      add("module." + name, files_.read_word(path + "/version").value_or("loaded"), path);
    }
  }

  void read_nvidia_gpus() {
    const auto in_tree = host_.gpu_scan.gpus(GpuVendor::nvidia);
    if (in_tree && in_tree->empty()) return;
    const auto report =
        host_.nvidia_gpus.read({GpuGroup::identity, GpuGroup::ecc, GpuGroup::power}, deadline_);
    if (!report) return miss_gpus("driver.nvidia", report.error().what);
    if (report->state != DriverState::ok) return miss_gpus("driver.nvidia", report->detail);
    add("driver.nvidia", report->driver_version, report->library_path);
    add("driver.nvml", report->nvml_version, report->library_path);
    add("driver.cuda", report->cuda_version, report->library_path);
    const std::string version = "/proc/driver/nvidia/version";
    if (const auto text = files_.read(version))
      add("driver.nvidia_module",
          text->find("Open Kernel Module") == std::string::npos ? "proprietary" : "open", version);
    add_gpus(*report);
    for (const GpuDevice& gpu : report->gpus)
      read_information(gpu);
  }

  void read_amd_gpus() {
    const auto in_tree = host_.gpu_scan.gpus(GpuVendor::amd);
    if (!in_tree || in_tree->empty()) return;
    const auto report = host_.amd_gpus.read({GpuGroup::identity, GpuGroup::ecc, GpuGroup::power}, deadline_);
    if (!report) return miss_gpus("driver.amdgpu", report.error().what);
    if (report->state != DriverState::ok) return miss_gpus("driver.amdgpu", report->detail);
    add("driver.amdgpu", report->driver_version, "amdgpu");
    add_gpus(*report);
    for (const GpuDevice& gpu : report->gpus)
      add_file(key_of(gpu, "vbios"), pci_folder(gpu.subject.key) + "/vbios_version");
  }

  void miss_gpus(const std::string& driver, const std::string& reason) {
    facts_.missing.emplace(driver, reason);
    facts_.missing.emplace("gpu.*", reason);
  }

  static std::string key_of(const GpuDevice& gpu, std::string_view fact) {
    const std::string name = gpu.subject.index ? std::to_string(*gpu.subject.index) : gpu.subject.key;
    return "gpu." + name + "." + std::string(fact);
  }

  void add_gpus(const GpuReport& report) {
    const std::string& source = report.library_path.empty() ? std::string("driver") : report.library_path;
    add("gpu.count", std::to_string(report.gpus.size()), source);
    for (const GpuDevice& gpu : report.gpus) {
      add(key_of(gpu, "name"), gpu.name, source);
      for (const auto& [fact, reading] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
               {"ecc", reading::kEccEnabled},
               {"mig", reading::kMig},
               {"persistence", reading::kPersistence},
               {"power_limit", reading::kPowerLimit}})
        if (const GpuReading* found = gpu.find(reading); found != nullptr && found->value)
          add(key_of(gpu, fact), autopilot::to_string(*found->value), source);
    }
  }

  void read_information(const GpuDevice& gpu) {
    const std::string path = "/proc/driver/nvidia/gpus/" + gpu.subject.key + "/information";
    const auto text = files_.read(path);
    if (!text) {
      miss(key_of(gpu, "vbios"), text.error());
      miss(key_of(gpu, "firmware"), text.error());
      return;
    }
    add(key_of(gpu, "vbios"), value_in_information(*text, "Video BIOS"), path);
    add(key_of(gpu, "firmware"), value_in_information(*text, "GPU Firmware"), path);
  }

  void read_adapters() {
    const std::string folder = "/sys/class/infiniband";
    const auto devices = files_.list_sysfs(folder);
    if (!devices) return miss("nic.*", devices.error());
    for (const std::string& device : *devices) {
      add_file("nic." + device + ".firmware", folder + "/" + device + "/fw_ver");
      add_file("nic." + device + ".board", folder + "/" + device + "/board_id");
    }
  }

  void read_interfaces() {
    const auto links = host_.ethernet.links(deadline_);
    if (!links) return miss("mtu.*", links.error());
    for (const EthernetLink& link : *links) {
      const bool is_bond = link.driver_kind == "bond";
      if (link.problem) {
        miss("mtu." + link.name, *link.problem);
      } else if ((link.is_physical || is_bond) && !link.is_virtual_function) {
        add("mtu." + link.name, std::to_string(link.mtu), "/sys/class/net/" + link.name + "/mtu");
      }
    }
  }

  void read_drives() {
    const auto drives = host_.nvme.controllers();
    if (!drives) return miss("nvme.*", drives.error());
    for (const NvmeController& drive : *drives) {
      const std::string source = "/sys/class/nvme/" + drive.name;
      add("nvme." + drive.name + ".model", drive.model, source + "/model");
      add("nvme." + drive.name + ".firmware", drive.firmware, source + "/firmware_rev");
    }
  }

  void read_pci() {
    const PciIsolation isolation = read_pci_isolation(files_);
    if (isolation.has_iommu) add("pci.iommu", *isolation.has_iommu ? "on" : "off", "/sys/class/iommu");
    if (isolation.redirecting_bridges)
      add("pci.acs_bridges", std::to_string(*isolation.redirecting_bridges), "/sys/bus/pci/devices/*/config");
    else
      facts_.missing.emplace("pci.acs_bridges", isolation.problem);
  }

  // Of a tree this process has no limits.
  void read_limits() {
    if (files_.is_tree()) return;
    const OwnLimits limits = read_own_limits(files_);
    const auto text = [](const std::optional<std::uint64_t>& limit) {
      return limit ? std::to_string(*limit) : std::string("unlimited");
    };
    add("limit.open_files", text(limits.open_files), "getrlimit");
    add("limit.locked_memory", text(limits.locked_bytes), "getrlimit");
  }

  static std::string pci_folder(const std::string& address) { return "/sys/bus/pci/devices/" + address; }

  const Host& host_;
  const Files& files_;
  MonoTime deadline_;
  MachineFacts facts_;
};

// They differ on machines that are equal.
bool names_this_machine(std::string_view argument) {
  constexpr std::array kNames{"BOOT_IMAGE",    "initrd",   "root",    "rootflags",   "resume",
                              "resume_offset", "hostname", "ip",      "cryptdevice", "ifname",
                              "BOOTIF",        "netroot",  "nfsroot", "ds",          "systemd.machine_id"};
  return argument.starts_with("rd.") || std::ranges::find(kNames, argument) != kNames.end();
}

// Up to a blank outside of quotes.
std::string take_argument(std::string_view& rest) {
  std::string argument;
  bool is_quoted = false;
  while (!rest.empty() && (is_quoted || (rest.front() != ' ' && rest.front() != '\n'))) {
    if (rest.front() == '"')
      is_quoted = !is_quoted;
    else
      argument += rest.front();
    rest.remove_prefix(1);
  }
  while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\n'))
    rest.remove_prefix(1);
  return argument;
}

}  // namespace

std::map<std::string, std::string> parse_kernel_arguments(std::string_view line) {
  std::map<std::string, std::string> arguments;
  for (std::string_view rest = trim(line); !rest.empty();) {
    const std::string argument = take_argument(rest);
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    if (name.empty() || names_this_machine(name)) continue;
    const std::string value = equals == std::string::npos ? "set" : argument.substr(equals + 1);
    std::string& known = arguments[name];
    known += (known.empty() ? "" : " ") + value;
  }
  return arguments;
}

std::string value_in_information(std::string_view text, std::string_view name) {
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || trim(line.substr(0, colon)) != name) continue;
    const std::string_view value = trim(line.substr(colon + 1));
    // "N/A" of a driver without that firmware; question marks of a GPU that does not answer.
    return value == "N/A" || value.starts_with("??") ? std::string() : std::string(value);
  }
  return {};
}

MachineFacts read_machine_facts(const Host& host, MonoTime deadline) {
  return FactReader(host, deadline).read();
}

}  // namespace autopilot::host
