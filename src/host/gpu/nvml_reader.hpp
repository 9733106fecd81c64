// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "host/gpu/gpus.hpp"
#include "host/gpu/nvml_library.hpp"

namespace autopilot::host {

// Readings of a GPU that are fixed while the driver is loaded.
using GpuFacts = std::map<std::pair<std::string, int>, GpuReading>;  // (name, link or -1)

// Reads one GPU. Requests field values in batches, and stops once the GPU is lost or requires a reset.
class NvmlReader {
 public:
  // Processes of one GPU: room in the first call, and limit.
  static constexpr std::size_t kUsualPids = 64;
  static constexpr std::size_t kMostPids = 4096;
  // Special values of Field::scale.
  static constexpr double kAsFlag = 0;
  static constexpr double kAsBitErrorRate = -1;

  NvmlReader(NvmlLibrary& library, nvml::Device device, GpuFacts& facts)
      : library_(library), device_(device), facts_(facts) {}

  [[nodiscard]] std::vector<GpuReading> read(const std::vector<GpuGroup>& groups);
  // ok, lost or reset_required, from the return codes of all calls.
  [[nodiscard]] GpuState state() const { return state_; }

 private:
  // A field of nvmlDeviceGetFieldValues, requested for a reading.
  struct Field {
    unsigned id;
    unsigned scope;
    std::string_view name;
    std::optional<int> link;
    double scale;  // from the driver's unit to ours; 1 keeps an integer; or a special value above
  };

  void read_identity();
  void read_row_remap();
  void read_ecc();
  void read_clocks();
  void read_temperature();
  void read_pcie();
  void read_nvlink();
  void read_power();
  void read_processes();
  void read_fabric();
  void read_inforom();
  void read_performance_state();
  void read_utilization();
  void read_sram_ecc();
  void read_repair();
  void read_memory();
  nvml::Return add_pids(
      const nvml::Function<nvml::Return(nvml::Device, unsigned*, nvml::ProcessInfo*)>& function,
      std::vector<unsigned>& pids);
  void want_link_counters(int link);
  void want_old_link_counters(int link);
  int link_count();

  // Requests the fields of wanted_ and empties it.
  void ask_fields();
  void want(unsigned id, std::string_view name, double scale = 1) {
    wanted_.push_back({id, 0, name, std::nullopt, scale});
  }
  void add(std::string_view name, nvml::Return code, Value value, std::optional<int> link = std::nullopt);
  // A flag other than 0 and 1 is added as a number.
  void add_flag(std::string_view name, nvml::Return code, unsigned flag,
                std::optional<int> link = std::nullopt);
  void add_failed(std::string_view name, nvml::Return code, std::optional<int> link = std::nullopt);
  // Sets state_ if the code shows a bad GPU; returns the code.
  nvml::Return note(nvml::Return code);
  [[nodiscard]] bool gone() const { return state_ != GpuState::ok; }

  // Calls the function for this device, unless the GPU is not ok.
  template <class... Parameters, class... Arguments>
  nvml::Return ask(const nvml::Function<nvml::Return(nvml::Device, Parameters...)>& function,
                   Arguments... arguments) {
    if (gone()) return state_ == GpuState::lost ? nvml::kGpuIsLost : nvml::kResetRequired;
    return note(library_.call(function, device_, arguments...));
  }
  void add_number(std::string_view name,
                  const nvml::Function<nvml::Return(nvml::Device, unsigned*)>& function);
  // Adds a fact from the cache, or calls `question`, which adds it.
  void fact(std::string_view name, std::optional<int> link, const std::function<void()>& question);

  NvmlLibrary& library_;
  nvml::Device device_;
  GpuFacts& facts_;
  GpuState state_ = GpuState::ok;
  std::vector<GpuReading> readings_;
  std::vector<Field> wanted_;
};

}  // namespace autopilot::host
