// SPDX-License-Identifier: Apache-2.0
#include "cli/learn_propose.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "catalog/catalog.hpp"
#include "checks/measured_limits.hpp"
#include "cli/cli.hpp"
#include "cli/learn_replay.hpp"
#include "cli/learn_signals.hpp"
#include "cli/learned_store.hpp"
#include "cli/moment.hpp"
#include "cli/output/learned_tables.hpp"
#include "cli/output/print.hpp"
#include "cli/report_history.hpp"
#include "host/clock/system_clock.hpp"
#include "learning/adoption/propose_all.hpp"
#include "learning/adoption/usable_records.hpp"
#include "learning/report/lemon_list.hpp"

namespace autopilot::cli {
namespace {

struct ProposeOptions {
  LearnFiles files;
  std::vector<std::string> signals;  // folders of job telemetry with labels
  std::string since = "30d";
  double budget = 10;
  bool is_dry = false;
  OutputFormat format = OutputFormat::table;
};

std::optional<learning::MetricLimit> limit_in_catalog(std::string_view check, std::string_view metric,
                                                      const learning::MachineKind& kind) {
  const catalog::Catalog& facts = catalog::builtin();
  const auto limit = checks::rate_limit(facts, check, metric, kind.gpu);
  if (!limit) return std::nullopt;
  const catalog::Threshold* threshold = facts.threshold(limit->threshold);
  if (threshold == nullptr) return std::nullopt;
  return learning::MetricLimit{std::string(limit->threshold), threshold->value, limit->whole,
                               limit->is_share};
}

// "learning::lemon_list" names a node "cluster/node", or "node" without a cluster; place_text has "/node"
// then.
std::set<std::string> probation_of(const learning::LemonList& list, WallTime now) {
  std::set<std::string> nodes;
  for (const learning::LemonRow& row : list.rows)
    if (row.probation_until && *row.probation_until > now) nodes.insert({row.node, "/" + row.node});
  return nodes;
}

WallTime newest_of(const learning::UsableMeasurements& usable, const learning::ReportRecords& records) {
  WallTime newest = usable.newest;
  for (const learning::Label& label : records.labels)
    newest = std::max(newest, label.time);
  for (const learning::Fault& fault : records.faults)
    newest = std::max(newest, fault.begin);
  return newest;
}

// A duration counts back from the newest record: the same records give the same proposals on any day. Returns
// how many are left out.
std::size_t keep_since(learning::LearnInput& input, const std::string& since) {
  const WallTime begin = parse_moment("--since", since, input.now, WallTime{}).value_or(WallTime{});
  return std::erase_if(input.measurements,
                       [begin](const learning::Measurement& one) { return one.time < begin; });
}

struct Learning {
  learning::LearnInput input;
  std::vector<std::string> notes;
  std::size_t too_old = 0;  // measurements that --since leaves out
  learning::SignalInput signals;
};

Result<Learning> read_learning(const ProposeOptions& options, const LearnFiles& files,
                               std::vector<learning::Version> versions, WallTime now) {
  TRY(parse_moment("--since", options.since, now, now));
  std::vector<learning::MeasurementFile> read;
  for (const std::string& file : files.histories) {
    auto measurements = TRY(read_measurements(file, {}));
    read.push_back({file, std::move(measurements)});
  }
  auto usable = learning::usable_measurements(std::move(read), now);
  auto records = files.histories.empty() ? learning::ReportRecords{}
                                         : TRY(read_report_records(files.histories, WallTime{}, now));
  Learning learned;
  learned.signals = TRY(read_signals(options.signals));
  add_findings(learned.signals, records);
  learned.signals.findings_budget = options.budget;
  learned.notes = std::move(usable.notes);
  learned.input.now = newest_of(usable, records);
  const learning::LemonList lemons = TRY(learning::lemon_list(records, learned.input.now));
  learned.input.probation = probation_of(lemons, learned.input.now);
  std::erase_if(records.faults, [](const learning::Fault& fault) { return !learning::is_own_fault(fault); });
  learned.input.measurements = std::move(usable.measurements);
  learned.input.faults = std::move(records.faults);
  learned.input.labels = std::move(records.labels);
  learned.input.jobs = std::move(records.jobs);
  learned.input.repairs = std::move(records.repairs);
  learned.input.versions = std::move(versions);
  learned.input.limit_of = limit_in_catalog;
  learned.input.findings_budget = options.budget;
  learned.too_old = keep_since(learned.input, options.since);
  return learned;
}

// Thresholds are replayed by their checks.
void add_replays(const learning::LearnInput& input, std::vector<learning::Version>& proposals) {
  for (learning::Version& version : proposals) {
    const auto* threshold = std::get_if<learning::LearnedThreshold>(&version.learned);
    if (threshold == nullptr) continue;
    version.proposal.replay = replay_threshold(
        *threshold, value_before(version, input.versions),
        {input.measurements, input.now - learning::kReplayed, input.now}, catalog::builtin());
  }
}

// What was only proposed for the same subject is replaced.
Status save_proposals(const agent::VersionStore& store, const std::vector<learning::Version>& proposals) {
  const host::Fd lock = TRY(lock_to_change(store));
  const auto stored = TRY(store.read());
  for (const learning::Version& proposal : proposals) {
    const bool is_known = std::ranges::any_of(stored.versions, [&](const learning::Version& one) {
      return one.proposal.id == proposal.proposal.id && one.state();
    });
    if (!is_known) TRY_STATUS(store.put(proposal));
    for (const learning::Version& old : stored.versions)
      if (!old.state() && old.proposal.id != proposal.proposal.id &&
          old.proposal.kind == proposal.proposal.kind && old.proposal.subject == proposal.proposal.subject)
        TRY_STATUS(store.remove_proposed(old));
  }
  return {};
}

// With the steps that the store has of them.
void add_steps(std::vector<learning::Version>& proposals, const std::vector<learning::Version>& versions) {
  for (learning::Version& proposal : proposals) {
    const auto known = std::ranges::find_if(
        versions, [&](const learning::Version& one) { return one.proposal.id == proposal.proposal.id; });
    if (known != versions.end()) proposal = *known;
  }
}

int propose(const ProposeOptions& options) {
  const WallTime now = host::SystemClock{}.now().wall;
  if (const auto since = parse_moment("--since", options.since, now, now); !since)
    return report_usage(since.error().what);
  auto files = resolved(options.files);
  if (!files) return report(files.error());
  // With folders alone, no history is read.
  if (!options.signals.empty() && options.files.histories.empty()) files->histories.clear();
  const agent::VersionStore store(files->store);
  auto versions = read_versions(store);
  if (!versions) return report(versions.error());
  auto learned = read_learning(options, *files, *versions, now);
  if (!learned) return report(learned.error());
  for (const std::string& note : learned->notes)
    tell(note);
  learning::LearnOutcome outcome = learning::propose_all(learned->input);
  add_replays(learned->input, outcome.proposals);
  learned->signals.versions = *versions;
  if (const Status added = add_signal_proposal(learned->signals, options.signals, outcome); !added)
    return report(added.error());
  bool is_saved = false;
  int status = kExitHealthy;
  if (!options.is_dry && !outcome.proposals.empty()) {
    const Status saved = save_proposals(store, outcome.proposals);
    is_saved = saved.has_value();
    if (!saved) {
      tell("the proposals are not saved, so they cannot be adopted");
      status = report(saved.error());
    }
  }
  add_steps(outcome.proposals, *versions);
  const ProposedView view{outcome,
                          *versions,
                          learned->notes,
                          learned->input.now,
                          now,
                          store_words(options.files, *files),
                          is_saved,
                          learned->input.measurements.size(),
                          learned->too_old,
                          !files->histories.empty()};
  if (options.format == OutputFormat::table)
    std::cout << render_proposals(view, terminal_style());
  else
    print_json(proposals_json(view), options.format);
  return status;
}

}  // namespace

void add_learn_propose(CLI::App& learn, int& exit_code) {
  auto options = std::make_shared<ProposeOptions>();
  auto* verb = learn.add_subcommand("propose",
                                    "Propose baselines, thresholds, roles of checks and weights of signals");
  add_learn_files(*verb, options->files);
  verb->add_option("--signals", options->signals,
                   "Folders of job telemetry with labels: weights of signals of findings about jobs;\n"
                   "without --history, only these are read")
      ->type_name("DIR");
  verb->add_option("--since", options->since,
                   "Only measurements since: 30d or 12h before the newest record, or a time (default: 30d)")
      ->type_name("WHEN");
  verb->add_option("--budget", options->budget,
                   "False findings of a threshold for each 1000 node-days (default: 10)")
      ->check(CLI::Range(0.01, 1000.0))
      ->type_name("N");
  verb->add_flag("--dry-run", options->is_dry, "Show the proposals and do not save them");
  add_format_option(*verb, options->format);
  verb->footer(
      "Reads histories and changes nothing that is in use. A proposal states what would\n"
      "change, on which records it is based, and what the checks would have found in\n"
      "the last 30 days. The same records give the same proposals with the same ids.\n"
      "Proposals are saved beside the history, for: autopilot learn adopt ID.\n\n"
      "Examples:\n"
      "  sudo autopilot learn propose\n"
      "  autopilot learn propose --history gpu-1.db gpu-2.db --since 90d\n"
      "  autopilot learn propose --signals recordings/* --store learned\n"
      "  autopilot learn propose --dry-run -o json | jq '.proposals[].sentence'");
  verb->callback([options, &exit_code] { exit_code = propose(*options); });
}

}  // namespace autopilot::cli
