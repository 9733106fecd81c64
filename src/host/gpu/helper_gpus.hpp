// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/gpu/gpus.hpp"
#include "host/gpu/telemetry.hpp"
#include "host/helpers/helper_client.hpp"

namespace autopilot::host {

// Reads the GPUs of one vendor through a helper: kind "nvml" for NVIDIA, "amdgpu" for AMD. Thread-safe; one
// request is in progress at a time, and its answer also serves waiting callers that requested a subset.
class HelperGpus final : public Gpus {
 public:
  static constexpr Duration kShared = std::chrono::seconds{1};
  // How long an unresponsive driver is not called again: callers get the last report at once instead of
  // waiting in turn.
  static constexpr Duration kPause = std::chrono::seconds{5};

  // `clock`: the clock of the machine, in which callers give their deadlines; outlives the object. `scan`:
  // finds the GPUs that the driver should list.
  HelperGpus(GpuVendor vendor, Command command, const Clock& clock, GpuScan scan, HelperLimits limits = {});

  [[nodiscard]] Result<GpuReport> read(const std::vector<GpuGroup>& groups, MonoTime deadline) const override;
  [[nodiscard]] Result<std::vector<GpuEvent>> take_events(MonoTime deadline) const override;
  // Not shared: the caller asks once a second. Neither called while the driver is unresponsive (kPause), nor
  // does it make another caller wait longer than `deadline`.
  [[nodiscard]] Result<GpuTelemetry> read_telemetry(TelemetryDetail detail, MonoTime deadline) const override;

  [[nodiscard]] HelperStats stats() const { return client_.stats(); }
  // Calls of the driver's library since start, counted in its answers.
  [[nodiscard]] std::uint64_t driver_calls() const;

 private:
  // The last answer, if it is recent enough; otherwise empty.
  [[nodiscard]] std::optional<Result<GpuReport>> shared_answer(const std::set<GpuGroup>& groups) const;
  [[nodiscard]] Result<GpuReport> ask(const std::set<GpuGroup>& groups, MonoTime deadline) const;
  // The state of a driver that is not called again yet; otherwise empty.
  [[nodiscard]] std::optional<DriverState> paused_state() const;
  void note(const GpuTelemetry& telemetry) const;
  // The deadline on the clock of the process.
  [[nodiscard]] MonoTime process_time(MonoTime deadline) const;

  GpuVendor vendor_;
  mutable HelperClient client_;
  const Clock& clock_;
  GpuScan scan_;

  mutable std::mutex mutex_;  // guards all members below; not held during a call of the helper
  mutable std::condition_variable answered_;
  mutable bool is_asking_ = false;
  mutable std::optional<Result<GpuReport>> last_;
  mutable std::set<GpuGroup> last_groups_;
  mutable MonoTime last_time_{};
  mutable std::uint64_t driver_calls_ = 0;
  mutable DriverState telemetry_state_ = DriverState::ok;  // of the last telemetry
  mutable MonoTime telemetry_time_{};
};

// The report as one JSON object, from the helper to the agent. It does not contain the time of the report;
// the reader sets it.
[[nodiscard]] std::string format_gpu_report(const GpuReport& report);
// malformed: an unknown word, reading or PCI address, or a GPU twice; the error names the place.
[[nodiscard]] Result<GpuReport> parse_gpu_report(std::string_view text);

// Times are sent as ages: the clocks of the two processes may differ.
[[nodiscard]] std::string format_gpu_events(const std::vector<GpuEvent>& events, Instant now);
[[nodiscard]] Result<std::vector<GpuEvent>> parse_gpu_events(std::string_view text, Instant now);

// A request to the helper: groups of readings, and PCI addresses that the driver should list.
struct GpuQuestion {
  std::vector<GpuGroup> groups;
  std::vector<std::string> addresses;
};
[[nodiscard]] std::string format_gpu_question(const GpuQuestion& question);
[[nodiscard]] Result<GpuQuestion> parse_gpu_question(std::string_view text);

}  // namespace autopilot::host
