// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "learning/records.hpp"
#include "store/history/history.hpp"

// The place of history on the command line, a file or a PostgreSQL database, and files of its lines.
namespace autopilot::cli {

// --history FILE
void add_history_option(CLI::App& verb, std::string& file);
// --type TYPE, which may be repeated
void add_record_type_option(CLI::App& verb, std::vector<std::string>& types);
// The file or connection string; if empty, that of this user's or machine's agent.
[[nodiscard]] Result<std::string> history_file(const std::string& file);
// Errors name the cure.
[[nodiscard]] Result<std::unique_ptr<store::History>> open_history(const std::string& file);
// For an import: a file that is named may be new; the agent's own must exist. As root, this process becomes
// the owner of the file for good (host::become_owner_of), so that the agent can open what it writes.
[[nodiscard]] Result<std::unique_ptr<store::History>> open_history_to_write(const std::string& file,
                                                                            WallTime now);

// As parse_moment; nullopt: empty.
[[nodiscard]] Result<std::optional<WallTime>> parse_since(const std::string& text, WallTime now);

// All records of a file of lines ("-": standard input), or the problem of each malformed line:
// "tickets.jsonl:12: begin: missing".
struct HistoryLines {
  static constexpr std::size_t kMostRecords = 2'000'000;
  static constexpr std::size_t kMostProblems = 20;  // kept; all are counted

  std::vector<learning::HistoryRecord> records;
  std::vector<std::string> problems;
  std::uint64_t malformed = 0;
};
// not_found, denied, malformed (a folder, or compressed), exhausted: more than kMostRecords.
[[nodiscard]] Result<HistoryLines> read_history_lines(const std::string& path);

}  // namespace autopilot::cli
