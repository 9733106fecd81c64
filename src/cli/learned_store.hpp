// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/learned/version_store.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "learning/adoption/version.hpp"
#include "learning/records.hpp"

// The histories and the versions of `autopilot learn`.
namespace autopilot::cli {

struct LearnFiles {
  std::vector<std::string> histories;  // empty: that of this machine's agent
  std::string store;                   // empty: that of the first history
};

// --history FILE ..., --store DIR
void add_learn_files(CLI::App& verb, LearnFiles& files);
// The histories, and the folder of versions.
[[nodiscard]] Result<LearnFiles> resolved(const LearnFiles& files);
// " --store DIR", if the caller named a folder or a history: for commands that are shown. Else empty.
[[nodiscard]] std::string store_words(const LearnFiles& named, const LearnFiles& resolved_files);

// Locks the folder of versions, to change it. As root, becomes the user of that folder for good: what root
// makes, the agent could not read, and that user can make a link of any file in it.
[[nodiscard]] Result<host::Fd> lock_to_change(const agent::VersionStore& store);

// The versions of the folder. Reports the files that cannot be used on standard error.
[[nodiscard]] Result<std::vector<learning::Version>> read_versions(const agent::VersionStore& store);
// The version with that id, or with an id that begins with it. not_found, conflict: several.
[[nodiscard]] Result<learning::Version> find_version(const std::vector<learning::Version>& versions,
                                                     std::string_view id);

// All measurements of a history. exhausted: more than kMostMeasurements.
inline constexpr std::size_t kMostMeasurements = 2'000'000;
[[nodiscard]] Result<std::vector<learning::Measurement>> read_measurements(const std::string& file,
                                                                           std::optional<WallTime> since);

// The user who runs the command, for the record of an adoption; with sudo, the user that called it.
[[nodiscard]] std::string calling_user();

}  // namespace autopilot::cli
