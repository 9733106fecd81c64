// SPDX-License-Identifier: Apache-2.0
#include "agent/history_makers.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "store/journal.hpp"

namespace autopilot::agent {
namespace {

using Records = store::HistoryWriter::Records;
using store::History;

// Runs of one job that can lie near the end of one of them.
constexpr std::size_t kMostRuns = 8;

// Incidents of the journal that are taken over, the newest.
constexpr std::size_t kMostTakenOver = 1000;

using StoredFaults = std::map<std::string, learning::Fault, std::less<>>;

// The records of those faults that history has.
Result<StoredFaults> stored_of(const History& history, const std::vector<SeenFault>& faults) {
  StoredFaults stored;
  for (const SeenFault& seen : faults)
    for (learning::HistoryRecord& record :
         TRY(history.records({.types = {"fault"}, .id = seen.fault.id, .limit = 1})))
      stored.emplace(seen.fault.id, std::get<learning::Fault>(std::move(record)));
  return stored;
}

Result<Records> join_faults(const History& history, const std::vector<SeenFault>& faults) {
  const StoredFaults stored = TRY(stored_of(history, faults));
  Records records;
  for (const SeenFault& seen : faults) {
    const auto found = stored.find(seen.fault.id);
    auto fault = joined(found == stored.end() ? std::nullopt : std::optional(found->second), seen);
    if (fault) records.emplace_back(*std::move(fault));
  }
  return records;
}

Result<std::vector<learning::NodeJob>> runs_in(const History& history, const store::HistoryQuery& query) {
  std::vector<learning::NodeJob> runs;
  for (learning::HistoryRecord& record : TRY(history.records(query)))
    runs.push_back(std::get<learning::NodeJob>(std::move(record)));
  return runs;
}

Status end_jobs(const History& history, const SeenInRun& seen, Records& records) {
  const store::HistoryQuery query{.types = {"job"}, .node = seen.node, .since = seen.begin};
  return history.visit(query, [&](learning::HistoryRecord record) {
    auto& job = std::get<learning::NodeJob>(record);
    if (job.end || job.start >= seen.begin || seen.jobs.contains(job.job)) return true;
    job.end = seen.begin;
    records.push_back(std::move(record));
    return true;
  });
}

// Only what an agent of this node wrote: history can have imported records of other nodes, whose agents run.
Status end_findings(const History& history, const SeenInRun& seen, Records& records) {
  std::vector<learning::Fault> open;
  TRY_STATUS(history.visit({.types = {"fault"}, .since = seen.begin}, [&](learning::HistoryRecord record) {
    auto& fault = std::get<learning::Fault>(record);
    const bool is_left = !fault.end && fault.begin < seen.begin && !seen.faults.contains(fault.id);
    if (is_left && is_of_finding(fault)) open.push_back(std::move(fault));
    return true;
  }));
  for (learning::Fault& fault : open) {
    const auto runs = TRY(runs_in(history, {.types = {"job"},
                                            .node = seen.node,
                                            .job = fault.job,
                                            .since = fault.begin,
                                            .is_oldest_first = true,
                                            .limit = 1}));
    if (runs.empty() && fault.place.node != seen.node) continue;
    const auto end = runs.empty() ? std::nullopt : runs.front().end;
    // The agent that reports it can be another one, and running.
    if (!end && seen.is_history_shared) continue;
    fault.end = std::max(fault.begin, std::min(seen.begin, end.value_or(seen.begin)));
    records.emplace_back(std::move(fault));
  }
  return {};
}

}  // namespace

store::HistoryWriter::Make continue_job(learning::NodeJob job) {
  return [job = std::move(job)](const History& history) -> Result<Records> {
    const auto found =
        TRY(runs_in(history, {.types = {"job"}, .node = job.place.node, .job = job.job, .limit = 1}));
    std::optional<learning::NodeJob> stored;
    if (!found.empty()) stored = found.front();
    Records records;
    if (auto next = continued(std::move(stored), job)) records.emplace_back(*std::move(next));
    return records;
  };
}

store::HistoryWriter::Make explain_job(learning::NodeJob ended) {
  return [ended = std::move(ended)](const History& history) -> Result<Records> {
    store::HistoryQuery query{.types = {"job"}, .node = ended.place.node, .job = ended.job};
    query.since = ended.start - kStartTolerance;
    query.limit = kMostRuns;
    if (ended.end) query.until = *ended.end + Duration{1};
    const auto runs = TRY(runs_in(history, query));
    return Records{explained(run_of(runs, ended), ended)};
  };
}

store::HistoryWriter::Make note_faults(std::vector<SeenFault> faults) {
  return [faults = std::move(faults)](const History& history) { return join_faults(history, faults); };
}

store::HistoryWriter::Make take_over_incidents(std::string journal, std::string node, bool is_simulated) {
  return [journal = std::move(journal), node = std::move(node),
          is_simulated](const History& history) -> Result<Records> {
    const auto opened = store::Journal::open_read_only(journal);
    if (!opened) return Records{};
    std::vector<SeenFault> faults;
    for (const Incident& incident : TRY((*opened)->incidents(true, kMostTakenOver)))
      if (is_simulated || !incident.injected) faults.push_back(fault_of(incident, node, {}));
    return join_faults(history, faults);
  };
}

store::HistoryWriter::Make end_absent(SeenInRun seen) {
  return [seen = std::move(seen)](const History& history) -> Result<Records> {
    Records records;
    TRY_STATUS(end_jobs(history, seen, records));
    if (seen.are_faults_complete) TRY_STATUS(end_findings(history, seen, records));
    return records;
  };
}

}  // namespace autopilot::agent
