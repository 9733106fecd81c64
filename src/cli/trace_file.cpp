// SPDX-License-Identifier: Apache-2.0
#include "cli/trace_file.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "api/fault_trace.hpp"
#include "cli/output/print.hpp"

namespace autopilot::cli {
namespace {

constexpr std::string_view kGzipBegin = "\x1f\x8b";

Result<std::string> read_trace_text(const std::string& path) {
  std::error_code ignored;
  const auto kind = std::filesystem::status(path, ignored).type();
  if (kind == std::filesystem::file_type::directory)
    return fail(Errc::malformed, path + " is a folder; name the file of the trace");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail_errno(errno == 0 ? ENOENT : errno, path);
  std::string text;
  constexpr std::size_t piece_bytes = 65'536;
  std::string piece(piece_bytes, '\0');
  while (!file.eof()) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    if (file.bad()) return fail_errno(EIO, path);
    text.append(piece, 0, static_cast<std::size_t>(file.gcount()));
    if (text.size() > api::kLargestTrace) break;
  }
  if (text.starts_with(kGzipBegin))
    return fail(Errc::malformed, path + " is compressed; unpack it first: gunzip");
  return text;
}

}  // namespace

Result<std::vector<learning::FaultEvent>> read_fault_trace(const std::string& path) {
  const std::string text = TRY(read_trace_text(path));
  auto events = api::parse_fault_trace(text);
  if (!events)
    return fail(events.error().code, path + ": " + events.error().what + "; docs/learning.md has the format");
  return events;
}

void tell_trace_problems(const std::string& path, const learning::TraceProblems& problems) {
  const std::array<std::pair<std::size_t, std::string_view>, 4> counts{{
      {problems.out_of_order, "entries earlier than the entry before (sorted by time)"},
      {problems.repeated_begins, "faults that begin again before their end (second begin left out)"},
      {problems.ends_without_begin, "ends without a begin before them (left out)"},
      {problems.unknown_levels, "faults of a level that is not known (used as class unknown)"},
  }};
  for (const std::string& example : problems.examples)
    tell(path + ": " + example);
  for (const auto& [count, what] : counts)
    if (count > 0) tell(path + ": " + std::string(what) + ": " + std::to_string(count));
}

}  // namespace autopilot::cli
