// SPDX-License-Identifier: Apache-2.0
#include "cli/report_history.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "cli/history_file.hpp"
#include "cli/output/print.hpp"

namespace autopilot::cli {
namespace {

// A validation is compared with the last one before it.
constexpr auto kEarlierValidations = std::chrono::days(30);

Status read_query(const store::History& history, const store::HistoryQuery& query,
                  learning::ReportRecords& records) {
  Status added;
  TRY_STATUS(history.visit(query, [&](learning::HistoryRecord record) {
    added = learning::add_record(records, std::move(record));
    return added.has_value();
  }));
  if (!added)
    return fail(added.error().code, history.place() + ": " + added.error().what +
                                        "; choose a later --since, or name fewer files");
  return {};
}

Status read_history_file(const std::string& file, WallTime since, WallTime until,
                         learning::ReportRecords& records) {
  const auto history = TRY(open_history(file));
  TRY_STATUS(read_query(*history, {.types = {"fault", "repair", "versions"}, .until = until}, records));
  // What is known later about a fault counts.
  TRY_STATUS(read_query(*history, {.types = {"label"}}, records));
  TRY_STATUS(read_query(
      *history, {.types = {"validation"}, .since = since - kEarlierValidations, .until = until}, records));
  TRY_STATUS(read_query(*history, {.types = {"job"}, .since = since, .until = until}, records));
  if (const auto skipped = history->unreadable_rows(); skipped > 0)
    tell(history->place() + ": " + std::to_string(skipped) + " records are damaged and left out");
  return {};
}

}  // namespace

void add_histories_option(CLI::App& verb, std::vector<std::string>& files) {
  verb.add_option(
          "--history", files,
          "Files of history or postgresql://..., one or several (default: that of this machine's agent)")
      ->type_name("FILE");
}

Result<learning::ReportRecords> read_report_records(const std::vector<std::string>& files, WallTime since,
                                                    WallTime until) {
  learning::ReportRecords records;
  if (files.empty()) TRY_STATUS(read_history_file("", since, until, records));
  for (const std::string& file : files)
    TRY_STATUS(read_history_file(file, since, until, records));
  learning::join_records(records);
  return records;
}

}  // namespace autopilot::cli
