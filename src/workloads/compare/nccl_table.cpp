// SPDX-License-Identifier: Apache-2.0
#include "core/parse.hpp"
#include "workloads/compare/readers.hpp"

namespace autopilot::workloads::compare {
namespace {

// Size, count, type, [redop, root,] then time, algbw, busbw and #wrong: out of place, and in place.
constexpr std::size_t kFewestCells = 11;
constexpr std::size_t kCellsOfPlace = 4;

struct NcclRow {
  std::uint64_t bytes = 0;
  double busbw = 0;  // out of place
  double busbw_in_place = 0;
  int column = 0;  // of busbw
  bool is_wrong = false;
};

std::optional<NcclRow> nccl_row(std::string_view line) {
  const auto cells = split_words(line);
  if (cells.size() < kFewestCells) return std::nullopt;
  const auto bytes = parse_number<std::uint64_t>(cells[0]);
  if (!bytes || !parse_number<std::uint64_t>(cells[1])) return std::nullopt;
  const std::size_t out = cells.size() - 2 * kCellsOfPlace;
  const auto busbw = parse_decimal(cells[out + 2]);
  const auto in_place = parse_decimal(cells[out + kCellsOfPlace + 2]);
  if (!busbw || !in_place) return std::nullopt;
  const auto is_wrong_cell = [](std::string_view cell) { return cell != "0" && cell != "N/A"; };
  return NcclRow{*bytes, *busbw, *in_place, static_cast<int>(out + 3),
                 is_wrong_cell(cells[out + 3]) || is_wrong_cell(cells.back())};
}

Measure measure_of(const NcclRow& row, bool is_in_place, const std::string& file, int line) {
  return {is_in_place ? "nccl.busbw_in_place" : "nccl.busbw",
          std::to_string(row.bytes) + " B",
          "GB/s",
          is_in_place ? row.busbw_in_place : row.busbw,
          std::nullopt,
          {file, line, line, row.column + (is_in_place ? static_cast<int>(kCellsOfPlace) : 0), "busbw"},
          row.is_wrong};
}

// "# Out of bounds values : 4 FAILED"
bool states_wrong_results(std::string_view line) {
  return line.starts_with('#') && line.find("Out of bounds values") != std::string_view::npos &&
         line.find("FAILED") != std::string_view::npos;
}

}  // namespace

Result<Readings> parse_nccl_tests(std::string_view text, const std::string& file) {
  Readings found;
  std::size_t wrong = 0;
  bool has_failed = false;
  TextLines lines(text);
  for (std::string_view line; lines.next(line);) {
    if (line.find("Avg bus bandwidth") != std::string_view::npos) {
      const auto average = parse_decimal(trim(line.substr(line.find(':') + 1)));
      if (average && line.find(':') != std::string_view::npos)
        found.measures.push_back({"nccl.average_busbw",
                                  {},
                                  "GB/s",
                                  *average,
                                  std::nullopt,
                                  {file, lines.number(), 0, 0, "Avg bus bandwidth"},
                                  false});
      continue;
    }
    has_failed = has_failed || states_wrong_results(line);
    const auto row = line.starts_with('#') ? std::nullopt : nccl_row(line);
    if (!row) continue;
    if (found.measures.size() > kMaxColumns * 2)
      return fail(Errc::exhausted, file + ": more than " + std::to_string(kMaxColumns) + " sizes");
    wrong += row->is_wrong ? 1 : 0;
    found.measures.push_back(measure_of(*row, false, file, lines.number()));
    found.measures.push_back(measure_of(*row, true, file, lines.number()));
  }
  if (found.measures.empty())
    return fail(Errc::malformed, file + ": no row of nccl-tests; the program ended before its first size");
  // With wrong results the average does not show the bandwidth of a collective.
  for (Measure& measure : found.measures)
    if (measure.metric == "nccl.average_busbw") measure.is_wrong = wrong > 0 || has_failed;
  if (wrong > 0)
    found.notes.push_back(
        file + ": " + std::to_string(wrong) +
        " sizes have wrong results; do not use their bandwidth, and test the GPUs: autopilot test gpu.nccl");
  return found;
}

}  // namespace autopilot::workloads::compare
