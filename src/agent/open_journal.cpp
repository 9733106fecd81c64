// SPDX-License-Identifier: Apache-2.0
#include "agent/open_journal.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "diagnostics/operations/operations.hpp"
#include "logging/log.hpp"
#include "postflight/validator.hpp"
#include "report/report_recall.hpp"
#include "runtime/runtime.hpp"

namespace autopilot::agent {
namespace {

using logging::log_warning;

store::Retention retention_of(const config::Config& config) {
  return {config.journal.age, config.journal.bytes};
}

// What is in the cluster for an agent that remembers nothing: it starts all the same.
struct Told {
  std::optional<report::NodeReport> report;
  bool is_unread = false;  // not known whether a report exists
};

Told told_in(const std::optional<kube::ClusterDoor>& cluster, const Machine& machine) {
  if (!cluster) return {};
  auto report = report::recall_report(*cluster, machine.node, machine.simulated, machine.host->clock);
  if (report) {
    report::log_taken_over(*report);
    return {std::move(*report)};
  }
  const Error& why = report.error();
  if (why.code == Errc::not_found) return {};
  log_warning("what an earlier agent reported to the cluster cannot be taken over", {{"cause", why.what}});
  return {std::nullopt, why.code != Errc::malformed && why.code != Errc::conflict};
}

// Ids of incidents that no earlier agent gave, whatever it reported: each second has its own.
std::uint64_t unused_incident(const Machine& machine) {
  const auto since = machine.host->clock.now().wall.time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::floor<std::chrono::seconds>(since).count());
}

// What the journal does not know yet because it is new.
store::Batch to_batch(const Told& told, const Machine& machine) {
  store::Batch batch;
  if (told.report) batch = report::to_batch(*told.report);
  if (told.is_unread) {
    batch.values.emplace_back(report::kReportUnread, "true");
    batch.values.emplace_back(runtime::kNextIncident, std::to_string(unused_incident(machine)));
  }
  return batch;
}

// Above every id of an event that an earlier run may have given, unless the clock was set back meanwhile: no
// run reports more than kEventsEachMillisecond.
void leave_ids_out(runtime::Remembered& remembered, const Machine& machine) {
  constexpr std::uint64_t kEventsEachMillisecond = 512;
  const auto since = machine.host->clock.now().wall.time_since_epoch();
  const auto now = std::chrono::floor<std::chrono::milliseconds>(since).count();
  const auto first = static_cast<std::uint64_t>(std::max<std::int64_t>(now, 0)) * kEventsEachMillisecond;
  remembered.last_event_id = std::max(remembered.last_event_id, first);
}

void remember_told(OpenedJournal& opened, Told told, const Machine& machine) {
  auto& remembered = opened.remembered;
  if (told.is_unread) remembered.facts.values.emplace(report::kReportUnread, "true");
  if (!told.report) {
    remembered.state.next_incident = unused_incident(machine);
  } else {
    remembered.state = std::move(told.report->saved);
    remembered.facts.pass_records = std::move(told.report->pass_records);
    if (told.report->written)
      remembered.facts.values.emplace(report::kWrittenVerdict, incidents::to_text(*told.report->written));
  }
  opened.for_cluster = report::cluster_memory(remembered.facts);
}

// Everything that this journal remembers.
Status read(const store::Journal& journal, const Machine& machine, OpenedJournal& opened) {
  opened.remembered = TRY(report::recall(journal, machine.boot_id, machine.checks));
  if (auto unfinished = TRY(journal.value(postflight::kOpenValidations)))
    opened.remembered.facts.values.emplace(postflight::kOpenValidations, std::move(*unfinished));
  opened.for_cluster = report::cluster_memory(opened.remembered.facts);
  opened.operations = TRY(journal.operations(diagnostics::Operations::kKept));
  if (opened.remembered.lost.empty() && journal.unreadable_rows() > 0)
    opened.remembered.lost =
        journal.path() + ": " + std::to_string(journal.unreadable_rows()) + " rows cannot be read";
  return {};
}

// Of an incomplete journal: uses its state. The agent reads the last report from the cluster as soon as the
// cluster is reachable.
void remember_rest(OpenedJournal& opened, std::string lost, const Machine& machine, bool has_cluster) {
  auto& remembered = opened.remembered;
  remembered.lost = std::move(lost);
  remembered.state.next_incident = std::max(remembered.state.next_incident, unused_incident(machine));
  if (has_cluster) remembered.facts.values.insert_or_assign(std::string(report::kReportUnread), "true");
  opened.for_cluster = report::cluster_memory(remembered.facts);
  opened.for_cluster.is_incomplete = true;
  opened.is_unwritten = true;
  opened.is_read = true;
}

// Of an unreadable or missing journal: uses the last report in the cluster. lost: why the report may lack
// state; empty: there was no journal.
void remember_nothing(OpenedJournal& opened, std::string lost, const Machine& machine,
                      const std::optional<kube::ClusterDoor>& cluster) {
  opened.remembered = {};
  opened.is_unwritten = true;
  remember_told(opened, told_in(cluster, machine), machine);
  opened.for_cluster.is_incomplete = !lost.empty();
  opened.remembered.lost = std::move(lost);
}

void remember_without_journal(OpenedJournal& opened, const std::string& path, const Machine& machine,
                              const std::optional<kube::ClusterDoor>& cluster) {
  const auto salvaged = store::Journal::salvage(path);
  if (!salvaged && salvaged.error().code == Errc::not_found)
    return remember_nothing(opened, "", machine, cluster);
  if (!salvaged || !read(**salvaged, machine, opened))
    return remember_nothing(opened, opened.problem, machine, cluster);
  remember_rest(opened, opened.problem, machine, cluster.has_value());
}

// Into the new journal at once: if the agent dies now, the salvaged state remains.
store::Batch to_batch(const OpenedJournal& opened) {
  const runtime::Remembered& remembered = opened.remembered;
  store::Batch batch;
  batch.events = remembered.events;
  batch.incidents = remembered.state.incidents;
  batch.operations = opened.operations;
  batch.pass_records = remembered.facts.pass_records;
  auto& findings = batch.findings.emplace();
  for (const incidents::SavedFinding& saved : remembered.state.findings)
    findings.push_back({saved.check, saved.finding, saved.boot_id, saved.state});
  batch.values.assign(remembered.facts.values.begin(), remembered.facts.values.end());
  batch.values.emplace_back(runtime::kNextIncident, std::to_string(remembered.state.next_incident));
  batch.values.emplace_back(runtime::kMemoryLossFact, remembered.lost);
  return batch;
}

store::Batch that_it_is_lost(const std::string& lost) {
  store::Batch batch;
  batch.values.emplace_back(runtime::kMemoryLossFact, lost);
  return batch;
}

// A journal without entries, of which nothing was lost.
Status begin_new(store::Journal& journal, OpenedJournal& opened, const Machine& machine,
                 const std::optional<kube::ClusterDoor>& cluster) {
  Told told = told_in(cluster, machine);
  const auto batch = to_batch(told, machine);
  const bool is_kept = batch.empty() || journal.commit(batch);
  TRY_STATUS(read(journal, machine, opened));
  if (is_kept) return {};
  opened.is_unwritten = true;
  remember_told(opened, std::move(told), machine);
  return {};
}

Status remember(const store::Journal::Opened& found, OpenedJournal& opened, const Machine& machine,
                const std::optional<kube::ClusterDoor>& cluster) {
  const bool has_memory = found.salvaged || !found.is_new;
  if (!has_memory && found.lost.empty()) return begin_new(*found.journal, opened, machine, cluster);
  if (!has_memory) {
    remember_nothing(opened, found.lost, machine, cluster);
    static_cast<void>(found.journal->commit(to_batch(opened)));
    return {};
  }
  TRY_STATUS(read(found.salvaged ? *found.salvaged : *found.journal, machine, opened));
  const std::string lost = found.lost.empty() ? opened.remembered.lost : found.lost;
  if (lost.empty()) {
    opened.is_read = true;
    return {};
  }
  remember_rest(opened, lost, machine, cluster.has_value());
  // What cannot be kept now is written with everything else.
  static_cast<void>(found.journal->commit(found.salvaged ? to_batch(opened) : that_it_is_lost(lost)));
  return {};
}

ReadJournal open_and_read(const config::Config& config, const Machine& machine,
                          const std::optional<kube::ClusterDoor>& cluster) {
  OpenedJournal opened;
  const std::string path = journal_path(config, machine);
  auto journal = store::Journal::open(path, machine.host->clock.now().wall);
  if (!journal) {
    opened.problem = journal.error().what;
    remember_without_journal(opened, path, machine, cluster);
    leave_ids_out(opened.remembered, machine);
    return {std::move(opened), nullptr};
  }
  opened.moved_aside = journal->moved_aside;
  if (const Status understood = remember(*journal, opened, machine, cluster); !understood) {
    opened = {.moved_aside = opened.moved_aside, .problem = understood.error().what};
    remember_without_journal(opened, path, machine, cluster);
    leave_ids_out(opened.remembered, machine);
    return {std::move(opened), nullptr};
  }
  const auto& remembered = opened.remembered;
  if (!remembered.lost.empty() || remembered.facts.value(runtime::kRunIsOpen) == "true")
    leave_ids_out(opened.remembered, machine);
  return {std::move(opened), std::move(journal->journal)};
}

}  // namespace

// What happened to a machine that does not exist, or to a recorded one, is not remembered of this one.
std::string journal_path(const config::Config& config, const Machine& machine) {
  if (!machine.simulated) return config.journal_path();
  std::string name = machine.node;
  for (char& c : name)
    if (c == '/' || c == '\0') c = '_';
  return config.state_dir + "/simulated/" + name + ".db";
}

JournalOpening::JournalOpening(const config::Config& config, const Machine& machine,
                               const std::optional<kube::ClusterDoor>& cluster)
    : host_(machine.host), retention_(retention_of(config)) {
  std::packaged_task<ReadJournal()> reading(
      [config, machine, cluster] { return open_and_read(config, machine, cluster); });
  answer_ = reading.get_future();
  // A thread that hangs in the kernel cannot be ended: it keeps what it works with, and is left alone.
  std::thread(std::move(reading)).detach();
}

std::optional<OpenedJournal> JournalOpening::take(Duration patience) {
  if (answer_.wait_for(patience) != std::future_status::ready) return std::nullopt;
  ReadJournal read = answer_.get();
  if (read.journal)
    read.opened.writer = std::make_unique<store::JournalWriter>(
        store::make_journal_sink(std::move(read.journal)), host_->clock, retention_);
  return std::move(read.opened);
}

OpenedJournal open_journal(const config::Config& config, const Machine& machine,
                           const std::optional<kube::ClusterDoor>& cluster) {
  JournalOpening opening(config, machine, cluster);
  if (auto opened = opening.take(kDiskPatience + report::kRecallDeadline)) return std::move(*opened);
  OpenedJournal without;
  without.problem = journal_path(config, machine) + ": its disk does not answer";
  remember_nothing(without, without.problem, machine, cluster);
  leave_ids_out(without.remembered, machine);
  return without;
}

}  // namespace autopilot::agent
