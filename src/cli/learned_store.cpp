// SPDX-License-Identifier: Apache-2.0
#include "cli/learned_store.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <unistd.h>
#include <utility>
#include <variant>

#include "cli/history_file.hpp"
#include "cli/output/print.hpp"
#include "cli/report_history.hpp"
#include "cli/settings.hpp"

namespace autopilot::cli {
namespace {

Error with_store_cure(Error error) {
  if (error.code == Errc::denied)
    error.what += "; the folder belongs to the user of the agent: use sudo, or name another with --store";
  return error;
}

}  // namespace

void add_learn_files(CLI::App& verb, LearnFiles& files) {
  add_histories_option(verb, files.histories);
  verb.add_option("--store", files.store, "Folder of what was learned (default: learned, beside the history)")
      ->type_name("DIR");
}

Result<LearnFiles> resolved(const LearnFiles& files) {
  LearnFiles all = files;
  if (all.histories.empty()) all.histories.push_back(TRY(history_file("")));
  if (all.store.empty()) all.store = agent::VersionStore::folder_beside(all.histories.front());
  return all;
}

std::string store_words(const LearnFiles& files) {
  if (!files.store.empty()) return " --store " + files.store;
  if (files.histories.empty()) return {};
  return " --store " + agent::VersionStore::folder_beside(files.histories.front());
}

Result<std::vector<learning::Version>> read_versions(const agent::VersionStore& store) {
  auto stored = store.read();
  if (!stored) return fail(with_store_cure(std::move(stored.error())));
  for (const std::string& problem : stored->problems)
    tell(problem);
  return std::move(stored->versions);
}

Result<learning::Version> find_version(const std::vector<learning::Version>& versions, std::string_view id) {
  std::vector<const learning::Version*> found;
  for (const learning::Version& version : versions)
    if (!id.empty() && version.proposal.id.starts_with(id)) found.push_back(&version);
  if (found.size() == 1) return *found.front();
  if (found.empty())
    return fail(Errc::not_found, "no proposal or version has the id " + std::string(id) +
                                     "; list them with: autopilot learn show");
  return fail(Errc::conflict,
              std::to_string(found.size()) + " ids begin with " + std::string(id) + "; write more of it");
}

Result<std::vector<learning::Measurement>> read_measurements(const std::string& file,
                                                             std::optional<WallTime> since) {
  const auto history = TRY(open_history(file));
  std::vector<learning::Measurement> measurements;
  bool is_full = false;
  TRY_STATUS(history->visit({.types = {"measurement"}, .since = since}, [&](learning::HistoryRecord record) {
    is_full = measurements.size() >= kMostMeasurements;
    if (!is_full) measurements.push_back(std::move(std::get<learning::Measurement>(record)));
    return !is_full;
  }));
  if (is_full)
    return fail(Errc::exhausted, history->place() + ": more than " + std::to_string(kMostMeasurements) +
                                     " measurements; choose a later --since");
  if (const auto skipped = history->unreadable_rows(); skipped > 0)
    tell(history->place() + ": " + std::to_string(skipped) + " records are damaged and left out");
  return measurements;
}

std::string calling_user() {
  const auto variables = environment();
  for (const char* name : {"SUDO_USER", "USER"})
    if (std::string user = variable(variables, name); !user.empty()) return user;
  return "user " + std::to_string(::geteuid());
}

}  // namespace autopilot::cli
