// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
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

namespace autopilot::host {

// The Xids that NVML tells who registered for them. NVML tells only what happens afterwards, so one must
// listen long before one wants to know: what comes is kept here until somebody asks. One thread.
class NvmlEvents {
 public:
  static constexpr int kMaxAtOnce = 256;     // taken over by one drain()
  static constexpr std::size_t kMost = 256;  // kept; of more that say the same the newest replaces the last
  static constexpr std::size_t kMostAlike = 4;
  // Older ones were told by the kernel log, or nobody missed them.
  static constexpr Duration kKeptFor = std::chrono::minutes{2};

  explicit NvmlEvents(const Clock& clock) : clock_(clock) {}

  // Registers for all GPUs of an initialised library; nothing is done where that has succeeded before. An
  // error where not one GPU can be listened to.
  Status listen(NvmlLibrary& library);
  // The session of the library has ended; what was heard stays.
  void end();
  // Takes over what has happened, without waiting: one call of the library more than there are events.
  // Nothing is done, and no error, while nobody listens.
  Status drain(NvmlLibrary& library);
  // What was heard in the last kKeptFor, oldest first, each event once.
  [[nodiscard]] std::vector<GpuEvent> take();

 private:
  void add(GpuEvent event);

  const Clock& clock_;
  nvml::EventSet set_ = nullptr;
  std::map<nvml::Device, std::string> addresses_;  // of those listened to
  MonoTime drained_{};
  std::deque<GpuEvent> heard_;
};

// The driver as a whole, asked in this process: calls may block for ever or end it. Only the helper process
// uses it. One thread.
class NvmlDriver {
 public:
  static constexpr unsigned kMaxGpus = 64;
  // NVML fixes its list of GPUs at init. While a GPU is in a bad state it is initialised again this often, to
  // see what has come back; with all GPUs well it is not.
  static constexpr Duration kLookAgainAfter = std::chrono::minutes{1};

  // library_path: exactly this file; "" searches (NvmlLibrary::search_places).
  // `watch` shows other threads the call in progress.
  NvmlDriver(std::string library_path, const Clock& clock, CallWatch& watch)
      : library_path_(std::move(library_path)), clock_(clock), watch_(watch), events_(clock) {}
  NvmlDriver(const NvmlDriver&) = delete;
  NvmlDriver& operator=(const NvmlDriver&) = delete;
  ~NvmlDriver() { stop(); }

  // A report in every state. `addresses` are PCI addresses known to carry an NVIDIA GPU: one of them that
  // NVML does not enumerate is asked for by address, so that a lost GPU is reported with its name. A GPU of
  // which only the index is known has the key "index-<n>".
  [[nodiscard]] GpuReport read(const std::vector<GpuGroup>& groups,
                               const std::vector<std::string>& addresses);
  // Xid events since the last call and since the library was initialised, at most NvmlEvents::kKeptFor old.
  // An error where nobody can listen: silence would pass for health.
  [[nodiscard]] Result<std::vector<GpuEvent>> take_events();

 private:
  // ok, or why not, with the text in detail_.
  DriverState start();
  void stop();
  // The loaded library: after start() was ok.
  [[nodiscard]] NvmlLibrary& library();
  void read_versions();
  void read_gpus(GpuReport& report, const std::vector<GpuGroup>& groups,
                 const std::vector<std::string>& addresses);
  // The key stays empty when not even the address can be had.
  GpuDevice read_index(unsigned index, const std::vector<GpuGroup>& groups);
  GpuDevice read_gpu(nvml::Device device, std::optional<int> index, const std::vector<GpuGroup>& groups);
  void read_absent(GpuReport& report, const std::string& address, std::vector<GpuDevice>& nameless,
                   const std::vector<GpuGroup>& groups);
  [[nodiscard]] GpuDevice gpu_without_handle(const std::string& address, std::optional<int> index,
                                             GpuState state) const;
  [[nodiscard]] std::uint64_t calls() const { return calls_before_ + (library_ ? library_->calls() : 0); }
  void read_identity(nvml::Device device, GpuDevice& gpu);

  // What identifies a GPU and does not change while NVML is initialised.
  struct Known {
    std::string name;
    std::string uuid;
    std::string serial;
    bool complete = false;  // asked and answered
    GpuFacts facts;
  };

  std::string library_path_;
  const Clock& clock_;
  CallWatch& watch_;
  std::optional<NvmlLibrary> library_;
  bool ready_ = false;
  // The last report had a GPU that is not ok, or lacked one that was.
  bool troubled_ = false;
  std::set<std::string> once_well_;  // PCI addresses, over all sessions; at most kMaxGpus per machine
  MonoTime started_{};
  std::uint64_t calls_before_ = 0;  // of libraries that were unloaded
  std::string detail_;
  std::string driver_version_;
  std::string nvml_version_;
  std::string cuda_version_;
  std::map<std::string, Known, std::less<>> known_;  // by PCI address
  NvmlEvents events_;
};

}  // namespace autopilot::host
