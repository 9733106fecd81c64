// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/node_jobs.hpp"

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::agent {
namespace {

constexpr int kIdleFactor = 3;
constexpr std::size_t kMostPresentNodes = 1024;
constexpr std::size_t kMostNotSeen = 32;

bool is_equal_rank(const jobs::RankRecord& a, const jobs::RankRecord& b) {
  return a.rank == b.rank && a.node == b.node && a.gpu == b.gpu && a.role == b.role &&
         a.replica == b.replica && a.pod == b.pod && a.pid == b.pid;
}

bool is_equal_job(const jobs::JobRecord& a, const jobs::JobRecord& b) {
  return a.name == b.name && a.owner == b.owner && a.kind == b.kind && a.attempt == b.attempt &&
         a.has_local_ranks == b.has_local_ranks && std::ranges::equal(a.ranks, b.ranks, is_equal_rank);
}

}  // namespace

NodeJobs::NodeJobs(NodeJobsOptions options, const Clock& clock, std::unique_ptr<JobSearch> search,
                   std::vector<JobSource> sources)
    : options_(std::move(options)),
      clock_(clock),
      search_(std::move(search)),
      sources_(std::move(sources)),
      brain_(options_.brain) {}

MonoTime NodeJobs::run() {
  const Instant now = clock_.now();
  std::vector<jobs::Record> records = std::exchange(waiting_, {});
  if (!next_search_ || now.mono >= *next_search_) {
    search(now, records);
    const bool is_idle = seen_.jobs.empty() && search_problem_.empty();
    const Duration pause = is_idle ? kIdleFactor * options_.search_every : options_.search_every;
    next_search_ = now.mono + pause;
  }
  const bool has_jobs = !seen_.jobs.empty();
  if ((has_jobs || polls_once_more_) && (!next_poll_ || now.mono >= *next_poll_)) {
    poll(now, records);
    polls_once_more_ = has_jobs || std::ranges::any_of(sources_, [](const JobSource& each) {
                         return each.source->has_more();
                       });
    next_poll_ = now.mono + options_.poll_every;
  }
  evaluate(now, records);
  const bool polls = has_jobs || polls_once_more_;
  // Without jobs here, those of other nodes and ended ones still need the time.
  const MonoTime soon = now.mono + options_.poll_every;
  return std::min(*next_search_, polls ? *next_poll_ : soon);
}

void NodeJobs::search(Instant now, std::vector<jobs::Record>& records) {
  ++counts_.searches;
  auto seen = search_->look(now);
  counts_.search_seconds += to_seconds(clock_.now().mono - now.mono);
  if (!seen) {
    // What cannot be read has not ended.
    ++counts_.searches_failed;
    search_problem_ = "jobs of this node: " + seen.error().what;
    return;
  }
  search_problem_.clear();
  seen_ = std::move(*seen);
  for (const JobSpan& begun : spans_.note(seen_))
    if (options_.on_begin) options_.on_begin(begun);
  for (const collect::SeenJob& job : seen_.jobs) {
    const auto stated = stated_.find(job.record.job);
    if (stated != stated_.end() && is_equal_job(stated->second, job.record)) continue;
    stated_.insert_or_assign(job.record.job, job.record);
    records.emplace_back(job.record);
  }
  for (jobs::JobEndRecord& end : search_->take_ended()) {
    stated_.erase(end.job);
    const JobSpan ended = spans_.end(end);
    if (options_.on_end) options_.on_end(ended);
    records.emplace_back(std::move(end));
  }
}

void NodeJobs::poll(Instant now, std::vector<jobs::Record>& records) {
  ++counts_.polls;
  for (JobSource& source : sources_)
    poll_source(source, now, records);
}

void NodeJobs::poll_source(JobSource& source, Instant now, std::vector<jobs::Record>& records) {
  const MonoTime begin = clock_.now().mono;
  std::string& problem = source_problems_[source.name];
  const std::size_t before = records.size();
  try {
    source.source->poll(seen_, now.wall, records);
    problem.clear();
  } catch (const std::exception& error) {
    ++counts_.source_errors;
    records.resize(std::min(before, records.size()));
    problem = source.name + ": an internal error, " + to_printable(error.what(), 200) +
              "; report it with the version of the agent";
  }
  const Duration took = clock_.now().mono - begin;
  counts_.poll_seconds += to_seconds(took);
  if (took > kSlowSource && problem.empty())
    problem = source.name + ": a poll took " +
              format_duration(std::chrono::duration_cast<std::chrono::milliseconds>(took)) +
              " and held up the others; check the load of this node";
}

void NodeJobs::add(std::vector<jobs::Record> records) {
  for (jobs::Record& record : records) {
    if (waiting_.size() >= kMostWaiting)
      ++counts_.dropped;
    else
      waiting_.push_back(std::move(record));
  }
}

void NodeJobs::receive(const std::string& node, std::vector<jobs::Record> records, bool is_whole) {
  if (received_records_ + records.size() > kMostWaiting) {
    counts_.dropped += records.size();
    return;
  }
  received_records_ += records.size();
  received_.push_back({node, std::move(records), is_whole});
}

void NodeJobs::evaluate(Instant now, std::vector<jobs::Record>& records) {
  counts_.records += records.size();
  if (options_.send && !records.empty()) options_.send(records);
  std::vector<jobs::Record> whole;
  for (jobs::Record& record : records)
    assembly_.add(options_.node, std::move(record), whole);
  for (Received& received : std::exchange(received_, {})) {
    if (received.is_whole) assembly_.begin_session(received.node);
    for (jobs::Record& record : received.records)
      assembly_.add(received.node, std::move(record), whole);
  }
  received_records_ = 0;
  assembly_.advance(now.wall, whole);
  for (const jobs::Record& record : whole)
    remember(record);
  if (options_.on_records && !whole.empty()) options_.on_records(whole);
  evaluated_ = now.wall;
  if (options_.brain_at != api::JobBrain::controller) judge(now, whole);
  if (!options_.on_suspected) return;
  std::vector<api::SuspectedJob> suspected = suspects_.of(options_.node);
  suspected.insert(suspected.end(), suspected_.begin(), suspected_.end());
  options_.on_suspected(suspected, seen_, now);
}

void NodeJobs::judge(Instant now, const std::vector<jobs::Record>& whole) {
  for (const jobs::Record& record : whole)
    brain_.add(record);
  brain_.advance(now.wall);
  publish();
}

void NodeJobs::publish() {
  (void)brain_.take_validations();  // history has those of this node
  JobNews news{.alerts = brain_.take_alerts(), .actions = brain_.take_actions(), .reports = {}};
  std::vector<jobs::JobReport> changed;
  for (const std::string& job : brain_.take_changed())
    if (auto report = brain_.report(job)) changed.push_back(*std::move(report));
  suspects_.note(changed);
  if (options_.on_changed && !changed.empty()) options_.on_changed(changed);
  if (!options_.on_news || (news.alerts.empty() && news.actions.empty())) return;
  std::set<std::string> names;
  for (const jobs::Alert& alert : news.alerts)
    names.insert(alert.job);
  for (const std::string& name : names)
    if (auto report = brain_.report(name)) news.reports.push_back(*std::move(report));
  options_.on_news(std::move(news));
}

void NodeJobs::remember(const jobs::Record& record) {
  if (const auto* node = std::get_if<jobs::NodeRecord>(&record)) {
    if (present_nodes_.size() < kMostPresentNodes || present_nodes_.contains(node->node))
      present_nodes_.insert_or_assign(node->node, *node);
  } else if (const auto* job = std::get_if<jobs::JobRecord>(&record)) {
    present_jobs_.insert_or_assign(job->job, *job);
  } else if (const auto* end = std::get_if<jobs::JobEndRecord>(&record)) {
    present_jobs_.erase(end->job);
  }
}

std::vector<jobs::Record> NodeJobs::present() const {
  std::vector<jobs::Record> records;
  const WallTime now = clock_.now().wall;
  for (const auto& [name, node] : present_nodes_) {
    jobs::NodeRecord record = node;
    record.time = now;
    records.emplace_back(std::move(record));
  }
  for (const auto& [name, job] : present_jobs_) {
    jobs::JobRecord record = job;
    if (record.remaining) *record.remaining = std::max(*record.remaining - (now - record.time), Duration{0});
    record.time = now;
    records.emplace_back(std::move(record));
  }
  return records;
}

std::vector<std::string> NodeJobs::not_seen() const {
  std::vector<std::string> all = seen_.not_seen;
  if (!search_problem_.empty()) all.push_back(search_problem_);
  for (const JobSource& source : sources_) {
    const std::vector<std::string> of_source = source.source->not_seen();
    all.insert(all.end(), of_source.begin(), of_source.end());
    const auto problem = source_problems_.find(source.name);
    if (problem != source_problems_.end() && !problem->second.empty()) all.push_back(problem->second);
  }
  if (all.size() > kMostNotSeen) all.resize(kMostNotSeen);
  return all;
}

std::shared_ptr<const JobsSnapshot> NodeJobs::snapshot() const {
  auto snapshot = std::make_shared<JobsSnapshot>();
  api::JobList& list = snapshot->list;
  list.time = evaluated_;
  list.node = options_.node;
  list.brain = options_.brain_at;
  list.jobs = brain_.reports();
  list.sources.emplace_back("processes");
  for (const JobSource& source : sources_)
    list.sources.push_back(source.name);
  list.not_seen = not_seen();
  snapshot->suspects = suspects_;
  snapshot->counts = counts_;
  snapshot->counts.dropped += assembly_.dropped() + brain_.counts().dropped;
  return snapshot;
}

}  // namespace autopilot::agent
