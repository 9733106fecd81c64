// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/compare/facts.hpp"
#include "workloads/compare/readings.hpp"

namespace autopilot::workloads::compare {

// A file that is not part of the comparison, and why.
struct LeftOut {
  std::string file;
  std::string reason;
};

// Everything about one of the two sides.
struct Side {
  std::string letter;  // "A", "B"
  std::string name;    // of the facts, otherwise of the folder
  Facts facts;
  std::vector<Series> series;
  std::vector<Measure> measures;
  std::vector<std::string> files;  // that were read
  std::vector<LeftOut> left_out;
  std::vector<std::string> notes;
};

// Adds what a file contains.
void add_readings(Side& side, Readings readings, const std::string& file);

// GPUs whose rows follow each other in a file of nvidia-smi with that many rows: from the facts, otherwise
// from the rows of sar, which sampled at the same times. nullopt: neither fits.
[[nodiscard]] std::optional<int> gpus_of_rows(const Side& side, std::size_t rows);
// Seconds between two readings: of the facts, otherwise of the files with times.
[[nodiscard]] std::optional<double> interval_of(const Side& side);

// After all files: gives series without times the interval of the side, and adds what follows from columns:
// cpu.busy (100 - idle) and mem.total (free + used).
void complete(Side& side);

// The series of a metric, and of a subject if that is not empty, in the order of the files.
[[nodiscard]] std::vector<const Series*> series_of(const Side& side, std::string_view metric);
// The series of the metric and the subject with the most readings; nullptr without one.
[[nodiscard]] const Series* main_series(const Side& side, std::string_view metric, std::string_view subject);
// GPUs with readings of gpu.util, each with its series that has the most readings.
[[nodiscard]] std::vector<const Series*> gpus_of(const Side& side);
// Mean utilisation in percent above which a GPU counts as used.
inline constexpr double kUsed_percent = 1;
[[nodiscard]] std::vector<const Series*> used_gpus_of(const Side& side);

// GPUs that the facts state for the job, fewer than the data shows in use; nullopt: no contradiction.
[[nodiscard]] std::optional<int> contradicted_gpus(const Side& side);

// Seconds that the longest series spans.
[[nodiscard]] std::optional<double> duration_of(const Side& side);

}  // namespace autopilot::workloads::compare
