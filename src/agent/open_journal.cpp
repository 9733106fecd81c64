// SPDX-License-Identifier: Apache-2.0
#include "agent/open_journal.hpp"

#include <utility>

#include "agent/report_recall.hpp"
#include "runtime/operations.hpp"
#include "telemetry/log.hpp"

namespace autopilot::agent {
namespace {

using telemetry::log_info;
using telemetry::log_warning;

store::Retention retention_of(const config::Config& config) {
  return {config.journal.age, config.journal.bytes};
}

// What happened to a machine that does not exist, or to a recorded one, is not remembered of this one: each
// of them has a journal of its own, by its name.
std::string journal_path(const config::Config& config, const Machine& machine) {
  if (!machine.simulated) return config.journal_path();
  std::string name = machine.node;
  for (char& c : name)
    if (c == '/' || c == '\0') c = '_';
  return config.state_dir + "/simulated/" + name + ".db";
}

// Nothing when there is none that this agent can go on with: it starts all the same.
std::optional<NodeReport> report_in(const std::optional<ClusterDoor>& cluster, const Machine& machine) {
  if (!cluster) return std::nullopt;
  auto report = recall_report(*cluster, machine.node, machine.simulated, machine.host->clock);
  if (report) {
    log_info("what an earlier agent reported to the cluster is taken over",
             {{"reported", format_time(report->observed_at)},
              {"incidents", std::to_string(report->saved.incidents.size())}});
    return std::move(*report);
  }
  if (report.error().code != Errc::not_found)
    log_warning("what an earlier agent reported to the cluster cannot be taken over",
                {{"cause", report.error().what}});
  return std::nullopt;
}

void remember_without_journal(OpenedJournal& opened, std::optional<NodeReport> report) {
  if (!report) return;
  opened.remembered.state = std::move(report->saved);
  opened.for_cluster = {std::move(report->written), std::move(report->pass_records)};
}

// Everything that this journal remembers.
Status read(const store::Journal& journal, const Machine& machine, OpenedJournal& opened) {
  opened.remembered = TRY(recall(journal, machine.boot_id, machine.checks));
  opened.for_cluster = TRY(recall_for_cluster(journal));
  opened.operations = TRY(journal.operations(runtime::Operations::kKept));
  return {};
}

}  // namespace

OpenedJournal open_journal(const config::Config& config, const Machine& machine,
                           const std::optional<ClusterDoor>& cluster) {
  OpenedJournal opened;
  auto journal = store::Journal::open(journal_path(config, machine), machine.host->clock.now().wall);
  if (!journal) {
    opened.problem = journal.error().what;
    remember_without_journal(opened, report_in(cluster, machine));
    return opened;
  }
  opened.moved_aside = journal->moved_aside;
  if (journal->is_new)
    if (const auto report = report_in(cluster, machine))
      if (const auto kept = journal->journal->commit(to_batch(*report)); !kept)
        log_warning("what an earlier agent reported cannot be kept", {{"cause", kept.error().what}});
  if (const Status understood = read(*journal->journal, machine, opened); !understood) {
    opened = {.moved_aside = opened.moved_aside, .problem = understood.error().what};
    return opened;
  }
  opened.writer = std::make_unique<store::JournalWriter>(
      store::make_journal_sink(std::move(journal->journal)), machine.host->clock, retention_of(config));
  return opened;
}

}  // namespace autopilot::agent
