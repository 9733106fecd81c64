// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jobs/metrics.hpp"
#include "jobs/records.hpp"

namespace autopilot::jobs {

inline constexpr Duration kSlot = std::chrono::seconds(10);
inline constexpr Duration kMinute = std::chrono::minutes(1);

// The windows of the last three minutes of one node, in slots of ten seconds. A slot holds what ended within
// it; shorter windows are combined, a longer one fills the slot of its end. Columns of floats, one row for
// each GPU, NIC and process.
class NodeTelemetry {
 public:
  static constexpr std::size_t kSlots = 18;
  static constexpr std::size_t kMaxRows = 64;  // of a table; more are left out

  // Rows of GPUs and NICs that the record names. Known columns stay.
  void describe(const NodeRecord& node);
  // False if the window is older than all slots.
  bool add(const WindowRecord& window);

  // The median of gauges and shares, the sum of counts, over the minute that ends at `end`. NaN: no value.
  [[nodiscard]] float over_minute(Metric metric, std::size_t row, WallTime end) const;
  // The latest value within the 30 s before `now`. NaN: no value.
  [[nodiscard]] float latest(Metric metric, std::size_t row, WallTime now) const;
  // Length of time within the minute that windows cover, and 0 if the node sent nothing.
  [[nodiscard]] Duration covered(WallTime end) const;

  // The row of a key. nullopt: not known here.
  [[nodiscard]] std::optional<std::size_t> gpu_row(int index) const;
  [[nodiscard]] std::optional<std::size_t> nic_row(std::string_view name) const;
  [[nodiscard]] std::optional<std::size_t> process_row(std::string_view job, int rank) const;
  [[nodiscard]] const std::vector<std::string>& nics() const { return nics_; }
  // Rows of processes of a job that ended are free again.
  void forget_job(std::string_view job);

 private:
  struct Slot {
    std::int64_t number = -1;  // slots since the epoch
    int windows = 0;
    Duration covered{};
  };

  [[nodiscard]] const Slot* slot(std::int64_t number) const;
  [[nodiscard]] Slot& open_slot(std::int64_t number);
  // The row of each key of a table's columns; kMaxRows: no place.
  using Rows = std::vector<std::size_t>;
  [[nodiscard]] Rows rows_of_gpus(const WindowRecord& window);
  [[nodiscard]] Rows rows_of_nics(const WindowRecord& window);
  [[nodiscard]] Rows rows_of_processes(const WindowRecord& window);
  [[nodiscard]] std::size_t process_row_or_new(const ProcessKey& key);
  void store(Metric metric, std::size_t row, std::int64_t slot_number, float value);
  [[nodiscard]] float value(Metric metric, std::size_t row, std::int64_t slot_number) const;

  std::array<Slot, kSlots> slots_;
  std::array<std::vector<float>, kMetrics.size()> columns_;  // row * kSlots + slot
  std::vector<std::string> nics_;
  std::vector<ProcessKey> processes_;  // an empty job: a free row
  std::size_t gpus_ = 0;               // rows 0 .. gpus_ - 1 are the GPUs' indexes
};

}  // namespace autopilot::jobs
