// SPDX-License-Identifier: Apache-2.0
#include "agent/history_makers.hpp"

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "agent/history_facts.hpp"

namespace autopilot::agent {
namespace {

using Records = store::HistoryWriter::Records;
using store::History;

// Runs of one job that can lie near the end of one of them.
constexpr std::size_t kMostRuns = 8;

Result<std::vector<learning::NodeJob>> runs_in(const History& history, const store::HistoryQuery& query) {
  std::vector<learning::NodeJob> runs;
  for (learning::HistoryRecord& record : TRY(history.records(query)))
    runs.push_back(std::get<learning::NodeJob>(std::move(record)));
  return runs;
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

}  // namespace autopilot::agent
