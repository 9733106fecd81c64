// SPDX-License-Identifier: Apache-2.0
#include "controller/history/cluster_history.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

#include "controller/history/lemons.hpp"
#include "logging/log.hpp"

namespace autopilot::controller {
namespace {

using learning::HistoryRecord;
using Records = store::HistoryWriter::Records;
using Faults = std::map<std::string, learning::Fault, std::less<>>;

constexpr Duration kHistoryStop = std::chrono::seconds{1};
constexpr std::size_t kMostEndedJobs = 4096;

// Faults that are not over, of incidents of nodes.
Result<Faults> open_faults_in(const store::History& history, WallTime now) {
  Faults open;
  TRY_STATUS(history.visit({.types = {"fault"}, .since = now}, [&](HistoryRecord record) {
    auto& fault = std::get<learning::Fault>(record);
    const bool is_own = fault.check == fault.cause;  // not imported from an agent
    if (!fault.end && is_own && !learning::is_of_job(fault)) open.emplace(fault.id, std::move(fault));
    return open.size() < ClusterHistory::kMostKnown;
  }));
  return open;
}

template <class Map>
void bound(Map& map, std::size_t most) {
  if (map.size() > most) map.clear();
}

}  // namespace

// What the thread of the writer hands over.
struct ClusterHistory::Shared {
  std::mutex mutex;
  std::optional<Faults> stored;       // open faults of the file
  std::optional<LemonSearch> lemons;  // of the last search
};

ClusterHistory::ClusterHistory(std::shared_ptr<const Clock> clock, const ClusterHistoryOptions& options)
    : clock_(std::move(clock)),
      shared_(std::make_shared<Shared>()),
      writer_(options.path, clock_, options.retention, {.waiting = kMostItems}) {}

ClusterHistory::~ClusterHistory() {
  if (const Status stopped = writer_.stop(kHistoryStop); !stopped)
    logging::log_warning("history did not take the last records in time", {{"cause", stopped.error().what}});
}

void ClusterHistory::lead() {
  jobs_ = {};
  ended_jobs_.clear();
  findings_.clear();
  open_.reset();
  returns_until_ = {};
  returns_.clear();
  learned_.reset();
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stored.reset();
    shared_->lemons.reset();
  }
  read_open_faults();
}

void ClusterHistory::read_open_faults() {
  const auto token = std::make_shared<bool>();
  reading_ = token;
  writer_.put(
      [shared = shared_, token, now = clock_->now().wall](const store::History& history) -> Result<Records> {
        auto stored = TRY(open_faults_in(history, now));
        const std::lock_guard lock(shared->mutex);
        shared->stored = std::move(stored);
        return Records{};
      });
}

// One item of the writer for many records: what waits is bounded by items.
void ClusterHistory::put(std::vector<HistoryRecord> records) {
  for (auto at = records.begin(); at != records.end();) {
    const auto end =
        at + std::min(static_cast<std::ptrdiff_t>(kRecordsAtOnce), std::distance(at, records.end()));
    writer_.put([part = Records(std::make_move_iterator(at), std::make_move_iterator(end))](
                    const store::History&) -> Result<Records> { return part; });
    at = end;
  }
}

void ClusterHistory::note_findings(const jobs::JobReport& report, std::vector<HistoryRecord>& records) {
  bound(findings_, kMostKnown);
  for (learning::Fault& fault : faults_of(report)) {
    const auto known = findings_.find(fault.id);
    if (known != findings_.end() && known->second == fault.end) continue;
    findings_.insert_or_assign(fault.id, fault.end);
    records.emplace_back(std::move(fault));
  }
}

void ClusterHistory::note(const job_hub::HubResults& results) {
  std::vector<HistoryRecord> records;
  const WallTime now = clock_->now().wall;
  bound(ended_jobs_, kMostEndedJobs);
  for (const jobs::JobReport& report : results.changed) {
    jobs_.note(report, now);
    note_findings(report, records);
    if (!report.ended) continue;
    const auto known = ended_jobs_.find(report.state.job);
    if (known != ended_jobs_.end() && known->second == *report.ended) continue;
    ended_jobs_.insert_or_assign(report.state.job, *report.ended);
    std::ranges::move(node_jobs_of(report), std::back_inserter(records));
  }
  for (const jobs::ValidationRecord& validation : results.validations)
    records.emplace_back(validation_of(validation));
  put(std::move(records));
}

void ClusterHistory::take_stored() {
  if (open_) return;
  const std::lock_guard lock(shared_->mutex);
  if (shared_->stored) open_ = std::exchange(shared_->stored, std::nullopt);
}

void ClusterHistory::note_causes(const World& world, std::vector<HistoryRecord>& records) {
  for (const std::string& name : world.of_concern()) {
    const Node* node = world.node(name);
    if (node == nullptr) continue;
    for (const OpenCause& cause : node->causes) {
      auto fault = fault_of(*node, cause, jobs_);
      if (!fault || open_->contains(fault->id) || open_->size() >= kMostKnown) continue;
      fault->detected = std::max(fault->begin, clock_->now().wall);
      records.emplace_back(*fault);
      open_->emplace(fault->id, *std::move(fault));
      has_new_fault_ = true;
    }
  }
}

void ClusterHistory::end_faults(const World& world, WallTime now, std::vector<HistoryRecord>& records) {
  std::erase_if(*open_, [&](const auto& each) {
    const Node* node = world.node(each.second.place.node);
    if (node != nullptr && !is_over(each.second, *node)) return false;
    learning::Fault ended = each.second;
    ended.end = std::max(ended.begin, now);
    records.emplace_back(std::move(ended));
    return true;
  });
}

void ClusterHistory::note_returns(const World& world, std::vector<HistoryRecord>& records) {
  bound(returns_, kMostKnown);
  const auto& plans = world.plans_by_change();
  for (auto at = plans.lower_bound({returns_until_, std::string()}); at != plans.end(); ++at) {
    returns_until_ = at->first;
    const LedgerEntry* entry = world.entry(at->second);
    if (entry == nullptr) continue;
    auto repair = repair_of(*entry);
    if (!repair) continue;
    const auto known = returns_.find(entry->name);
    if (known != returns_.end() && known->second == *entry->returned) continue;
    returns_.insert_or_assign(entry->name, *entry->returned);
    records.emplace_back(*std::move(repair));
  }
}

void ClusterHistory::learn_when_due(const World& world, Instant now) {
  const Duration since = learned_ ? now.mono - *learned_ : kLearn;
  if (since < (has_new_fault_ ? 2 * kLook : kLearn)) return;
  learned_ = now.mono;
  has_new_fault_ = false;
  std::vector<std::string> nodes;
  for (const auto& [name, node] : world.nodes())
    if (node.gpus > 0) nodes.push_back(name);
  writer_.put(
      [shared = shared_, nodes = std::move(nodes), now](const store::History& history) -> Result<Records> {
        auto search = TRY(find_lemons(history, nodes, now.wall));
        const std::lock_guard lock(shared->mutex);
        shared->lemons = std::move(search);
        return Records{};
      });
}

void ClusterHistory::look(const World& world) {
  log_problem();
  take_stored();
  if (!open_ && reading_.expired()) read_open_faults();
  if (!open_ || !world.is_complete) return;
  const Instant now = clock_->now();
  std::vector<HistoryRecord> records;
  note_causes(world, records);
  end_faults(world, now.wall, records);
  note_returns(world, records);
  put(std::move(records));
  learn_when_due(world, now);
}

std::optional<LemonSearch> ClusterHistory::take_lemons() {
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->lemons, std::nullopt);
}

void ClusterHistory::log_problem() {
  const store::HistoryWriterStatus status = writer_.status();
  const bool is_new = problem_.empty() != status.problem.empty();
  problem_ = status.problem;
  if (!is_new) return;
  if (problem_.empty())
    logging::log_info("history is written again", {{"dropped", std::to_string(status.dropped)}});
  else
    logging::log_warning("history cannot be written; records wait", {{"cause", problem_}});
}

void ClusterHistory::add_metrics(logging::MetricsText& metrics) const {
  using logging::MetricType;
  const store::HistoryWriterStatus status = writer_.status();
  const auto family = [&](std::string_view name, MetricType type, std::string_view help, double value) {
    metrics.family(name, type, help);
    metrics.sample(value);
  };
  family("autopilot_controller_history_written_total", MetricType::counter,
         "Records of history that were written.", static_cast<double>(status.written));
  family("autopilot_controller_history_dropped_total", MetricType::counter,
         "Records of history, or groups of them, that were never written.",
         static_cast<double>(status.dropped));
  family("autopilot_controller_history_bytes", MetricType::gauge, "Size of the file of history and its log.",
         static_cast<double>(status.bytes));
  family("autopilot_controller_history_problem", MetricType::gauge, "1 while history cannot be written.",
         status.problem.empty() ? 0 : 1);
}

}  // namespace autopilot::controller
