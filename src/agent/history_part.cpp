// SPDX-License-Identifier: Apache-2.0
#include "agent/history_part.hpp"

#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <variant>

#include "agent/history_facts.hpp"
#include "agent/history_makers.hpp"
#include "core/database_place.hpp"
#include "host/boot/kernel_release.hpp"
#include "logging/build_info.hpp"
#include "logging/log.hpp"
#include "logging/metrics_text.hpp"
#include "store/history/history_writer.hpp"

namespace autopilot::agent {
namespace {

using Records = store::HistoryWriter::Records;
using store::History;

constexpr Duration kLookAtHistory = std::chrono::seconds{5};
// Jobs that this run saw; beyond, what is absent is not ended.
constexpr std::size_t kMostSeenJobs = 65536;
// Reports whose state is remembered, so that what did not change is not written again.
constexpr std::size_t kMostKnownFindings = 4096;

// A record only if something differs from the newest one.
store::HistoryWriter::Make changed_versions(learning::Versions now, std::shared_ptr<const host::Host> host) {
  return [now = std::move(now), host = std::move(host)](const History& history) -> Result<Records> {
    learning::Versions next = now;
    next.kernel = host::read_kernel_release(host->files).value_or("");
    const auto found = TRY(history.records({.types = {"versions"}, .node = next.place.node, .limit = 1}));
    if (!found.empty()) {
      const auto& last = std::get<learning::Versions>(found.front());
      if (last.driver == next.driver && last.kernel == next.kernel && last.agent == next.agent)
        return Records{};
    }
    return Records{next};
  };
}

}  // namespace

struct HistoryPart::Shared {
  const std::string node;
  store::HistoryWriter writer;

  mutable std::mutex mutex;
  GpuNames gpus;
  std::set<std::string> seen_jobs;
  std::map<std::string, std::optional<WallTime>> findings;  // written, with their end
  std::set<std::string> labels;                             // written
  bool has_forgotten = false;                               // some of them

  Shared(std::string name, std::string path, std::shared_ptr<const Clock> clock,
         store::HistoryRetention retention)
      : node(std::move(name)), writer(std::move(path), std::move(clock), retention) {}

  void note_job(const jobs::Record& record);
  void note_report(const jobs::JobReport& report);
};

void HistoryPart::Shared::note_job(const jobs::Record& record) {
  if (const auto* job = std::get_if<jobs::JobRecord>(&record)) {
    const std::lock_guard lock(mutex);
    if (seen_jobs.size() < kMostSeenJobs) seen_jobs.insert(job->job);
    writer.put(continue_job(node_job_of(*job, node, gpus)));
  } else if (const auto* end = std::get_if<jobs::JobEndRecord>(&record)) {
    writer.put(continue_job(node_job_of(*end, node)));
  }
}

void HistoryPart::Shared::note_report(const jobs::JobReport& report) {
  const std::lock_guard lock(mutex);
  if (findings.size() + labels.size() > kMostKnownFindings) {
    findings.clear();
    labels.clear();
    has_forgotten = true;
  }
  std::vector<SeenFault> faults;
  for (const jobs::JobFinding& finding : report.findings) {
    auto seen = fault_of(finding, node, gpus);
    if (!seen) continue;
    const auto known = findings.find(seen->fault.id);
    if (known != findings.end() && known->second == seen->fault.end) continue;
    findings[seen->fault.id] = seen->fault.end;
    faults.push_back(*std::move(seen));
  }
  if (!faults.empty()) writer.put(note_faults(std::move(faults)));
  for (const jobs::Feedback& feedback : report.feedback)
    if (auto label = label_of(feedback, report, node, gpus); label && labels.insert(label->id).second)
      writer.put(*std::move(label));
}

std::string history_path(const config::Config& config, const std::string& node, bool is_simulated) {
  if (!is_simulated) return config.history_path();
  std::string name = node;
  for (char& c : name)
    if (c == '/' || c == '\0') c = '_';
  return config.state_dir + "/simulated/" + name + "-history.db";
}

HistoryPart::HistoryPart(const config::History& settings, HistoryPartContext context)
    : context_(std::move(context)),
      shared_(std::make_shared<Shared>(
          context_.node, context_.path, std::shared_ptr<const Clock>(context_.host, &context_.host->clock),
          store::HistoryRetention{.age = settings.age, .bytes = settings.bytes})) {
  shared_->writer.put(take_over_incidents(context_.journal, context_.node, context_.is_simulated));
}

HistoryPart::~HistoryPart() = default;

void HistoryPart::start() {
  watch_ = context_.loop.every(kLookAtHistory, [this] { note_problem(); });
  absent_ = context_.loop.after(kJobsAreFound, [this] { end_absent_records(); });
}

void HistoryPart::stop(Duration patience) {
  if (const Status stopped = shared_->writer.stop(patience); !stopped)
    logging::log_warning("history did not take the last records in time", {{"cause", stopped.error().what}});
}

void HistoryPart::note(const std::vector<Incident>& incidents) {
  const std::lock_guard lock(shared_->mutex);
  std::vector<SeenFault> faults;
  std::vector<learning::Label> labels;
  for (const Incident& incident : incidents) {
    if (incident.injected && !context_.is_simulated) continue;
    faults.push_back(fault_of(incident, context_.node, shared_->gpus));
    if (auto label = acknowledgement_of(incident, context_.node, shared_->gpus))
      labels.push_back(*std::move(label));
  }
  if (!faults.empty()) shared_->writer.put(note_faults(std::move(faults)));
  for (learning::Label& label : labels)
    shared_->writer.put(std::move(label));
}

void HistoryPart::note(const NodeSnapshot& snapshot) {
  if (std::exchange(noted_, snapshot.generation) == snapshot.generation) return;
  {
    const std::lock_guard lock(shared_->mutex);
    (void)shared_->gpus.learn(snapshot);
  }
  auto driver = driver_version_in(snapshot);
  // A driver that does not answer has not changed.
  if (!driver || (driver_ && (driver->empty() || *driver == *driver_))) return;
  driver_ = *driver;
  put_versions(*std::move(driver));
}

void HistoryPart::put_versions(std::string driver) {
  const WallTime now = context_.host->clock.now().wall;
  const auto since = std::chrono::floor<std::chrono::milliseconds>(now.time_since_epoch()).count();
  learning::Versions versions{.id = context_.node + "/versions/" + std::to_string(since),
                              .place = {.cluster = {}, .node = context_.node, .gpu = {}},
                              .time = now,
                              .driver = std::move(driver),
                              .firmware = {},
                              .kernel = {},
                              .image = {},
                              .agent = std::string(logging::build_info().version)};
  shared_->writer.put(changed_versions(std::move(versions), context_.host));
}

void HistoryPart::end_absent_records() {
  SeenInRun seen{.node = context_.node,
                 .begin = context_.host->clock.now().wall - kJobsAreFound,
                 .is_history_shared = is_postgres(context_.path)};
  {
    const std::lock_guard lock(shared_->mutex);
    seen.jobs = shared_->seen_jobs;
    for (const auto& [id, end] : shared_->findings)
      seen.faults.insert(id);
    seen.are_faults_complete = !shared_->has_forgotten;
  }
  if (seen.jobs.size() >= kMostSeenJobs) return;
  shared_->writer.put(end_absent(std::move(seen)));
}

std::function<void(learning::HistoryRecord record)> HistoryPart::sink() const {
  return [shared = shared_](learning::HistoryRecord record) {
    if (auto* job = std::get_if<learning::NodeJob>(&record))
      shared->writer.put(explain_job(std::move(*job)));
    else
      shared->writer.put(std::move(record));
  };
}

std::function<void(const std::vector<jobs::Record>& records)> HistoryPart::job_sink() const {
  return [shared = shared_](const std::vector<jobs::Record>& records) {
    for (const jobs::Record& record : records)
      shared->note_job(record);
  };
}

std::function<void(const std::vector<jobs::JobReport>& reports)> HistoryPart::report_sink() const {
  return [shared = shared_](const std::vector<jobs::JobReport>& reports) {
    for (const jobs::JobReport& report : reports)
      shared->note_report(report);
  };
}

void HistoryPart::note_problem() {
  const store::HistoryWriterStatus status = shared_->writer.status();
  if (std::exchange(moved_aside_, status.moved_aside) != status.moved_aside)
    logging::log_warning("the file of history could not be used; a new one begins",
                         {{"kept_as", status.moved_aside}});
  const bool is_new = problem_.empty() != status.problem.empty();
  problem_ = status.problem;
  if (!is_new) return;
  if (problem_.empty())
    logging::log_info("history is written again", {{"dropped", std::to_string(status.dropped)}});
  else
    logging::log_warning("history cannot be written; records wait", {{"cause", problem_}});
}

std::string HistoryPart::metrics() const {
  using logging::MetricType;
  const store::HistoryWriterStatus status = shared_->writer.status();
  logging::MetricsText text;
  const auto family = [&text](std::string_view name, MetricType type, std::string_view help, double value) {
    text.family(name, type, help);
    text.sample(value);
  };
  family("autopilot_history_waiting", MetricType::gauge, "Records of history that are not written yet.",
         static_cast<double>(status.waiting));
  family("autopilot_history_written_total", MetricType::counter, "Records of history that were written.",
         static_cast<double>(status.written));
  family("autopilot_history_dropped_total", MetricType::counter,
         "Records of history that were never written.", static_cast<double>(status.dropped));
  family("autopilot_history_bytes", MetricType::gauge, "Size of the file of history and its log.",
         static_cast<double>(status.bytes));
  family("autopilot_history_problem", MetricType::gauge, "1 while history cannot be written.",
         status.problem.empty() ? 0 : 1);
  return std::move(text).take();
}

}  // namespace autopilot::agent
