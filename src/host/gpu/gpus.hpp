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

// How the driver answered as a whole. Each is a different truth for gpu.driver.
enum class DriverState : std::uint8_t {
  ok,
  library_missing,    // libnvidia-ml.so.1 in none of the places looked at
  library_broken,     // found, but it cannot be loaded or lacks a required symbol
  driver_not_loaded,  // the kernel module is not there
  version_mismatch,   // NVML: library and kernel module differ
  no_permission,      // NVML: the device files may not be opened
  init_failed,        // NVML: any other failure of init
  unresponsive,       // the helper did not answer within its deadline
  crashed,            // the helper died or answered garbage
  exhausted,          // the cap of stuck helpers is reached; nobody is asked any more
};

[[nodiscard]] std::string_view to_string(DriverState state);
[[nodiscard]] std::optional<DriverState> parse_driver_state(std::string_view word);

// What the driver, or the bus, says of one GPU as a whole.
enum class GpuState : std::uint8_t {
  ok,
  lost,            // it does not answer on the bus
  reset_required,  // NVML
  unresponsive,    // NVML: a timeout of the driver
  unreadable,      // any other error
  asleep,          // without power until somebody needs it; looking would wake it (AMD)
};

[[nodiscard]] std::string_view to_string(GpuState state);
[[nodiscard]] std::optional<GpuState> parse_gpu_state(std::string_view word);

// What to ask for; one call of read() asks for a set.
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

// One answer of the driver. Names and units are listed in host/gpu/readings.hpp.
struct GpuReading {
  std::string name;            // "row_remap.pending"
  std::optional<int> link;     // for readings per NVLink
  std::optional<Value> value;  // nothing: not answered
  int code = 0;                // NVML's return code; 3 is NOT_SUPPORTED; or one of reading_code
};

// A part of a divided GPU (MIG) that a program is given as if it were a GPU.
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
  std::vector<GpuInstance> instances;  // told with the groups identity and processes

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

// An Xid seen by NVIDIA's library; second witness beside the kernel log.
struct GpuEvent {
  Subject subject;
  std::uint32_t code = 0;  // 999: the library does not know it
  Instant time;            // when it was heard
  Duration late{0};        // it happened at most so long before
};

// The GPUs of one vendor in one machine. Never blocks past the deadline: the driver is asked in a helper
// process.
class Gpus {
 public:
  Gpus() = default;
  Gpus(const Gpus&) = delete;
  Gpus& operator=(const Gpus&) = delete;
  virtual ~Gpus() = default;
  // A report in every state of the driver; an Error only for a bug of ours or an unusable helper program.
  // identity is always part of the answer. Thread-safe; equal questions within a second may share one answer.
  [[nodiscard]] virtual Result<GpuReport> read(const std::vector<GpuGroup>& groups,
                                               MonoTime deadline) const = 0;
  // Xid events since the last call, but of the last minutes only; they are listened to from the first
  // question of any kind on. An error where nobody can listen to the driver. Thread-safe.
  [[nodiscard]] virtual Result<std::vector<GpuEvent>> take_events(MonoTime deadline) const = 0;

  // Those of a vendor whose driver is not there.
  [[nodiscard]] static const Gpus& none();
};

// A machine, or a machine tree, whose driver cannot be asked: the same report for every question.
class NoGpus final : public Gpus {
 public:
  // Any state but ok.
  NoGpus(DriverState state, std::string detail) : state_(state), detail_(std::move(detail)) {}
  [[nodiscard]] Result<GpuReport> read(const std::vector<GpuGroup>& groups, MonoTime deadline) const override;
  [[nodiscard]] Result<std::vector<GpuEvent>> take_events(MonoTime deadline) const override;

 private:
  DriverState state_;
  std::string detail_;
};

// The GPUs of a vendor in the PCI tree, with or without a driver. A look reads a file of every PCI device, of
// which a node with eight GPUs has a hundred. Copies share what was seen. Thread-safe; may block as Files.
class GpuScan {
 public:
  static constexpr Duration kShared = std::chrono::seconds{5};
  // So long a device that is there at each look counts as what it was.
  static constexpr Duration kKnown = std::chrono::minutes{1};

  // Each question looks. `files` outlives all copies.
  explicit GpuScan(const Files& files) : files_(&files) {}
  // One look serves all who ask within kShared; one that failed serves nobody else. `clock` outlives all
  // copies.
  GpuScan(const Files& files, const Clock& clock);

  // Errors as scan_nvidia_gpus.
  [[nodiscard]] Result<std::vector<PciDevice>> gpus(GpuVendor vendor) const;

 private:
  class Shared;

  const Files* files_;
  std::shared_ptr<Shared> shared_;  // nothing: each question looks
};

// The kernel module of the NVIDIA driver is loaded; says nothing about whether it works.
[[nodiscard]] inline bool is_nvidia_module_loaded(const Files& files) {
  return files.exists("/proc/driver/nvidia/version");
}

// The same of AMD's.
[[nodiscard]] inline bool is_amdgpu_module_loaded(const Files& files) {
  return files.exists("/sys/module/amdgpu");
}

}  // namespace autopilot::host
