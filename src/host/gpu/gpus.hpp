// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "core/subject.hpp"
#include "core/value.hpp"
#include "host/files/files.hpp"
#include "host/pci/pci.hpp"

namespace autopilot::host {

enum class GpuVendor : std::uint8_t { nvidia, amd };

// "NVIDIA", "AMD".
[[nodiscard]] std::string_view to_string(GpuVendor vendor);

// State of the driver as a whole. The check gpu.driver reports each state differently.
enum class DriverState : std::uint8_t {
  ok,
  library_missing,    // libnvidia-ml.so.1 is in no search path
  library_broken,     // found, but it cannot be loaded or lacks a required symbol
  driver_not_loaded,  // the kernel module is not loaded
  version_mismatch,   // NVML: library and kernel module differ
  no_permission,      // NVML: no permission to open the device files
  init_failed,        // NVML: any other failure of init
  unresponsive,       // the helper did not answer within its deadline
  crashed,            // the helper died or sent a malformed answer
  exhausted,          // the limit of stuck helpers is reached; no more requests are made
};

[[nodiscard]] std::string_view to_string(DriverState state);
[[nodiscard]] std::optional<DriverState> parse_driver_state(std::string_view word);

// State of one GPU as a whole, from the driver or the bus.
enum class GpuState : std::uint8_t {
  ok,
  lost,            // fallen off the bus
  reset_required,  // NVML
  unresponsive,    // NVML: a timeout of the driver
  unreadable,      // any other error
  asleep,          // runtime-suspended; reading it would wake it (AMD)
};

[[nodiscard]] std::string_view to_string(GpuState state);
[[nodiscard]] std::optional<GpuState> parse_gpu_state(std::string_view word);

// Groups of readings; one call of Gpus::read() requests a set of them.
enum class GpuGroup : std::uint8_t {
  identity,
  row_remap,
  ecc,
  clocks,
  temperature,
  pcie,
  nvlink,
  power,
  processes,
  fabric,
  inforom
};

[[nodiscard]] std::string_view to_string(GpuGroup group);
[[nodiscard]] std::optional<GpuGroup> parse_gpu_group(std::string_view word);

// How much telemetry reads: what changes within a second, or also what changes slowly.
enum class TelemetryDetail : std::uint8_t { brief, detailed };

struct GpuTelemetry;  // host/gpu/telemetry.hpp

// One value from the driver. host/gpu/readings.hpp lists names and units.
struct GpuReading {
  std::string name;            // "row_remap.pending"
  std::optional<int> link;     // for readings per NVLink
  std::optional<Value> value;  // missing: no answer
  int code = 0;                // NVML's return code; 3 is NOT_SUPPORTED; or one of reading_code
};

// A MIG instance: a partition of a GPU that a program uses like a GPU.
struct GpuInstance {
  static constexpr std::size_t kMost = 64;  // of one GPU

  int gpu_instance = 0;
  int compute_instance = 0;
  std::string uuid;  // "MIG-..."

  friend bool operator==(const GpuInstance&, const GpuInstance&) = default;
};

struct GpuDevice {
  Subject subject;   // kind gpu: PCI address, index, UUID, serial
  std::string name;  // product
  GpuState state = GpuState::ok;
  std::vector<GpuReading> readings;
  std::vector<GpuInstance> instances;  // read if the groups identity and processes are both requested

  [[nodiscard]] const GpuReading* find(std::string_view reading,
                                       std::optional<int> link = std::nullopt) const;
};

struct GpuReport {
  DriverState state = DriverState::ok;
  std::string detail;  // library path, NVML's text, missing symbol
  std::string library_path;
  std::string driver_version;
  std::string nvml_version;
  std::string cuda_version;
  std::vector<GpuDevice> gpus;
  std::uint64_t calls = 0;  // NVML calls made for this report
  Instant time;
};

// An Xid that NVML reported; the second data source beside the kernel log.
struct GpuEvent {
  Subject subject;
  std::uint32_t code = 0;  // 999: unknown to the library
  Instant time;            // when it was received
  Duration late{0};        // the Xid occurred at most this long before `time`
};

// The GPUs of one vendor in one machine. Calls return by their deadline: a helper process calls the driver.
class Gpus {
 public:
  Gpus() = default;
  Gpus(const Gpus&) = delete;
  Gpus& operator=(const Gpus&) = delete;
  virtual ~Gpus() = default;
  // Returns a report in every state of the driver, and an error only for a bug of ours or a helper program
  // that cannot be started. The report always contains the group identity. Thread-safe; requests within a
  // second may share one answer.
  [[nodiscard]] virtual Result<GpuReport> read(const std::vector<GpuGroup>& groups,
                                               MonoTime deadline) const = 0;
  // Xid events since the last call, of the last minutes only; the first request of any kind starts their
  // collection. An error if no GPU can be registered for events. Thread-safe.
  [[nodiscard]] virtual Result<std::vector<GpuEvent>> take_events(MonoTime deadline) const = 0;
  // Power, clocks and the like of all GPUs, for one caller once a second. Cheaper than read() where the
  // driver allows it; otherwise made from read(). Returns a state of the driver and errors as read() does.
  [[nodiscard]] virtual Result<GpuTelemetry> read_telemetry(TelemetryDetail detail, MonoTime deadline) const;

  // The GPUs of a vendor whose driver is not loaded.
  [[nodiscard]] static const Gpus& none();
};

// A machine or machine tree whose driver cannot be called: returns the same report for every request.
class NoGpus final : public Gpus {
 public:
  // `state` must not be ok.
  NoGpus(DriverState state, std::string detail) : state_(state), detail_(std::move(detail)) {}
  [[nodiscard]] Result<GpuReport> read(const std::vector<GpuGroup>& groups, MonoTime deadline) const override;
  [[nodiscard]] Result<std::vector<GpuEvent>> take_events(MonoTime deadline) const override;

 private:
  DriverState state_;
  std::string detail_;
};

// The GPUs of a vendor in the PCI tree, with or without a driver. A scan reads one file of every PCI device,
// about a hundred on a node with eight GPUs. Copies share the results. Thread-safe; may block like Files.
class GpuScan {
 public:
  static constexpr Duration kShared = std::chrono::seconds{5};
  // How long the PCI class of a device that stays present is not read again.
  static constexpr Duration kKnown = std::chrono::minutes{1};

  // Every call scans. `files` outlives all copies.
  explicit GpuScan(const Files& files) : files_(&files) {}
  // One scan serves all calls within kShared; a failed scan is not shared. `clock` outlives all copies.
  GpuScan(const Files& files, const Clock& clock);

  // Returns the errors of scan_nvidia_gpus.
  [[nodiscard]] Result<std::vector<PciDevice>> gpus(GpuVendor vendor) const;

 private:
  class Shared;

  const Files* files_;
  std::shared_ptr<Shared> shared_;  // empty: every call scans
};

// True if the kernel module of the NVIDIA driver is loaded, working or not.
[[nodiscard]] inline bool is_nvidia_module_loaded(const Files& files) {
  return files.exists("/proc/driver/nvidia/version");
}

// True if the kernel module amdgpu is loaded.
[[nodiscard]] inline bool is_amdgpu_module_loaded(const Files& files) {
  return files.exists("/sys/module/amdgpu");
}

}  // namespace autopilot::host
