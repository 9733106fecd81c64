// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/compare/side.hpp"

namespace autopilot::workloads::compare {

// In the order in which they are shown.
enum class RemarkKind : std::uint8_t {
  isolation,  // GPUs that the job does not have were active
  unused_gpus,
  allocation,     // GPUs that the job holds and does not use
  starvation,     // all GPUs waited while the CPU worked
  loaded_window,  // a part of the run with another load on the CPU
  columns,        // columns that do not add up to 100 %
  margin,         // a bandwidth and its threshold
  clock,          // a repaired or a real gap
  meaning,        // a metric that is easily misread
};

// What the data of one side shows besides means.
struct Remark {
  RemarkKind kind{};
  std::string side;  // the letter
  std::string text;  // one sentence or two
  std::vector<Source> sources;
};

// A stretch of readings in which the CPU does much more than usual.
struct Burst {
  std::size_t first = 0;  // positions in the series
  std::size_t last = 0;
  double mean = 0;
};

// Stretches of cpu.user above 5 % and above three times its median; a stretch ends with the first reading
// below.
[[nodiscard]] std::vector<Burst> bursts_of(const Series& user);

// The only stretch of at least 60 s that has most readings above the limit.
[[nodiscard]] std::optional<Burst> loaded_window(const Series& user);

// How a load on the same machine changes the use of a GPU.
struct LoadEffect {
  std::size_t first =
      0;              // the first reading in the window that counts: the GPU has reached 80 % of its median
  double inside = 0;  // means in percent
  double after = 0;
  [[nodiscard]] double change() const { return inside / after - 1; }
};
// nullopt: fewer than 10 readings in the window or after it, other intervals, or first readings that are an
// interval or more apart.
[[nodiscard]] std::optional<LoadEffect> effect_of_load(const Series& user, const Burst& window,
                                                       const Series& gpu);

// Which reading of one series is at the time of a reading of another one. By the time of day, if both files
// state it; otherwise by position, as samplers start together.
class JoinedReadings {
 public:
  JoinedReadings(const Series& from, const Series& to);
  // nullopt: no reading of `to` within one interval of that time.
  [[nodiscard]] std::optional<std::size_t> position_of(std::size_t reading) const;
  // False: the times of day are known, and no reading is at the time of another.
  [[nodiscard]] bool has_overlap() const;

 private:
  const Series& from_;
  const Series& to_;
  std::optional<double> offset_s_;  // of the first readings; nullopt: unknown
};

struct Starvation {
  std::size_t idle_readings = 0;  // all used GPUs are at 0 %, while the CPU was measured as well
  std::size_t beside_bursts = 0;  // of them: at most one reading from a CPU burst
  std::size_t readings = 0;
  double idle_s = 0;
  const Series* user = nullptr;
};
// From the used GPUs and the CPU of the same run; nullopt if either is missing, their intervals differ or
// their times do not overlap.
[[nodiscard]] std::optional<Starvation> starvation_of(const Side& side);

// All of them, for one side.
[[nodiscard]] std::vector<Remark> remarks_of(const Side& side);

}  // namespace autopilot::workloads::compare
