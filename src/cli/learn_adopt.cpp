// SPDX-License-Identifier: Apache-2.0
#include "cli/learn_adopt.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "catalog/catalog.hpp"
#include "cli/cli.hpp"
#include "cli/learn_replay.hpp"
#include "cli/learned_store.hpp"
#include "cli/output/learned_tables.hpp"
#include "cli/output/print.hpp"
#include "core/database_place.hpp"
#include "host/clock/system_clock.hpp"
#include "learning/adoption/usable_records.hpp"

namespace autopilot::cli {
namespace {

using learning::ProposalState;
using learning::Version;

WallTime learn_now() {
  return host::SystemClock{}.now().wall;
}

struct ShowOptions {
  LearnFiles files;
  std::string what;  // an id, "current", or empty: all
  OutputFormat format = OutputFormat::table;
};

bool is_tried_or_used(const Version& version) {
  const auto state = version.state();
  return state && *state != ProposalState::reverted;
}

// Measurements since the last step of any version that is tried or in use; nullopt: there are no such
// versions, or no history.
Result<std::optional<std::vector<learning::Measurement>>> measured_since(const std::vector<Version>& versions,
                                                                         const LearnFiles& files,
                                                                         WallTime now) {
  if (std::ranges::none_of(versions, is_tried_or_used)) return std::nullopt;
  WallTime since = now;
  for (const Version& version : versions)
    if (is_tried_or_used(version)) since = std::min(since, version.steps.back().time);
  std::vector<learning::MeasurementFile> read;
  for (const std::string& file : files.histories) {
    std::error_code ignored;
    if (!is_postgres(file) && !std::filesystem::exists(file, ignored)) return std::nullopt;
    auto measurements = read_measurements(file, since);
    // What is in use is shown, and can be reverted, while the server is down.
    if (!measurements && is_postgres(file) && measurements.error().code == Errc::unavailable) {
      tell("what the checks would have found is not shown: " + measurements.error().what);
      return std::nullopt;
    }
    if (!measurements) return fail(std::move(measurements.error()));
    read.push_back({file, std::move(*measurements)});
  }
  return learning::usable_measurements(std::move(read), now).measurements;
}

learning::ProposalReplay evidence_of(const Version& version, const std::vector<Version>& versions,
                                     const std::vector<learning::Measurement>& measurements, WallTime now) {
  const ReplayedRecords records{measurements, version.steps.back().time, now};
  if (const auto* threshold = std::get_if<learning::LearnedThreshold>(&version.learned))
    return replay_threshold(*threshold, value_before(version, versions), records, catalog::builtin());
  if (const auto* baseline = std::get_if<learning::Baseline>(&version.learned)) {
    const Version* used = learning::in_use(versions, version.proposal.kind, version.proposal.subject, "");
    const bool has_parent = used != nullptr && used->proposal.id != version.proposal.id;
    return replay_baseline(has_parent ? std::get_if<learning::Baseline>(&used->learned) : nullptr, *baseline,
                           records);
  }
  return {};
}

bool is_shown(const Version& version, const std::string& what) {
  if (what.empty()) return true;
  return version.state() == ProposalState::adopted || version.state() == ProposalState::canary;
}

// malformed: there are files, and none can be used.
Result<std::vector<Version>> read_readable(const agent::VersionStore& store) {
  auto versions = TRY(read_versions(store));
  if (versions.empty() && !TRY(store.read()).problems.empty())
    return fail(Errc::malformed, "none of the files in " + store.folder() + " can be used");
  return versions;
}

Result<VersionList> list_versions(const ShowOptions& options, const LearnFiles& files) {
  const WallTime now = learn_now();
  const auto versions = TRY(read_readable(agent::VersionStore(files.store)));
  const auto measured = TRY(measured_since(versions, files, now));
  const auto view_of = [&](const Version& version) {
    VersionView view{version, {}};
    if (measured && is_tried_or_used(version) && version.proposal.kind <= learning::ProposalKind::threshold)
      view.evidence = evidence_of(version, versions, *measured, now);
    return view;
  };
  VersionList list{{}, files.store, store_words(options.files, files), now};
  if (!options.what.empty() && options.what != "current") {
    list.versions.push_back(view_of(TRY(find_version(versions, options.what))));
    return list;
  }
  for (const Version& version : versions)
    if (is_shown(version, options.what)) list.versions.push_back(view_of(version));
  return list;
}

int show(const ShowOptions& options) {
  const auto files = resolved(options.files);
  if (!files) return report(files.error());
  const auto list = list_versions(options, *files);
  if (!list) return report(list.error());
  if (options.format != OutputFormat::table)
    print_json(versions_json(*list), options.format);
  else if (!options.what.empty() && options.what != "current")
    std::cout << render_version(list->versions.front(), *list, terminal_style());
  else
    std::cout << render_versions(*list, terminal_style());
  return kExitHealthy;
}

void add_learn_show(CLI::App& learn, int& exit_code) {
  auto options = std::make_shared<ShowOptions>();
  auto* verb = learn.add_subcommand("show", "Show what was proposed and what is in use");
  verb->add_option("WHAT", options->what, "An id or its beginning, or: current, for what is in use");
  add_learn_files(*verb, options->files);
  add_format_option(*verb, options->format);
  verb->footer(
      "Each entry has its state, its records, what the checks would have found with it,\n"
      "and the command for the next step.\n\n"
      "Examples:\n"
      "  autopilot learn show\n"
      "  autopilot learn show current -o json | jq '.versions[].sentence'");
  verb->callback([options, &exit_code] { exit_code = show(*options); });
}

struct ChangeOptions {
  LearnFiles files;
  std::string id;
  bool is_now = false;
  std::string reason;
  std::string author;
};

learning::AdoptionRequest request_of(const ChangeOptions& options) {
  return {.now = learn_now(),
          .author = options.author.empty() ? calling_user() : options.author,
          .note = options.reason,
          .is_now = options.is_now};
}

// The version with the latest step that can be reverted.
Result<Version> last_changed(const std::vector<Version>& versions) {
  const Version* last = nullptr;
  for (const Version& version : versions)
    if (is_tried_or_used(version) && (last == nullptr || last->steps.back().time < version.steps.back().time))
      last = &version;
  if (last == nullptr)
    return fail(Errc::not_found, "nothing is in use, in shadow or in a canary; there is nothing to revert");
  return *last;
}

template <class Change>
Status change_version(const ChangeOptions& options, const Change& change) {
  const LearnFiles files = TRY(resolved(options.files));
  const agent::VersionStore store(files.store);
  const learning::AdoptionRequest request = request_of(options);
  const host::Fd lock = TRY(lock_to_change(store));
  const auto versions = TRY(read_versions(store));
  Version version =
      options.id.empty() ? TRY(last_changed(versions)) : TRY(find_version(versions, options.id));
  TRY_STATUS(change(version, versions, request));
  TRY_STATUS(store.put(version));
  std::cout << version.proposal.id << " is " << state_words(version) << ".\n"
            << printable(version.proposal.sentence) << ".\n"
            << "Next: " << printable(next_words(version, store_words(options.files, files), learn_now()))
            << "\n";
  return {};
}

int adopt_version(const ChangeOptions& options) {
  const Status changed = change_version(options, [](Version& version, const std::vector<Version>& versions,
                                                    const learning::AdoptionRequest& request) {
    return learning::adopt(version, versions, request);
  });
  return changed ? kExitHealthy : report(changed.error());
}

int revert_version(const ChangeOptions& options) {
  const Status changed = change_version(
      options, [](Version& version, const std::vector<Version>& /*versions*/,
                  const learning::AdoptionRequest& request) { return learning::revert(version, request); });
  return changed ? kExitHealthy : report(changed.error());
}

void add_author_options(CLI::App& verb, ChangeOptions& options) {
  verb.add_option("--reason", options.reason, "Recorded with the step")->type_name("TEXT");
  verb.add_option("--by", options.author, "Name of the person who makes the change (default: the user)")
      ->type_name("NAME");
}

void add_learn_adopt(CLI::App& learn, int& exit_code) {
  auto options = std::make_shared<ChangeOptions>();
  auto* verb = learn.add_subcommand("adopt", "Take the next step: shadow, canary, all nodes");
  verb->add_option("ID", options->id, "Of a proposal, or its beginning")->required();
  verb->add_flag("--now", options->is_now, "Do not wait for the end of the shadow or canary; needs --reason");
  add_author_options(*verb, *options);
  add_learn_files(*verb, options->files);
  verb->footer(
      "A proposal is in shadow for 7 days, without effect; then in a canary, on 1 of 10\n"
      "nodes, for a day at least; then in use on all nodes. Each step is this command.\n"
      "With --now, a proposal begins in the canary.\n\n"
      "Examples:\n"
      "  sudo autopilot learn adopt 3f2a91\n"
      "  sudo autopilot learn adopt 3f2a91 --now --reason 'tried on the test cluster'");
  verb->callback([options, &exit_code] { exit_code = adopt_version(*options); });
}

void add_learn_revert(CLI::App& learn, int& exit_code) {
  auto options = std::make_shared<ChangeOptions>();
  auto* verb = learn.add_subcommand("revert", "End the use of a version at once");
  verb->add_option("ID", options->id, "Of the version, or its beginning (default: the one changed last)");
  add_author_options(*verb, *options);
  add_learn_files(*verb, options->files);
  verb->footer(
      "The version before, or the catalog, is in use again. A version can be adopted\n"
      "again later.\n\n"
      "Examples:\n"
      "  sudo autopilot learn revert\n"
      "  sudo autopilot learn revert 3f2a91 --reason 'too many findings'");
  verb->callback([options, &exit_code] { exit_code = revert_version(*options); });
}

}  // namespace

void add_learn_adoption(CLI::App& learn, int& exit_code) {
  add_learn_show(learn, exit_code);
  add_learn_adopt(learn, exit_code);
  add_learn_revert(learn, exit_code);
}

}  // namespace autopilot::cli
