// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/output/table.hpp"
#include "core/clock.hpp"
#include "learning/adoption/propose_all.hpp"
#include "learning/adoption/version.hpp"

namespace autopilot::cli {

// Value of the threshold without the version: that of the version in use for the same subject on all nodes,
// or the catalog's. The version is of a threshold that the catalog has.
[[nodiscard]] double value_before(const learning::Version& version,
                                  std::span<const learning::Version> versions);

// What `learn propose` found.
struct ProposedView {
  const learning::LearnOutcome& outcome;
  const std::vector<learning::Version>& versions;
  const std::vector<std::string>& notes;
  WallTime newest{};  // record
  WallTime now{};
  std::string store_words{};     // for commands that are shown
  bool is_saved = false;         // else a proposal without a step has no next command
  std::size_t measurements = 0;  // that are used
  std::size_t too_old = 0;       // measurements that --since leaves out
  bool is_history_read = true;   // else the folders of --signals alone
};
[[nodiscard]] std::string render_proposals(const ProposedView& view, const TableStyle& style);
[[nodiscard]] std::string proposals_json(const ProposedView& view);

// A version with what was seen since its last step.
struct VersionView {
  learning::Version version;
  std::optional<learning::ProposalReplay> evidence;  // nullopt: no history
};
struct VersionList {
  std::vector<VersionView> versions;
  std::string folder;
  std::string store_words;
  WallTime now{};
};
[[nodiscard]] std::string render_versions(const VersionList& list, const TableStyle& style);
[[nodiscard]] std::string versions_json(const VersionList& list);
// The same for one version, with all its steps.
[[nodiscard]] std::string render_version(const VersionView& view, const VersionList& of,
                                         const TableStyle& style);

// "in shadow until 2026-12-07 05:00 UTC", "in use on all nodes since ...".
[[nodiscard]] std::string state_words(const learning::Version& version);
// The command for the next step, and when it can be run.
[[nodiscard]] std::string next_words(const learning::Version& version, const std::string& store_words,
                                     WallTime now);

}  // namespace autopilot::cli
