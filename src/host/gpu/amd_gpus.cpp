// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/amd_gpus.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "core/parse.hpp"
#include "host/clock/system_clock.hpp"
#include "host/gpu/gpus.hpp"
#include "host/gpu/helper_gpus.hpp"
#include "host/gpu/kfd_processes.hpp"
#include "host/gpu/nvml_abi.h"
#include "host/gpu/readings.hpp"
#include "host/helpers/helper_server.hpp"
#include "host/pci/pci.hpp"

namespace autopilot::host {
namespace {

using namespace reading;

constexpr std::string_view kDriver = "amdgpu";
constexpr std::string_view kModule = "/sys/module/amdgpu";
constexpr std::string_view kMemoryBlock = "umc";  // the memory controllers
constexpr std::string_view kOldCount = "_err_count";
constexpr std::string_view kNewCount = "aca_";
// A larger number is garbage; sums of a few counts do not overflow.
constexpr std::int64_t kMostErrors = std::int64_t{1} << 53;
constexpr double kHottest = 200;  // degrees Celsius; a higher reading is garbage
constexpr double kPerMilli = 1e-3;
constexpr double kMicro = 1e-6;
constexpr double kPerCent = 1e-2;

int code_of(const Error& error) {
  switch (error.code) {
    case Errc::not_found:
    case Errc::unsupported:
      return nvml::kNotSupported;
    case Errc::denied:
      return nvml::kNoPermission;
    case Errc::timed_out:
      return nvml::kTimeout;
    default:
      return reading_code::kUnreadable;
  }
}

tl::unexpected<Error> malformed_row(std::string_view line) {
  return fail(Errc::malformed, "not a row of the driver: \"" + std::string(line.substr(0, 40)) + "\"");
}

Result<Value> scaled(const Result<std::int64_t>& number, double scale) {
  if (!number) return fail(number.error());
  return Value{static_cast<double>(*number) * scale};
}

template <class T>
Result<Value> count_in(const Result<T>& from, std::int64_t T::*count) {
  if (!from) return fail(from.error());
  return Value{(*from).*count};
}

// "umc" for "umc_err_count", and for "aca_umc" of newer drivers and GPUs; empty for any other file.
std::string_view counting_block(std::string_view name) {
  if (name.ends_with(kOldCount)) return name.substr(0, name.size() - kOldCount.size());
  if (name.starts_with(kNewCount)) return name.substr(kNewCount.size());
  return {};
}
std::string new_name(std::string_view block) {
  return std::string(kNewCount).append(block);
}

}  // namespace

Result<RasCounts> parse_ras_counts(std::string_view text) {
  std::map<std::string_view, std::int64_t> counts{{"de", 0}};
  for (const std::string_view line : split(trim(text), '\n')) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) return malformed_row(line);
    const std::string_view name = trim(line.substr(0, colon));
    const auto number = parse_number<std::int64_t>(trim(line.substr(colon + 1)));
    const bool is_known = name == "ue" || name == "ce" || name == "de";
    if (!is_known || !number || *number < 0 || *number > kMostErrors) return malformed_row(line);
    counts[name] = *number;
  }
  if (!counts.contains("ue") || !counts.contains("ce")) return malformed_row(text);
  return RasCounts{.uncorrected = counts.at("ue"), .corrected = counts.at("ce"), .deferred = counts.at("de")};
}

Result<BadPages> parse_bad_pages(std::string_view text) {
  BadPages pages;
  if (trim(text).empty()) return pages;
  for (const std::string_view line : split(trim(text), '\n')) {
    const std::vector<std::string_view> parts = split(line, ':');
    if (parts.size() != 3 || !parse_hex<std::uint64_t>(trim(parts[0])) ||
        !parse_hex<std::uint64_t>(trim(parts[1])))
      return malformed_row(line);
    const std::string_view flag = trim(parts[2]);
    if (flag == "R")
      ++pages.retired;
    else if (flag == "P")
      ++pages.pending;
    else if (flag == "F")
      ++pages.failed;
    else
      return malformed_row(line);
  }
  return pages;
}

std::optional<std::int64_t> highest_clock(std::string_view text) {
  constexpr std::string_view kUnit = "Mhz";
  std::optional<std::int64_t> highest;
  for (const std::string_view line : split(text, '\n')) {
    const std::vector<std::string_view> words = split_words(line);
    if (words.size() < 2 || !words[1].ends_with(kUnit)) continue;
    const auto clock = parse_number<std::int64_t>(words[1].substr(0, words[1].size() - kUnit.size()));
    if (clock && (!highest || *clock > *highest)) highest = clock;
  }
  return highest;
}

namespace {

// Reads the files of one GPU of the driver amdgpu. A missing file gives a reading with the code
// not_supported, an unreadable file one with the code of its error.
class AmdReader {
 public:
  // `folder`: the sysfs folder of the PCI device.
  AmdReader(const Files& files, std::string folder) : files_(files), folder_(std::move(folder)) {}

  // Groups that AMD's GPUs do not have give no readings; the PCI device reports the PCIe link. `pids`: the
  // processes on the GPU.
  [[nodiscard]] std::vector<GpuReading> read(const std::vector<GpuGroup>& groups,
                                             const Result<std::vector<std::int64_t>>& pids);

 private:
  struct BlockCounts;
  [[nodiscard]] Result<RasCounts> read_block(const std::string& file) const;
  void read_group(GpuGroup group, const Result<std::vector<std::int64_t>>& pids);
  void read_ecc();
  void read_bad_pages();
  void read_clocks();
  void read_temperature();
  void read_power();
  void read_processes(const Result<std::vector<std::int64_t>>& pids);

  void add(std::string_view name, Result<Value> value);
  // Adds the integer in a file of the GPU.
  void add_file(std::string_view name, std::string_view file);
  // Adds the integer in a file of the sensors (hwmon), times `scale`.
  void add_sensor(std::string_view name, const std::string& file, double scale);
  // The same; a number outside (0, most] is unreadable.
  void add_plausible(std::string_view name, const std::string& file, double scale, double most);
  // "temp2" for the label "junction"; not_found: no sensor has the label.
  [[nodiscard]] Result<std::string> sensor_with_label(std::string_view label);
  [[nodiscard]] const Result<std::string>& sensors();

  const Files& files_;
  std::string folder_;
  std::optional<Result<std::string>> sensors_;  // the folder; empty: not searched for yet
  std::vector<GpuReading> readings_;
};

std::vector<GpuReading> AmdReader::read(const std::vector<GpuGroup>& groups,
                                        const Result<std::vector<std::int64_t>>& pids) {
  for (const GpuGroup group : groups)
    read_group(group, pids);
  return std::move(readings_);
}

void AmdReader::read_group(GpuGroup group, const Result<std::vector<std::int64_t>>& pids) {
  switch (group) {
    case GpuGroup::ecc:
      return read_ecc();
    case GpuGroup::clocks:
      return read_clocks();
    case GpuGroup::temperature:
      return read_temperature();
    case GpuGroup::pcie:
      return add_file(kPcieReplays, "pcie_replay_count");
    case GpuGroup::power:
      return read_power();
    case GpuGroup::processes:
      return read_processes(pids);
    case GpuGroup::identity:
    case GpuGroup::row_remap:
    case GpuGroup::nvlink:
    case GpuGroup::fabric:
    case GpuGroup::inforom:
      return;
  }
}

// The sum of the errors of several blocks.
struct AmdReader::BlockCounts {
  RasCounts counts;
  bool any = false;              // at least one block counts errors
  std::optional<Error> problem;  // of the last block that could not be read

  void add(const Result<RasCounts>& block) {
    any = true;
    if (!block) {
      problem = block.error();
      return;
    }
    counts.uncorrected += block->uncorrected;
    counts.corrected += block->corrected;
    counts.deferred += block->deferred;
  }
  // A sum without the unreadable blocks is a lower bound, so it is reported if it is above 0.
  [[nodiscard]] Result<Value> sum_of(std::int64_t RasCounts::*count) const {
    if (!any) return fail(Errc::not_found, "no block counts errors");
    if (problem && counts.*count == 0) return fail(*problem);
    return Value{counts.*count};
  }
};

Result<RasCounts> AmdReader::read_block(const std::string& file) const {
  const std::string text = TRY(files_.read(folder_ + "/ras/" + file, 4096));
  return parse_ras_counts(text);
}

// Each block that counts errors has one file: the memory controllers (umc) and the units of the chip (gfx,
// sdma, ...).
void AmdReader::read_ecc() {
  const auto names = files_.list(folder_ + "/ras").value_or(std::vector<std::string>{});
  BlockCounts memory;
  BlockCounts chip;
  BlockCounts all;
  for (const std::string& name : names) {
    const std::string_view block = counting_block(name);
    const bool has_new_file =
        name.ends_with(kOldCount) && std::ranges::find(names, new_name(block)) != names.end();
    if (block.empty() || has_new_file) continue;
    const auto counts = read_block(name);
    (block == kMemoryBlock ? memory : chip).add(counts);
    all.add(counts);
  }
  add(kEccEnabled, all.any ? Result<Value>(Value{true}) : fail(Errc::not_found, "no block counts errors"));
  add(kEccVolatileCorrected, all.sum_of(&RasCounts::corrected));
  add(kEccVolatileUncorrected, all.sum_of(&RasCounts::uncorrected));
  add(kEccVolatileDeferred, all.sum_of(&RasCounts::deferred));
  add(kEccDramVolatileUncorrected, memory.sum_of(&RasCounts::uncorrected));
  add(kEccSramVolatileUncorrected, chip.sum_of(&RasCounts::uncorrected));
  read_bad_pages();
}

void AmdReader::read_bad_pages() {
  const auto text = files_.read(folder_ + "/ras/gpu_vram_bad_pages");
  const auto pages = text ? parse_bad_pages(*text) : Result<BadPages>(fail(text.error()));
  add(kBadPagesRetired, count_in(pages, &BadPages::retired));
  add(kBadPagesPending, count_in(pages, &BadPages::pending));
  add(kBadPagesFailed, count_in(pages, &BadPages::failed));
}

void AmdReader::read_clocks() {
  add_sensor(kClocksSm, "freq1_input", kMicro);
  add_sensor(kClocksMemory, "freq2_input", kMicro);
  const auto levels = files_.read(folder_ + "/pp_dpm_sclk", 4096);
  const auto highest = levels ? highest_clock(*levels) : std::nullopt;
  add(kClocksSmMax, highest ? Result<Value>(Value{std::int64_t{*highest}})
                            : fail(Errc::unsupported, "no row in megahertz"));
  add(kUtilization, scaled(files_.read_integer(folder_ + "/gpu_busy_percent"), kPerCent));
}

void AmdReader::read_temperature() {
  // Cards with one sensor have only the edge sensor.
  auto chip = sensor_with_label("junction");
  if (!chip) chip = sensor_with_label("edge");
  const auto memory = sensor_with_label("mem");
  const auto add_of = [&](std::string_view name, const Result<std::string>& sensor, std::string_view what) {
    if (!sensor) return add(name, fail(sensor.error()));
    add_plausible(name, *sensor + std::string(what), kPerMilli, kHottest);
  };
  add_of(kTemperatureGpu, chip, "_input");
  add_of(kTemperatureSlowdown, chip, "_crit");
  add_of(kTemperatureShutdown, chip, "_emergency");
  add_of(kTemperatureMemory, memory, "_input");
  add_of(kTemperatureMemoryMax, memory, "_crit");
}

void AmdReader::read_power() {
  const auto& folder = sensors();
  const bool averages = folder && files_.exists(*folder + "/power1_average");
  add_sensor(kPowerUsage, averages ? "power1_average" : "power1_input", kMicro);
  constexpr double kMostWatts = 10000;
  add_plausible(kPowerLimit, "power1_cap", kMicro, kMostWatts);
  add_plausible(kPowerLimitDefault, "power1_cap_default", kMicro, kMostWatts);
}

void AmdReader::read_processes(const Result<std::vector<std::int64_t>>& pids) {
  add(kProcesses, pids ? Result<Value>(static_cast<std::int64_t>(pids->size())) : fail(pids.error()));
  add(kProcessPids, pids ? Result<Value>(pids_text(std::span(*pids))) : fail(pids.error()));
  add_file(kMemoryTotal, "mem_info_vram_total");
  add_file(kMemoryUsed, "mem_info_vram_used");
}

void AmdReader::add(std::string_view name, Result<Value> value) {
  GpuReading& reading = readings_.emplace_back();
  reading.name = name;
  if (value)
    reading.value = std::move(*value);
  else
    reading.code = code_of(value.error());
}

void AmdReader::add_file(std::string_view name, std::string_view file) {
  const auto number = files_.read_integer(folder_ + "/" + std::string(file));
  add(name, number ? Result<Value>(Value{*number}) : fail(number.error()));
}

void AmdReader::add_sensor(std::string_view name, const std::string& file, double scale) {
  const auto& folder = sensors();
  if (!folder) return add(name, fail(folder.error()));
  add(name, scaled(files_.read_integer(*folder + "/" + file), scale));
}

void AmdReader::add_plausible(std::string_view name, const std::string& file, double scale, double most) {
  add_sensor(name, file, scale);
  GpuReading& reading = readings_.back();
  const auto number = reading.value ? as_number(*reading.value) : std::nullopt;
  if (!number || (*number > 0 && *number <= most)) return;
  reading.value.reset();
  reading.code = reading_code::kUnreadable;
}

Result<std::string> AmdReader::sensor_with_label(std::string_view label) {
  const auto& folder = sensors();
  if (!folder) return fail(folder.error());
  constexpr std::string_view kLabel = "_label";
  for (const std::string& name : TRY(files_.list(*folder))) {
    if (!name.starts_with("temp") || !name.ends_with(kLabel)) continue;
    const auto word = files_.read_word(std::string(*folder).append("/").append(name));
    if (word && *word == label) return name.substr(0, name.size() - kLabel.size());
  }
  return fail(Errc::not_found, "no sensor " + std::string(label));
}

const Result<std::string>& AmdReader::sensors() {
  if (sensors_) return *sensors_;
  const std::string parent = folder_ + "/hwmon";
  sensors_ = fail(Errc::not_found, parent + " has no sensors of the driver");
  const auto names = files_.list(parent);
  for (const std::string& name : names.value_or(std::vector<std::string>{})) {
    std::string folder = std::string(parent).append("/").append(name);
    if (files_.read_word(folder + "/name").value_or("") == kDriver) sensors_ = std::move(folder);
  }
  return *sensors_;
}

std::string folder_of(std::string_view address) {
  return "/sys/bus/pci/devices/" + std::string(address);
}

// Empty if the file is missing, empty or unreadable.
std::string word_in(const Files& files, const std::string& path) {
  return files.read_word(path).value_or("");
}

// A device that has left the bus reads as all ones.
bool is_on_bus(const Files& files, const std::string& folder) {
  constexpr std::string_view kAllOnes = "\xff\xff\xff\xff";
  const auto head = files.read(folder + "/config", 4096);
  return !head || head->substr(0, kAllOnes.size()) != kAllOnes;
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
  return fail(Errc::unsupported, "the driver amdgpu reports faults in the kernel log only");
}

int run_amdgpu_helper(int fd, const std::string& root) {
  const SystemClock clock;
  const Files files(root);
  const AmdGpus gpus(files, clock);
  return serve(fd, {{"read", [&gpus](std::string_view params, MonoTime deadline) -> Result<std::string> {
                       const GpuQuestion question = TRY(parse_gpu_question(params));
                       return format_gpu_report(TRY(gpus.read(question.groups, deadline)));
                     }}});
}

}  // namespace autopilot::host
