// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collect/source.hpp"
#include "collect/telemetry/device_readings.hpp"
#include "collect/telemetry/gpu_table.hpp"
#include "collect/telemetry/host_table.hpp"
#include "collect/telemetry/lane.hpp"
#include "collect/telemetry/process_table.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/host.hpp"
#include "host/process/process_reader.hpp"
#include "jobs/records.hpp"

namespace autopilot::collect {

struct SamplerOptions {
  std::string node;  // name of the node in every record
  std::string leaf;  // switch that the node is plugged into; empty: unknown
  // Power of one GPU, where an operator or a measurement states it; never guessed.
  std::optional<double> idle_w, spin_w, busy_w;
  // Reads the I/O of processes of other users where the agent may not; null: none.
  std::shared_ptr<const host::ProcessReader> reader = {};
};

struct SamplerCounts {
  std::uint64_t windows = 0;
  std::uint64_t dropped_windows = 0;  // the clock was set, or polls came too late
  std::uint64_t gpu_requests = 0;
  std::uint64_t gpu_failures = 0;  // requests without an answer of the driver
  std::uint64_t driver_calls = 0;  // of the driver's library, for these requests
};

// Telemetry of one node: one WindowRecord for each ten seconds, aligned to multiples of ten seconds of the
// wall clock, and a NodeRecord at the start and when the node changes.
//
// GPUs are read through the helper of their driver, on a thread of this object, for at most kGpuPatience;
// NICs and the inlet sensor on another. A read that hangs is not repeated, and its columns are missing:
// unknown, neither healthy nor a fault. Processes and the host are read within poll(), from files that the
// kernel answers from memory. A window appears one to three seconds after its end. The first window of a job
// may be shorter; a window in which the wall clock was set is dropped.
class Sampler final : public Source {
 public:
  static constexpr Duration kWindow = std::chrono::seconds(GpuTable::kSeconds);
  static constexpr Duration kGpuPatience = std::chrono::milliseconds(800);
  // How long after its end a window waits for the answers of devices.
  static constexpr Duration kDevicePatience = std::chrono::seconds(3);
  // A larger difference between the two clocks from one poll to the next is a clock that was set.
  static constexpr Duration kClockStep = std::chrono::seconds(1);

  Sampler(std::shared_ptr<const host::Host> host, SamplerOptions options);

  void poll(const SeenJobs& jobs, WallTime now, std::vector<jobs::Record>& records) override;
  [[nodiscard]] std::vector<std::string> not_seen() const override;

  [[nodiscard]] const SamplerCounts& counts() const { return counts_; }
  // A thread of this object is reading.
  [[nodiscard]] bool is_reading_gpus() const { return gpu_lane_.is_busy(); }
  [[nodiscard]] bool is_reading_devices() const { return device_lane_.is_busy(); }

 private:
  struct Question {
    std::uint64_t run = 0;  // samples of an earlier run are ignored
    std::int64_t window = 0;
    std::int64_t second = 0;
    host::TelemetryDetail detail = host::TelemetryDetail::brief;
  };
  struct GpuAnswer {
    Question question;
    Result<host::GpuTelemetry> telemetry;
    MonoTime time{};
  };
  struct DeviceAnswer {
    Question question;
    DeviceReadings readings;
  };
  // A window that ended and waits for devices.
  struct Pending {
    jobs::WindowRecord record;
    std::int64_t window = 0;
    MonoTime closed{};
    bool has_gpus = false;
    bool has_devices = false;
  };

  void start(WallTime now, MonoTime mono);
  void stop();
  void sample(const SeenJobs& jobs, WallTime now, MonoTime mono);
  void close_window(const SeenJobs& jobs, MonoTime mono);
  void ask(WallTime now);
  void take_gpus();
  void learn_gpus(const host::GpuTelemetry& telemetry);
  void take_devices();
  void emit(MonoTime mono, std::vector<jobs::Record>& records);
  void describe(WallTime now, MonoTime mono, std::vector<jobs::Record>& records);
  [[nodiscard]] jobs::NodeRecord node_record(WallTime now) const;

  std::shared_ptr<const host::Host> host_;
  SamplerOptions options_;
  SamplerCounts counts_;

  bool is_running_ = false;
  std::uint64_t run_ = 0;
  std::int64_t window_ = 0;  // number of windows since the epoch
  WallTime begin_{};         // of what is known of the window
  MonoTime started_{};
  WallTime last_wall_{};
  MonoTime last_mono_{};
  std::optional<Pending> pending_;

  ProcessTable processes_;
  HostTable host_table_;
  GpuTable gpus_;
  GpuCounters gpu_counters_;
  std::vector<std::vector<int>> gpu_groups_;  // the GPUs of each job, for fast power
  std::optional<DeviceReadings> devices_;     // the last answer
  bool is_device_base_ = false;               // it is of the last edge
  bool wants_gpu_detail_ = false;             // at this edge, not asked yet
  bool wants_devices_ = false;

  std::optional<host::GpuTelemetry> last_gpus_;  // the last detailed answer, or the last failure
  std::vector<host::GpuSample> known_gpus_;      // by index; of all detailed answers
  int gpu_failures_in_a_row_ = 0;
  std::optional<jobs::NodeRecord> described_;
  bool is_description_due_ = false;  // also if nothing changed
  bool may_have_changed_ = false;

  Lane<Question, GpuAnswer> gpu_lane_;
  Lane<Question, DeviceAnswer> device_lane_;
};

}  // namespace autopilot::collect
