// SPDX-License-Identifier: Apache-2.0
#include "cli/state_files.hpp"

#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/database_place.hpp"

namespace autopilot::cli {
namespace {

constexpr std::string_view kHistoryEnd = "-history.db";

// Empty: there is none.
std::string newest_simulated(const config::Config& settings, bool is_history) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::string newest;
  fs::file_time_type newest_time{};
  for (fs::directory_iterator at(settings.state_dir + "/simulated", error), end; !error && at != end;
       at.increment(error)) {
    const std::string path = at->path().string();
    if (!path.ends_with(".db") || path.ends_with(kHistoryEnd) != is_history) continue;
    std::error_code ignored;
    const auto time = at->last_write_time(ignored);
    if (!newest.empty() && time <= newest_time) continue;
    newest = path;
    newest_time = time;
  }
  return newest;
}

StateFile file_or_simulated(std::string path, const config::Config& settings, bool is_history) {
  std::error_code ignored;
  if (is_postgres(path) || std::filesystem::exists(path, ignored)) return {std::move(path)};
  std::string other = newest_simulated(settings, is_history);
  if (other.empty()) return {std::move(path)};
  std::string note = "reading " + other + ", of a simulated machine: " + path + " does not exist";
  return {std::move(other), std::move(note)};
}

}  // namespace

StateFile journal_to_read(const config::Config& settings) {
  return file_or_simulated(settings.journal_path(), settings, false);
}

StateFile history_to_read(const config::Config& settings) {
  return file_or_simulated(settings.history_path(), settings, true);
}

}  // namespace autopilot::cli
