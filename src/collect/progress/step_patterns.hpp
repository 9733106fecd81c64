// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "jobs/records.hpp"

// What one line of a training log states. Pure and stateless: the same line gives the same answer. The
// patterns are facts about the output of frameworks; step_patterns.cpp has a table with source and date.
namespace autopilot::collect {

// Kinds of counters, the most trustworthy last: a log that has several is followed by the last one.
enum class CounterKind : std::uint8_t {
  learned,    // a number that rises by a constant
  log_lines,  // lines with a loss, counted, because they state no step
  named,      // "step 12" without a loss, a rate or a time beside it
  bar,        // "12%|..| 120/1000 [00:31<03:40, 4.0it/s]"
  in_epoch,   // "Epoch [1][50/3665]", "iter 50/100": starts again with each epoch
  step,       // "step 12: loss 2.3"
  global,     // "global_step: 12", "num_updates=12"
  event,      // event lines of a training framework
  configured  // the pattern that the user stated
};

struct CounterMatch {
  CounterKind kind = CounterKind::named;
  std::string key;  // of the counter within a log: the same for each line of it
  std::int64_t number = 0;
  std::optional<std::int64_t> total;  // the number at its end
  std::optional<std::int64_t> epoch;
  bool is_first_epoch_one = false;  // epochs count from 1
};

// Values beside a counter. Of several in a line the first counts.
struct LineValues {
  std::optional<double> loss;      // of training; NaN: not a number, or infinite
  std::optional<double> step_s;    // seconds, above 0
  std::optional<double> tokens_s;  // as the log states it: of the job, or of one GPU
  std::optional<double> tokens;    // of the step
  bool is_step_s_elapsed = false;  // the time may also be the time since the start
};

struct StatedPhase {
  jobs::Phase phase = jobs::Phase::checkpoint;
  jobs::Edge edge = jobs::Edge::begin;
};

struct LineFacts {
  std::optional<CounterMatch> counter;
  LineValues values;
  std::optional<StatedPhase> phase;
  std::optional<int> rank;  // of a prefix "[rank3]:", in a log that several ranks share
};

// At most 17 KiB of the line are read.
[[nodiscard]] LineFacts read_line(std::string_view line);

// The number behind the word "epoch".
[[nodiscard]] std::optional<std::int64_t> epoch_of(std::string_view line);

}  // namespace autopilot::collect
