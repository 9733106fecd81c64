// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "jobs/records.hpp"

namespace autopilot::collect {

// What a process states about itself. Everything is a hint: who sent it is known from the kernel.
struct Heartbeat {
  static constexpr std::size_t kMaxBytes = 512;

  std::string job;
  std::int64_t step = 0;
  std::optional<WallTime> time;            // t: nanoseconds since 1970
  std::optional<jobs::Phase> phase;        // ph: init compile train eval save load; data and done are train
  std::optional<double> step_s;            // dt: seconds of the step, above 0
  std::optional<double> tokens;            // tok: of the step, above 0
  std::optional<double> loss;              // NaN: not a number
  std::optional<std::int64_t> checkpoint;  // ckpt: the last durable step
  std::optional<std::int64_t> ack;         // the last command that was obeyed
};

// "AP1 job=llama rank=17 step=12345 t=1767225600000000000 ph=train dt=1.234 tok=4194304 loss=2.31
// ckpt=12300": keys and values without blanks, at most 512 bytes; job, rank and step are required. Other
// keys, also world, ep, tp, pp, dp, stage and next, are ignored. malformed: another text, or a value outside
// its range.
[[nodiscard]] Result<Heartbeat> parse_heartbeat(std::string_view text);

// The name of the file with the commands for a job: other characters than letters, digits, ".", "_" and "-"
// become "_". Empty: the job has no valid name.
[[nodiscard]] std::string command_file(std::string_view job);

}  // namespace autopilot::collect
