// SPDX-License-Identifier: Apache-2.0
#include "cli/history_file.hpp"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string_view>
#include <system_error>
#include <utility>

#include "api/history_records.hpp"
#include "cli/moment.hpp"
#include "cli/output/print.hpp"
#include "cli/settings.hpp"
#include "cli/state_files.hpp"
#include "core/database_place.hpp"
#include "host/process/own_process.hpp"
#include "learning/record_check.hpp"

namespace autopilot::cli {
namespace {

constexpr std::string_view kGzip = "\x1f\x8b";

// libpq has no code for an error of a connection, only its text.
std::string connection_cure(std::string_view text) {
  if (text.find("FATAL: database \"") != std::string_view::npos && text.ends_with("\" does not exist"))
    return "; create the database, or correct its name";
  if (text.ends_with("server does not support SSL, but SSL was required"))
    return "; enable TLS on the server, or choose another sslmode";
  return {};
}

Error with_database_cure(Error error) {
  if (error.code == Errc::not_found)
    error.what +=
        "; no agent has written history there yet. Set history.path of the agent to this database, or import "
        "an export into it";
  if (const std::string cure = connection_cure(error.what); !cure.empty()) {
    error.what += cure;
    return error;
  }
  if (error.code == Errc::denied)
    error.what += "; grant the role what docs/reference/history.md lists, or give its password in PGPASSFILE";
  if (error.code == Errc::unavailable) error.what += "; check that the server runs, and try again";
  return error;
}

Error with_cure(Error error, const std::string& path) {
  if (is_postgres(path)) return with_database_cure(std::move(error));
  if (error.code == Errc::not_found)
    return {Errc::not_found, "no history at " + path +
                                 ": no agent has written one yet. Start the agent (history.enabled must be "
                                 "true), or name another file with --history"};
  if (error.code == Errc::denied)
    error.what += "; the file belongs to the user of the agent: use sudo, or run as that user";
  if (error.code == Errc::unavailable) error.what += "; try again";
  return error;
}

// After this process became the owner of the file.
Error denied_to_owner(Error error, const std::string& path) {
  error.what += "; it is opened as the user that owns " + path +
                ". Give that user this file and those beside it (-wal, -shm, .lock) with chown";
  return error;
}

bool is_empty_line(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

// Without the line end. False at the end of the file. A longer line is cut after the limit, which the parser
// refuses.
bool next_line(std::istream& in, std::string& line) {
  line.clear();
  for (int c = in.get(); c != std::istream::traits_type::eof(); c = in.get()) {
    if (c == '\n') return true;
    if (line.size() <= api::kLongestHistoryLine) line += static_cast<char>(c);
  }
  return !line.empty();
}

Result<HistoryLines> read_lines_of(std::istream& in, const std::string& path) {
  HistoryLines lines;
  std::string line;
  for (std::uint64_t number = 1; next_line(in, line); ++number) {
    if (number == 1 && line.starts_with(kGzip))
      return fail(Errc::malformed, path + " is compressed; unpack it first: gunzip " + path);
    if (is_empty_line(line)) continue;
    auto record = api::parse_history_line(line);
    if (record && lines.records.size() == HistoryLines::kMostRecords)
      return fail(Errc::exhausted, path + " has more than " + std::to_string(HistoryLines::kMostRecords) +
                                       " records; split it");
    if (record) {
      lines.records.push_back(std::move(*record));
    } else if (++lines.malformed <= HistoryLines::kMostProblems) {
      lines.problems.push_back(path + ":" + std::to_string(number) + ": " + record.error().what);
    }
  }
  if (in.bad()) return fail(Errc::unavailable, path + ": cannot be read any further");
  return lines;
}

}  // namespace

void add_history_option(CLI::App& verb, std::string& file) {
  verb.add_option("--history", file,
                  "File of history, or postgresql://... (default: that of this machine's agent)")
      ->type_name("FILE");
}

void add_record_type_option(CLI::App& verb, std::vector<std::string>& types) {
  verb.add_option("--type", types,
                  "Only this type; may be repeated: job, validation, measurement, fault, label, repair, "
                  "versions")
      ->type_name("TYPE")
      ->allow_extra_args(false)
      ->check(CLI::IsMember(
          std::vector<std::string>(learning::kRecordTypes.begin(), learning::kRecordTypes.end())));
}

Result<std::string> history_file(const std::string& file) {
  if (!file.empty()) return file;
  return TRY(load_settings("")).history_path();
}

Result<std::unique_ptr<store::History>> open_history(const std::string& file) {
  std::string path = file;
  if (file.empty()) {
    StateFile found = history_to_read(TRY(load_settings("")));
    if (!found.note.empty()) tell(found.note);
    path = std::move(found.path);
  }
  auto opened = store::History::open_read_only(path);
  if (!opened) return fail(with_cure(std::move(opened.error()), path));
  return opened;
}

Result<std::unique_ptr<store::History>> open_history_to_write(const std::string& file, WallTime now) {
  const std::string path = TRY(history_file(file));
  std::error_code ignored;
  if (file.empty() && !is_postgres(path) && !std::filesystem::exists(path, ignored))
    return fail(with_cure({Errc::not_found, path}, path));
  // What root creates, the agent could not open.
  const bool is_owner = !is_postgres(path) && TRY(host::become_owner_of(path));
  auto opened = store::History::open(path, now, store::History::IfUnusable::fail);
  // A folder that cannot be made is not a history that is missing.
  if (!opened && opened.error().code == Errc::not_found) return fail(std::move(opened.error()));
  if (!opened && opened.error().code == Errc::denied && is_owner)
    return fail(denied_to_owner(std::move(opened.error()), path));
  if (!opened) return fail(with_cure(std::move(opened.error()), path));
  return std::move(opened->history);
}

Result<std::optional<WallTime>> parse_since(const std::string& text, WallTime now) {
  if (text.empty()) return std::optional<WallTime>{};
  return std::optional<WallTime>{TRY(parse_moment("--since", text, now, now))};
}

Result<HistoryLines> read_history_lines(const std::string& path) {
  if (path == "-") return read_lines_of(std::cin, "standard input");
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return fail(Errc::malformed, path + " is a folder; name a file in it");
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail_errno(errno, path);
  return read_lines_of(in, path);
}

}  // namespace autopilot::cli
