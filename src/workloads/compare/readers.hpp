// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "workloads/compare/readings.hpp"

// Readers of the texts that monitors and benchmarks write. Each accepts any bytes: malformed names the line.
// exhausted: more than kMaxValues or kMaxColumns. `file` is the name that sources show.
namespace autopilot::workloads::compare {

enum class TextFormat : std::uint8_t { sar, smi_csv, csv, nccl_tests, node_health_check, sysbench };

// By the first 64 KiB of a text; nullopt: none of them.
[[nodiscard]] std::optional<TextFormat> format_of(std::string_view text);

// UTF-16 with its byte order mark, as some shells of Windows write it; no reader reads it.
[[nodiscard]] bool is_utf16(std::string_view text);

// Output of sar: any report, 12 and 24 hours, any order and number of columns, repeated headers; averages and
// restarts are not readings.
[[nodiscard]] Result<Readings> parse_sar(std::string_view text, const std::string& file);

struct SmiLayout {
  std::optional<int> gpus;         // rows of one reading, if the file has neither index, uuid nor timestamp
  std::optional<double> interval;  // seconds between two readings, if the file has no timestamp
};
// nvidia-smi --query-gpu=... --format=csv -l N, with a header for each start, with or without units.
// not_found: the file does not state which row is which GPU, and the layout does not either.
[[nodiscard]] Result<Readings> parse_smi_csv(std::string_view text, const std::string& file,
                                             const SmiLayout& layout);
// Rows with numbers, for a layout that follows from another file of the same run.
[[nodiscard]] std::size_t smi_rows(std::string_view text);

// A sheet with a header line, cells separated by commas, or by semicolons if the header has no comma: columns
// of sar, gpuN and memN (utilisation and memory-controller busy time, as percent or as fractions), and any
// other column under its own name.
[[nodiscard]] Result<Readings> parse_csv_sheet(std::string_view text, const std::string& file);

// Output of a program of nccl-tests.
[[nodiscard]] Result<Readings> parse_nccl_tests(std::string_view text, const std::string& file);

// Log of the node health checks of Azure: bandwidths with their thresholds.
[[nodiscard]] Result<Readings> parse_node_health_check(std::string_view text, const std::string& file);

// Totals of sysbench.
[[nodiscard]] Result<Readings> parse_sysbench(std::string_view text, const std::string& file);

// The reader of the format. A layout is for smi_csv.
[[nodiscard]] Result<Readings> parse_readings(TextFormat format, std::string_view text,
                                              const std::string& file, const SmiLayout& layout);

}  // namespace autopilot::workloads::compare
