// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/amd_gpus.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/parse.hpp"
#include "host/gpu/amd_reader.hpp"
#include "host/gpu/driver_module.hpp"
#include "host/gpu/kfd_processes.hpp"
#include "host/gpu/readings.hpp"
#include "host/pci/pci.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kDriver = "amdgpu";
constexpr std::string_view kModule = "/sys/module/amdgpu";

std::string folder_of(std::string_view address) {
  return "/sys/bus/pci/devices/" + std::string(address);
}

// Empty: the file is not there, or says nothing.
std::string word_in(const Files& files, const std::string& path) {
  return files.read_word(path).value_or("");
}

// A device that has left the bus reads as all ones.
bool is_on_bus(const Files& files, const std::string& folder) {
  constexpr std::string_view kNobody = "\xff\xff\xff\xff";
  const auto head = files.read(folder + "/config", 4096);
  return !head || head->substr(0, kNobody.size()) != kNobody;
}

GpuState state_of(const Files& files, const std::string& address) {
  if (is_pci_asleep(files, address)) return GpuState::asleep;
  return is_on_bus(files, folder_of(address)) ? GpuState::ok : GpuState::lost;
}

Result<std::vector<std::int64_t>> pids_of(const Result<KfdProcesses>& processes, const std::string& address) {
  if (!processes) return fail(processes.error());
  const auto found = processes->by_gpu.find(address);
  if (found != processes->by_gpu.end()) return found->second;
  return fail(processes->some_denied ? Errc::denied : Errc::unsupported, address + ": no compute node");
}

GpuDevice read_amd_gpu(const Files& files, const PciDevice& found, int index,
                       const std::vector<GpuGroup>& groups, const Result<KfdProcesses>& processes) {
  const std::string folder = folder_of(found.address);
  GpuDevice gpu;
  gpu.subject = {.kind = SubjectKind::gpu, .key = found.address, .index = index, .uuid = {}, .serial = {}};
  gpu.state = state_of(files, found.address);
  if (gpu.state != GpuState::ok) return gpu;
  gpu.subject.uuid = word_in(files, folder + "/unique_id");
  gpu.subject.serial = word_in(files, folder + "/serial_number");
  gpu.name = word_in(files, folder + "/product_name");
  if (gpu.name.empty()) gpu.name = "AMD GPU " + word_in(files, folder + "/device");
  gpu.readings = AmdReader(files, folder).read(groups, pids_of(processes, found.address));
  return gpu;
}

bool is_driven(const PciDevice& gpu) {
  return gpu.driver == kDriver;
}

constexpr auto kFiles = std::to_array<std::string_view>({
    "unique_id",
    "serial_number",
    "product_name",
    "ras/*",
    "pp_dpm_sclk",
    "gpu_busy_percent",
    "pcie_replay_count",
    "current_compute_partition",
    "mem_info_vram_total",
    "mem_info_vram_used",
    "hwmon/*/name",
    "hwmon/*/*_label",
    "hwmon/*/*_input",
    "hwmon/*/*_crit",
    "hwmon/*/*_emergency",
    "hwmon/*/power1_average",
    "hwmon/*/power1_cap",
    "hwmon/*/power1_cap_default",
});

}  // namespace

std::span<const std::string_view> amd_gpu_files() {
  return kFiles;
}

Result<GpuReport> AmdGpus::read(const std::vector<GpuGroup>& groups, MonoTime) const {
  std::vector<PciDevice> gpus = TRY(scan_amd_gpus(files_));
  GpuReport report;
  report.time = clock_.now();
  const bool is_needed = std::ranges::any_of(gpus, [](const PciDevice& gpu) { return gpu.driver.empty(); });
  if (is_needed && !is_amdgpu_module_loaded(files_)) {
    report.state = DriverState::driver_not_loaded;
    report.detail = std::string(kModule) + " does not exist";
    return report;
  }
  report.driver_version = word_in(files_, std::string(kModule) + "/version");
  std::erase_if(gpus, [](const PciDevice& gpu) { return !is_driven(gpu); });
  const bool wants_processes = std::ranges::find(groups, GpuGroup::processes) != groups.end();
  const Result<KfdProcesses> processes = wants_processes ? read_kfd_processes(files_) : KfdProcesses{};
  int index = 0;
  for (const PciDevice& gpu : gpus)
    report.gpus.push_back(read_amd_gpu(files_, gpu, index++, groups, processes));
  return report;
}

Result<std::vector<GpuEvent>> AmdGpus::take_events(MonoTime) const {
  return fail(Errc::unsupported, "the driver amdgpu tells of faults in the kernel log only");
}

}  // namespace autopilot::host
