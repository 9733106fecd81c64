// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <unistd.h>
#include <vector>

#include "api/history_records.hpp"
#include "api/json.hpp"
#include "cli/cli.hpp"
#include "cli/history_file.hpp"
#include "cli/output/history_tables.hpp"
#include "cli/output/print.hpp"
#include "cli/verbs.hpp"
#include "core/database_place.hpp"
#include "host/clock/system_clock.hpp"
#include "learning/record_check.hpp"

namespace autopilot::cli {
namespace {

// Records of one transaction of an import: an agent that writes the same file waits for less than a second.
constexpr std::size_t kImportedAtOnce = 1000;

std::string counted(std::uint64_t number, const std::string& noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

WallTime wall_now() {
  return host::SystemClock{}.now().wall;
}

struct ExportOptions {
  std::string history;
  std::string since;
  std::string node;
  std::vector<std::string> types;
  std::string format = "jsonl";
  std::string file;  // empty: standard output
};

Status write_records(const store::History& history, const store::HistoryQuery& query,
                     const ExportOptions& options, std::ostream& out) {
  const bool is_csv = options.format == "csv";
  if (is_csv) out << history_csv_titles();
  TRY_STATUS(history.visit(query, [&](const learning::HistoryRecord& record) {
    out << (is_csv ? to_csv(record) : api::to_history_line(record));
    return out.good();
  }));
  out.flush();
  if (!out.good())
    return fail(Errc::exhausted, (options.file.empty() ? "standard output" : options.file) +
                                     ": cannot be written; check that the disk has room");
  return {};
}

// Only another export, or a file that is empty, is replaced.
Status may_replace(const std::string& file) {
  std::ifstream old(file, std::ios::binary);
  std::string begin(16, '\0');
  old.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  if (!old && old.gcount() == 0) return {};
  if (begin[0] == '{' || begin.starts_with("type,id,")) return {};
  return fail(Errc::conflict, file + ": exists and is not an export; name a new file");
}

// Complete or not at all: the records are written beside the file and take its name at the end. Readable for
// the user only, as history is.
Status export_to_new_file(const store::History& history, const store::HistoryQuery& query,
                          const ExportOptions& options) {
  TRY_STATUS(may_replace(options.file));
  const std::string next = options.file + ".new-" + std::to_string(::getpid());
  const int created = ::open(next.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (created < 0) return fail_errno(errno, next);
  ::close(created);
  std::ofstream out(next, std::ios::binary | std::ios::trunc);
  Status written = out ? write_records(history, query, options, out) : fail_errno(errno, next);
  out.close();
  if (written && std::rename(next.c_str(), options.file.c_str()) != 0)
    written = fail_errno(errno, options.file);
  if (!written) ::unlink(next.c_str());
  return written;
}

Status export_to_file(const store::History& history, const store::HistoryQuery& query,
                      const ExportOptions& options) {
  std::error_code ignored;
  const auto status = std::filesystem::status(options.file, ignored);
  if (!std::filesystem::exists(status) || std::filesystem::is_regular_file(status))
    return export_to_new_file(history, query, options);
  // A pipe or a device.
  std::ofstream out(options.file, std::ios::binary);
  if (!out) return fail_errno(errno, options.file);
  return write_records(history, query, options, out);
}

int export_history(const ExportOptions& options) {
  const auto since = parse_since(options.since, wall_now());
  if (!since) return report_usage(since.error().what);
  const auto history = open_history(options.history);
  if (!history) return report(history.error());
  const store::HistoryQuery query{
      .types = options.types, .node = options.node, .since = *since, .is_oldest_first = true};
  const Status written = options.file.empty() ? write_records(**history, query, options, std::cout)
                                              : export_to_file(**history, query, options);
  if (!written) return report(written.error());
  if (const auto skipped = (*history)->unreadable_rows(); skipped > 0)
    tell(std::to_string(skipped) + " records are damaged and left out");
  return kExitHealthy;
}

void add_history_export(CLI::App& history, int& exit_code) {
  auto options = std::make_shared<ExportOptions>();
  auto* verb = history.add_subcommand("export", "Write records of history as lines");
  verb->add_option("FILE", options->file, "File to write (default: standard output)");
  verb->add_option("--since", options->since,
                   "Only records that ended later, or are not over: 30d, 12h or a time")
      ->type_name("WHEN");
  verb->add_option("--node", options->node, "Only records of this node");
  add_record_type_option(*verb, options->types);
  verb->add_option("-o,--output", options->format, "jsonl: one object a line; csv: common columns only")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"jsonl", "csv"}));
  add_history_option(*verb, options->history);
  verb->footer(
      "The lines are those of docs/reference/history.md, oldest first; import reads\n"
      "them. A running agent is not disturbed. Only the user that exports can read\n"
      "FILE; it replaces an earlier export when it is complete.\n\n"
      "Examples:\n"
      "  autopilot history export --since 30d faults.jsonl --type fault\n"
      "  autopilot history export -o csv > history.csv\n"
      "  autopilot history export | jq -c 'select(.class == \"hardware\")'");
  verb->callback([options, &exit_code] { exit_code = export_history(*options); });
}

struct ImportOptions {
  std::string history;
  std::string file;
  bool is_dry = false;
};

int report_malformed(const ImportOptions& options, const HistoryLines& lines) {
  for (const std::string& problem : lines.problems)
    tell(problem);
  tell(options.file + ": " + counted(lines.malformed, "malformed line") +
       "; nothing was imported. Correct the file (docs/reference/history.md) and import it again");
  return kExitConfiguration;
}

Status put_all(store::History& history, std::span<const learning::HistoryRecord> records) {
  for (std::size_t done = 0; done < records.size(); done += kImportedAtOnce) {
    const auto next = records.subspan(done, std::min(kImportedAtOnce, records.size() - done));
    if (Status put = history.put(next); !put)
      return fail(put.error().code, put.error().what + "; " + std::to_string(done) + " of " +
                                        std::to_string(records.size()) +
                                        " records were imported. Import the file again: a record that is "
                                        "there is replaced by itself");
  }
  return {};
}

// A record of the future would never be old enough to be deleted, and would hide what is new.
Status check_times(const ImportOptions& options, const HistoryLines& lines) {
  const WallTime latest = wall_now() + std::chrono::hours{24};
  for (const learning::HistoryRecord& record : lines.records)
    if (learning::begin_of(record) > latest)
      return fail(Errc::malformed,
                  options.file + ": " + std::string(learning::type_of(record)) + " '" +
                      learning::id_of(record) + "' begins in the future, at " +
                      api::format_exact_time(learning::begin_of(record)) +
                      "; nothing was imported. Correct its time, or the clock of this machine");
  return {};
}

int import_history(const ImportOptions& options) {
  const auto lines = read_history_lines(options.file);
  if (!lines) return report(lines.error());
  if (lines->malformed > 0) return report_malformed(options, *lines);
  if (const Status times = check_times(options, *lines); !times) return report(times.error());
  const std::string count = counted(lines->records.size(), "record");
  if (options.is_dry) {
    std::cout << count << " checked, none malformed; nothing was imported\n";
    return kExitHealthy;
  }
  const auto history = open_history_to_write(options.history, wall_now());
  if (!history) return report(history.error());
  if (const Status put = put_all(**history, lines->records); !put) return report(put.error());
  std::cout << count << " imported into " << printable((*history)->place()) << "\n";
  return kExitHealthy;
}

void add_history_import(CLI::App& history, int& exit_code) {
  auto options = std::make_shared<ImportOptions>();
  auto* verb = history.add_subcommand("import", "Add records of history from a file of lines");
  verb->add_option("FILE", options->file, "Lines as in docs/reference/history.md; -: standard input")
      ->required();
  verb->add_flag("--dry-run", options->is_dry, "Check the file and import nothing");
  add_history_option(*verb, options->history);
  verb->footer(
      "The whole file is checked before anything is imported. A record replaces the\n"
      "one of its type and id: importing twice changes nothing. Tickets become records\n"
      "of the types repair and label. A running agent goes on writing meanwhile.\n\n"
      "Examples:\n"
      "  autopilot history import --dry-run tickets.jsonl\n"
      "  sudo autopilot history import tickets.jsonl\n"
      "  autopilot history export |\n"
      "    autopilot history import --history postgresql:///fleet -");
  verb->callback([options, &exit_code] { exit_code = import_history(*options); });
}

struct StatusOfHistoryOptions {
  std::string history;
  OutputFormat format = OutputFormat::table;
};

std::string history_status_json(const std::string& place, const store::HistoryStatus& status) {
  api::JsonWriter json;
  json.begin_object();
  json.word(is_postgres(place) ? "database" : "file", place);
  json.count("bytes", status.bytes);
  if (status.oldest) json.time("oldest", *status.oldest);
  if (status.newest) json.time("newest", *status.newest);
  json.begin_object("records");
  for (const store::HistoryCount& count : status.records)
    json.count(count.key, count.count);
  json.end_object();
  json.end_object();
  return json.take();
}

int show_history_status(const StatusOfHistoryOptions& options) {
  const auto history = open_history(options.history);
  if (!history) return report(history.error());
  const auto status = (*history)->status();
  if (!status) return report(status.error());
  if (options.format == OutputFormat::table)
    std::cout << render_history_status((*history)->place(), *status, terminal_style());
  else
    print_json(history_status_json((*history)->place(), *status), options.format);
  return kExitHealthy;
}

void add_history_status(CLI::App& history, int& exit_code) {
  auto options = std::make_shared<StatusOfHistoryOptions>();
  auto* verb =
      history.add_subcommand("status", "Show the file or database of history, its size and what it holds");
  add_format_option(*verb, options->format);
  add_history_option(*verb, options->history);
  verb->footer(
      "Examples:\n  autopilot history status\n  autopilot history status -o json | jq .records.fault");
  verb->callback([options, &exit_code] { exit_code = show_history_status(*options); });
}

}  // namespace

void add_history(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand("history", "Export and import what is remembered of nodes");
  verb->require_subcommand(1);
  add_history_export(*verb, exit_code);
  add_history_import(*verb, exit_code);
  add_history_status(*verb, exit_code);
}

}  // namespace autopilot::cli
