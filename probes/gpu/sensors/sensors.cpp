// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/sensors/sensors.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include "core/word_table.hpp"
#include "probes/gpu/driver/driver.hpp"

namespace autopilot::probes::gpu {
namespace {

constexpr WordTable<std::uint64_t, 9> kReasons{{
    {0x1, "gpu_idle"},
    {0x2, "applications_clocks"},
    {0x4, "sw_power_cap"},
    {0x8, "hw_slowdown"},
    {0x10, "sync_boost"},
    {0x20, "sw_thermal"},
    {0x40, "hw_thermal"},
    {0x80, "hw_power_brake"},
    {0x100, "display_clock"},
}};

constexpr double kMilli = 1e-3;

}  // namespace

std::vector<std::string> throttle_words(std::uint64_t bits) {
  std::vector<std::string> words;
  for (const auto& [bit, word] : kReasons) {
    if ((bits & bit) != 0) words.emplace_back(word);
    bits &= ~bit;
  }
  if (bits != 0) {
    std::array<char, 19> text{};
    std::snprintf(text.data(), text.size(), "0x%" PRIx64, bits);
    words.emplace_back(text.data());
  }
  return words;
}

Result<Sensors> Sensors::open(const std::string& path) {
  auto file = TRY(SharedLibrary::open(path, "NVML"));
  Sensors sensors;
#define AUTOPILOT_NVML_LOAD(member, name, arguments) file.load(#name, sensors.calls_.member);
  AUTOPILOT_PROBE_NVML_FUNCTIONS(AUTOPILOT_NVML_LOAD)
#undef AUTOPILOT_NVML_LOAD
  TRY_STATUS(file.complete("is not NVML, or is older than 525"));
#define AUTOPILOT_NVML_LOAD(member, name, arguments) file.load(#name, sensors.calls_.member);
  AUTOPILOT_PROBE_NVML_OPTIONAL_FUNCTIONS(AUTOPILOT_NVML_LOAD)
#undef AUTOPILOT_NVML_LOAD
  const nvml::Return code = sensors.calls_.init();
  if (code != nvml::kSuccess) return fail(Errc::unavailable, "nvmlInit_v2: error " + std::to_string(code));
  return sensors;
}

Result<nvml::Device> Sensors::find(const std::string& pci_address) const {
  nvml::Device device = nullptr;
  const nvml::Return code = calls_.device(pci_address.c_str(), &device);
  if (code != nvml::kSuccess)
    return fail(Errc::not_found,
                "NVML does not know " + pci_address + " (error " + std::to_string(code) + ")");
  return device;
}

SensorValues Sensors::read(nvml::Device device) const {
  SensorValues values;
  unsigned number = 0;
  unsigned long long bits = 0;
  if (calls_.temperature(device, nvml::kTemperatureGpu, &number) == nvml::kSuccess)
    values.temperature_c = number;
  if (calls_.power(device, &number) == nvml::kSuccess) values.power_w = number * kMilli;
  if (calls_.power_limit(device, &number) == nvml::kSuccess) values.power_limit_w = number * kMilli;
  if (calls_.clock(device, nvml::kClockSm, &number) == nvml::kSuccess) values.sm_clock_mhz = number;
  if (calls_.throttle_reasons(device, &bits) == nvml::kSuccess) values.throttle_reasons = bits;
  if (calls_.link_generation(device, &number) == nvml::kSuccess) values.pcie_generation = number;
  if (calls_.link_lanes(device, &number) == nvml::kSuccess) values.pcie_lanes = number;
  return values;
}

std::optional<std::vector<unsigned>> Sensors::processes(nvml::Device device) const {
  std::array<nvml::ProcessInfo, 64> found{};
  auto count = static_cast<unsigned>(found.size());
  const nvml::Return code = calls_.processes(device, &count, found.data());
  if (code != nvml::kSuccess && code != nvml::kInsufficientSize) return std::nullopt;
  std::vector<unsigned> pids;
  for (unsigned i = 0; i < count && i < found.size(); ++i)
    pids.push_back(found[i].pid);
  return pids;
}

std::optional<bool> Sensors::is_divided(nvml::Device device) const {
  unsigned current = 0;
  unsigned pending = 0;
  if (calls_.mig_mode == nullptr || calls_.mig_mode(device, &current, &pending) != nvml::kSuccess)
    return std::nullopt;
  return current == nvml::kMigEnabled;
}

namespace {

constexpr std::chrono::milliseconds kLongestCall{150};

}  // namespace

Sampler::Sampler(const Sensors& sensors, const std::vector<std::string>& pci_addresses, Take take)
    : thread_([shared = shared_, &sensors, pci_addresses, take = std::move(take)] {
        run(shared, sensors, pci_addresses, take);
      }) {}

Sampler::~Sampler() {
  static_cast<void>(stop());
}

bool Sampler::stop() {
  {
    std::unique_lock lock(shared_->mutex);
    if (!thread_.joinable()) return shared_->ended;
    shared_->stop = true;
    shared_->changed.notify_all();
    shared_->changed.wait_for(lock, kLongestCall, [&] { return shared_->ended; });
    if (!shared_->ended) {
      thread_.detach();
      return false;
    }
  }
  thread_.join();
  return true;
}

void Sampler::run(const std::shared_ptr<Shared>& shared, const Sensors& sensors,
                  const std::vector<std::string>& pci_addresses, const Take& take) {
  std::unique_lock lock(shared->mutex);
  while (!shared->stop) {
    lock.unlock();
    for (std::size_t i = 0; i < pci_addresses.size(); ++i)
      if (const auto device = sensors.find(pci_addresses[i])) take(i, sensors.read(*device));
    lock.lock();
    shared->changed.wait_for(lock, kPeriod, [&] { return shared->stop; });
  }
  shared->ended = true;
  shared->changed.notify_all();
}

namespace {

// The remedy comes before the cause, which can be long.
constexpr const char* kUnknownUsers =
    "can be in use by an unknown process; a container needs the driver capability `utility` to list "
    "processes: ";
constexpr const char* kRemedy = "; use --beside-others to test it nevertheless";

}  // namespace

Status check_is_free(const std::optional<std::vector<unsigned>>& processes, const SensorValues& values) {
  if (processes && !processes->empty()) {
    std::string pids;
    for (const unsigned pid : *processes)
      pids += " " + std::to_string(pid);
    return fail(Errc::conflict, "is in use by" + pids + kRemedy);
  }
  if (values.power_w && values.power_limit_w && *values.power_w >= kMostPowerBefore * *values.power_limit_w)
    return fail(Errc::conflict, "draws " + std::to_string(static_cast<int>(*values.power_w)) + " of its " +
                                    std::to_string(static_cast<int>(*values.power_limit_w)) +
                                    " W before anything is tested" + kRemedy);
  return {};
}

Status check_is_idle(const std::optional<std::vector<unsigned>>& processes, const SensorValues& values,
                     std::optional<bool> is_divided) {
  if (is_divided.value_or(false))
    return fail(Errc::conflict, "is divided (MIG), and its parts can be in use");
  if (!processes) return refuse_unknown_use("NVML does not list its processes");
  return check_is_free(processes, values);
}

tl::unexpected<Error> refuse_unknown_use(const std::string& why) {
  return fail(Errc::conflict, std::string(kUnknownUsers) + why);
}

namespace {

// "nvidia-cuda-mps-server", truncated by the kernel to fifteen characters.
constexpr const char* kServer = "nvidia-cuda-mps";

}  // namespace

std::optional<unsigned> find_mps_server(std::span<const unsigned> processes, const std::string& proc) {
  const auto found = std::find_if(processes.begin(), processes.end(), [&proc](unsigned process) {
    std::ifstream file(proc + "/" + std::to_string(process) + "/comm");
    std::string name;
    std::getline(file, name);
    return name == kServer;
  });
  return found == processes.end() ? std::nullopt : std::optional(*found);
}

namespace {

tl::unexpected<Error> refuse(const std::string& why) {
  return fail(Errc::conflict, "can be in use by an unknown process: " + why);
}

}  // namespace

Status check_amd_use(const Result<host::KfdProcesses>& seen, const std::string& pci_address,
                     bool must_be_idle) {
  if (!seen) return must_be_idle ? Status(refuse(seen.error().what)) : Status();
  const auto found = seen->by_gpu.find(pci_address);
  if (found == seen->by_gpu.end())
    return must_be_idle ? Status(refuse("the kernel driver (KFD) does not list it")) : Status();
  if (must_be_idle && seen->divided.contains(pci_address))
    return fail(Errc::conflict, "is divided (compute partitions), and its parts can be in use");
  if (must_be_idle && found->second.empty() && seen->some_untold)
    return refuse("the kernel driver (KFD) does not list the GPUs of a process");
  std::vector<unsigned> pids;
  std::ranges::transform(found->second, std::back_inserter(pids),
                         [](std::int64_t pid) { return static_cast<unsigned>(pid); });
  return check_is_free(pids, {});
}

}  // namespace autopilot::probes::gpu
