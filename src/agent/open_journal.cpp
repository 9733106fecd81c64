// SPDX-License-Identifier: Apache-2.0
#include "agent/open_journal.hpp"

#include <chrono>
#include <future>
#include <thread>
#include <utility>

#include "agent/report_recall.hpp"
#include "runtime/operations.hpp"
#include "runtime/runtime.hpp"
#include "telemetry/log.hpp"

namespace autopilot::agent {
namespace {

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

// What is in the cluster for an agent that remembers nothing: it starts all the same.
struct Told {
  std::optional<NodeReport> report;
  bool is_unread = false;  // nobody knows whether there is one
};

Told told_in(const std::optional<kube::ClusterDoor>& cluster, const Machine& machine) {
  if (!cluster) return {};
  auto report = recall_report(*cluster, machine.node, machine.simulated, machine.host->clock);
  if (report) {
    log_taken_over(*report);
    return {std::move(*report)};
  }
  const Error& why = report.error();
  if (why.code == Errc::not_found) return {};
  log_warning("what an earlier agent reported to the cluster cannot be taken over", {{"cause", why.what}});
  return {std::nullopt, why.code != Errc::malformed && why.code != Errc::conflict};
}

// Ids of incidents that no earlier agent gave, whatever it told: each second has its own.
std::uint64_t unused_incident(const Machine& machine) {
  const auto since = machine.host->clock.now().wall.time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::floor<std::chrono::seconds>(since).count());
}

// In place of a journal: what the cluster was told, as facts for a journal that can be had later.
void remember_without_journal(OpenedJournal& opened, Told told, const Machine& machine) {
  opened.is_unwritten = true;
  auto& remembered = opened.remembered;
  if (told.is_unread) remembered.facts.values.emplace(kReportUnread, "true");
  if (!told.report) {
    remembered.state.next_incident = unused_incident(machine);
  } else {
    remembered.state = std::move(told.report->saved);
    remembered.facts.pass_records = std::move(told.report->pass_records);
    if (told.report->written)
      remembered.facts.values.emplace(kWrittenVerdict, incidents::to_text(*told.report->written));
  }
  opened.for_cluster = cluster_memory(remembered.facts);
}

// What the journal does not know yet because it is new.
store::Batch to_batch(const Told& told, const Machine& machine) {
  store::Batch batch;
  if (told.report) batch = to_batch(*told.report);
  if (told.is_unread) {
    batch.values.emplace_back(kReportUnread, "true");
    batch.values.emplace_back(runtime::kNextIncident, std::to_string(unused_incident(machine)));
  }
  return batch;
}

// Everything that this journal remembers.
Status read(const store::Journal& journal, const Machine& machine, OpenedJournal& opened) {
  opened.remembered = TRY(recall(journal, machine.boot_id, machine.checks));
  opened.for_cluster = cluster_memory(opened.remembered.facts);
  opened.operations = TRY(journal.operations(runtime::Operations::kKept));
  return {};
}

// A journal that has been read, and is not written yet.
struct ReadJournal {
  OpenedJournal opened;
  std::unique_ptr<store::Journal> journal;
};

ReadJournal open_and_read(const config::Config& config, const Machine& machine,
                          const std::optional<kube::ClusterDoor>& cluster) {
  OpenedJournal opened;
  auto journal = store::Journal::open(journal_path(config, machine), machine.host->clock.now().wall);
  if (!journal) {
    opened.problem = journal.error().what;
    remember_without_journal(opened, told_in(cluster, machine), machine);
    return {std::move(opened), nullptr};
  }
  opened.moved_aside = journal->moved_aside;
  const Told told = journal->is_new ? told_in(cluster, machine) : Told{};
  const auto batch = to_batch(told, machine);
  const bool is_kept = batch.empty() || journal->journal->commit(batch);
  if (const Status understood = read(*journal->journal, machine, opened); !understood) {
    opened = {.moved_aside = opened.moved_aside, .problem = understood.error().what};
    remember_without_journal(opened, told_in(cluster, machine), machine);
    return {std::move(opened), nullptr};
  }
  if (!is_kept) remember_without_journal(opened, told, machine);
  return {std::move(opened), std::move(journal->journal)};
}

}  // namespace

// A thread that hangs in the kernel cannot be ended: it keeps what it works with, and is left alone.
OpenedJournal open_journal(const config::Config& config, const Machine& machine,
                           const std::optional<kube::ClusterDoor>& cluster) {
  std::packaged_task<ReadJournal()> reading(
      [config, machine, cluster] { return open_and_read(config, machine, cluster); });
  auto answer = reading.get_future();
  std::thread(std::move(reading)).detach();
  if (answer.wait_for(kDiskPatience + kRecallDeadline) != std::future_status::ready) {
    OpenedJournal without;
    without.problem = journal_path(config, machine) + ": its disk does not answer";
    remember_without_journal(without, told_in(cluster, machine), machine);
    return without;
  }
  auto [opened, journal] = answer.get();
  if (journal)
    opened.writer = std::make_unique<store::JournalWriter>(store::make_journal_sink(std::move(journal)),
                                                           machine.host->clock, retention_of(config));
  return std::move(opened);
}

}  // namespace autopilot::agent
