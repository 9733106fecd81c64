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
#include "host/helpers/helper_client.hpp"

namespace autopilot::host {

// The driver of one vendor asked through its helper: of kind "nvml" for NVIDIA, "amdgpu" for AMD.
// Thread-safe; one question is under way at a time, and its answer serves all who waited for less.
class HelperGpus final : public Gpus {
 public:
  static constexpr Duration kShared = std::chrono::seconds{1};
  // A driver that does not answer is not asked again for a while: callers get the last report at once instead
  // of waiting in turn.
  static constexpr Duration kPause = std::chrono::seconds{5};

  // `clock` is that of the machine, in which callers give their deadlines, and outlives the object; `scan`
  // says which GPUs the driver should know.
  HelperGpus(GpuVendor vendor, Command command, const Clock& clock, GpuScan scan, HelperLimits limits = {});

  [[nodiscard]] Result<GpuReport> read(const std::vector<GpuGroup>& groups, MonoTime deadline) const override;
  [[nodiscard]] Result<std::vector<GpuEvent>> take_events(MonoTime deadline) const override;

  [[nodiscard]] HelperStats stats() const { return client_.stats(); }
  // Calls of the driver's library since start, as far as they were answered.
  [[nodiscard]] std::uint64_t driver_calls() const;

 private:
  // The last answer, where it is as good as a new one.
  [[nodiscard]] std::optional<Result<GpuReport>> shared_answer(const std::set<GpuGroup>& groups) const;
  [[nodiscard]] Result<GpuReport> ask(const std::set<GpuGroup>& groups, MonoTime deadline) const;
  // On the clock of the process.
  [[nodiscard]] MonoTime process_time(MonoTime deadline) const;

  GpuVendor vendor_;
  mutable HelperClient client_;
  const Clock& clock_;
  GpuScan scan_;

  mutable std::mutex mutex_;  // of all below; not held while the helper is asked
  mutable std::condition_variable answered_;
  mutable bool is_asking_ = false;
  mutable std::optional<Result<GpuReport>> last_;
  mutable std::set<GpuGroup> last_groups_;
  mutable MonoTime last_time_{};
  mutable std::uint64_t driver_calls_ = 0;
};

// What the helper sends and its caller reads: one JSON object. The time of a report or an event does not
// travel; who reads it stamps it.
[[nodiscard]] std::string format_gpu_report(const GpuReport& report);
// Strict: every word, reading and PCI address must be one we know, each GPU once. Any other text is
// Errc::malformed and says where.
[[nodiscard]] Result<GpuReport> parse_gpu_report(std::string_view text);

// Their times travel as ages: the two ends may have different clocks.
[[nodiscard]] std::string format_gpu_events(const std::vector<GpuEvent>& events, Instant now);
[[nodiscard]] Result<std::vector<GpuEvent>> parse_gpu_events(std::string_view text, Instant now);

// What to read, as it travels to the helper.
struct GpuQuestion {
  std::vector<GpuGroup> groups;
  std::vector<std::string> addresses;
};
[[nodiscard]] std::string format_gpu_question(const GpuQuestion& question);
[[nodiscard]] Result<GpuQuestion> parse_gpu_question(std::string_view text);

}  // namespace autopilot::host
