// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/gpu/gpus.hpp"
#include "host/gpu/nvml_library.hpp"
#include "host/gpu/nvml_reader.hpp"
#include "host/gpu/nvml_telemetry.hpp"
#include "host/gpu/telemetry.hpp"

namespace autopilot::host {

// The driver as a whole, called in this process. Calls may hang or crash the process, so only the helper
// process uses it. For one thread.
class NvmlDriver {
 public:
  // NVML fixes its list of GPUs at init. While a GPU is not ok, NVML is initialised again at this interval to
  // find recovered GPUs.
  static constexpr Duration kReinitInterval = std::chrono::minutes{1};

  // library_path: loads exactly this file; "" searches (NvmlLibrary::search_places). `watch` shows other
  // threads the call in progress.
  NvmlDriver(std::string library_path, const Clock& clock, CallWatch& watch)
      : library_path_(std::move(library_path)), clock_(clock), watch_(watch), events_(clock) {}
  NvmlDriver(const NvmlDriver&) = delete;
  NvmlDriver& operator=(const NvmlDriver&) = delete;
  ~NvmlDriver() { stop(); }

  // Returns a report in every state. `addresses`: PCI addresses of NVIDIA GPUs. A GPU that NVML does not
  // enumerate is requested by its address, so that a lost GPU is reported by name. A GPU with only a known
  // index has the key "index-<n>".
  [[nodiscard]] GpuReport read(const std::vector<GpuGroup>& groups,
                               const std::vector<std::string>& addresses);
  // The GPUs of NVML's enumeration; returns an answer in every state.
  [[nodiscard]] GpuTelemetry read_telemetry(TelemetryDetail detail);
  // Xid events since the last call, at most NvmlEvents::kKeptFor old. An error if no GPU can be registered
  // for events: an empty list would look healthy.
  [[nodiscard]] Result<std::vector<GpuEvent>> take_events();

 private:
  // Loads and initialises the library. Other states than ok set detail_.
  DriverState start();
  void stop();
  // The loaded library; only after start() returned ok.
  [[nodiscard]] NvmlLibrary& library();
  void read_versions();
  void read_gpus(GpuReport& report, const std::vector<GpuGroup>& groups,
                 const std::vector<std::string>& addresses);
  // The key is empty if the address cannot be read.
  GpuDevice read_index(unsigned index, const std::vector<GpuGroup>& groups);
  GpuDevice read_gpu(nvml::Device device, std::optional<int> index, const std::vector<GpuGroup>& groups);
  void read_absent(GpuReport& report, const std::string& address, std::vector<GpuDevice>& nameless,
                   const std::vector<GpuGroup>& groups);
  [[nodiscard]] GpuDevice gpu_without_handle(const std::string& address, std::optional<int> index,
                                             GpuState state) const;
  [[nodiscard]] std::uint64_t calls() const { return calls_before_ + (library_ ? library_->calls() : 0); }
  void read_identity(nvml::Device device, GpuDevice& gpu);
  // Fills telemetry_gpus_; a GPU without handle or address is left out.
  void find_telemetry_gpus();

  // The identity of a GPU, which does not change while NVML is initialised.
  struct Known {
    std::string name;
    std::string uuid;
    std::string serial;
    bool complete = false;  // all calls succeeded
    GpuFacts facts;
  };

  std::string library_path_;
  const Clock& clock_;
  CallWatch& watch_;
  std::optional<NvmlLibrary> library_;
  bool ready_ = false;
  // In the last report a GPU was not ok, or a GPU that had been ok was missing.
  bool has_bad_gpu_ = false;
  // PCI addresses, over all initialisations; bounded by the GPUs of the machine.
  std::set<std::string> once_ok_;
  MonoTime started_{};
  std::uint64_t calls_before_ = 0;  // calls of libraries that were unloaded
  std::string detail_;
  std::string driver_version_;
  std::string nvml_version_;
  std::string cuda_version_;
  std::map<std::string, Known, std::less<>> known_;  // by PCI address
  NvmlEvents events_;
  std::vector<NvmlTelemetry> telemetry_gpus_;  // empty: not found since NVML was initialised
};

// `autopilot helper nvml [--library PATH]`: calls the driver's library for HelperGpus. A separate thread
// makes the calls: while a call hangs, the answer is a report of an unresponsive driver that names the call.
// After 30 seconds the helper stops answering, so that the agent kills it. Returns the exit code of the
// process.
[[nodiscard]] int run_nvml_helper(int fd, const std::vector<std::string>& arguments);

}  // namespace autopilot::host
