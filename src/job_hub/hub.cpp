// SPDX-License-Identifier: Apache-2.0
#include "job_hub/hub.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <sys/resource.h>
#include <thread>
#include <utility>
#include <variant>

#include "api/job_records.hpp"
#include "jobs/assembly.hpp"

namespace autopilot::job_hub {
namespace {

// The brain's time advances in steps of this length.
constexpr Duration kHubStep = std::chrono::seconds(1);
constexpr std::size_t kLongestProblem = 200;

double thread_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Times are up to the year 2255, so that a sum may not fit.
void shift(jobs::Record& record, Duration offset) {
  std::visit(
      [offset](auto& held) {
        if (offset <= Duration{0} || held.time <= WallTime::max() - offset) held.time += offset;
      },
      record);
}

// What the metrics state about a job that runs.
struct CountedJob {
  std::size_t nodes = 0;
  std::size_t findings = 0;
};

using Question = std::function<void(jobs::Brain& brain, WallTime now)>;

}  // namespace

ReadBatch read_records(NodeBatch&& batch) {
  ReadBatch read{.records = std::move(batch.records)};
  std::string_view rest = batch.lines;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.empty()) continue;
    if (auto record = api::parse_job_record(line)) {
      read.records.push_back(*std::move(record));
    } else {
      ++read.malformed;
      read.problem = record.error().what.substr(0, kLongestProblem);
    }
  }
  for (jobs::Record& record : read.records)
    shift(record, batch.clock_offset);
  return read;
}

class JobHub::Worker {
 public:
  Worker(const Clock& clock, const jobs::BrainOptions& options, OnResults on_results, Limits limits)
      : clock_(clock), on_results_(std::move(on_results)), limits_(limits), brain_(options) {
    thread_ = std::thread([this] { run(); });
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  bool offer(NodeBatch batch) {
    const std::size_t bytes = batch.bytes();
    {
      const std::lock_guard lock(mutex_);
      if (queue_.size() >= limits_.batches || shared_.waiting_bytes + bytes > limits_.bytes) {
        ++shared_.refused;
        return false;
      }
      shared_.waiting_bytes += bytes;
      queue_.push_back({std::move(batch), clock_.now().mono, {}});
    }
    wake_.notify_one();
    return true;
  }
  bool ask(Question question) {
    {
      const std::lock_guard lock(mutex_);
      if (questions_ >= limits_.questions) return false;
      ++questions_;
      queue_.push_back({{}, {}, std::move(question)});
    }
    wake_.notify_one();
    return true;
  }
  void set_nodes(std::size_t nodes) {
    const std::lock_guard lock(mutex_);
    new_nodes_ = nodes;
  }
  void set_policy(const jobs::Policy& policy) {
    const std::lock_guard lock(mutex_);
    new_policy_ = policy;
  }
  [[nodiscard]] HubStats stats() const {
    const std::lock_guard lock(mutex_);
    HubStats stats = shared_;
    stats.waiting = queue_.size() - questions_;
    return stats;
  }

 private:
  struct Item {
    NodeBatch batch;
    MonoTime offered{};
    Question question;  // set: there is no batch
  };

  void run() {
    while (auto items = wait()) {
      for (Item& item : *items)
        work(item);
      advance();
      if (std::exchange(has_advanced_, false)) publish();
    }
  }
  // What waits, perhaps nothing after a step of time. nullopt: the end.
  std::optional<std::deque<Item>> wait() {
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, kHubStep, [this] { return is_ending_ || !queue_.empty(); });
    if (is_ending_) return std::nullopt;
    if (new_nodes_) brain_.set_nodes(*std::exchange(new_nodes_, std::nullopt));
    if (new_policy_) brain_.set_policy(*std::exchange(new_policy_, std::nullopt));
    // A part only: what is taken does not count for the limits of the queue any more.
    std::deque<Item> items;
    while (!queue_.empty() && items.size() < kAtOnce) {
      shared_.waiting_bytes -= queue_.front().batch.bytes();
      if (queue_.front().question) --questions_;
      items.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    return items;
  }

  void work(Item& item) {
    if (item.question) {
      advance();
      return item.question(brain_, now_);
    }
    ++own_.batches;
    take(item.batch);
    own_.lag = clock_.now().mono - item.offered;
  }

  void take(NodeBatch& batch) {
    const std::string node = batch.node;
    if (batch.is_whole) assembly_.begin_session(node);
    ReadBatch read = read_records(std::move(batch));
    own_.records += read.records.size();
    own_.malformed += read.malformed;
    if (!read.problem.empty()) own_.last_malformed = node + ": " + read.problem;
    for (jobs::Record& record : read.records)
      assembly_.add(node, std::move(record), assembled_);
    for (const jobs::Record& record : assembled_)
      brain_.add(record);
    assembled_.clear();
  }

  void advance() {
    const Instant now = clock_.now();
    if (now_ != WallTime{} && now.mono - advanced_ < kHubStep) return;
    advanced_ = now.mono;
    now_ = now.wall;
    assembly_.advance(now_, assembled_);
    for (const jobs::Record& record : assembled_)
      brain_.add(record);
    assembled_.clear();
    brain_.advance(now_);
    has_advanced_ = true;
  }

  void publish() {
    HubResults results;
    results.alerts = brain_.take_alerts();
    results.actions = brain_.take_actions();
    results.validations = brain_.take_validations();
    const std::vector<std::string> changed = brain_.take_changed();
    std::set<std::string> names(changed.begin(), changed.end());
    for (const jobs::Alert& alert : results.alerts)
      names.insert(alert.job);
    for (const jobs::WantedAction& action : results.actions)
      names.insert(action.finding.job);
    for (const std::string& job : names)
      if (auto report = brain_.report(job)) results.changed.push_back(*std::move(report));
    for (const jobs::JobReport& report : results.changed)
      count(report);
    share_stats();
    if (!results.is_empty() && on_results_) on_results_(std::move(results));
  }

  void count(const jobs::JobReport& report) {
    if (report.ended) {
      running_.erase(report.state.job);
      return;
    }
    const auto open = std::ranges::count_if(report.findings, [](const auto& one) { return !one.resolved; });
    running_.insert_or_assign(report.state.job,
                              CountedJob{report.nodes.size(), static_cast<std::size_t>(open)});
  }

  void share_stats() {
    own_.cpu_seconds = thread_cpu_seconds();
    own_.dropped = assembly_.dropped() + brain_.counts().dropped;
    own_.jobs = running_.size();
    own_.nodes = own_.findings = 0;
    for (const auto& [name, job] : running_) {
      own_.nodes += job.nodes;
      own_.findings += job.findings;
    }
    const std::lock_guard lock(mutex_);
    own_.refused = shared_.refused;
    own_.waiting_bytes = shared_.waiting_bytes;
    shared_ = own_;
  }

  static constexpr std::size_t kAtOnce = 256;

  const Clock& clock_;
  const OnResults on_results_;
  const Limits limits_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Item> queue_;
  std::size_t questions_ = 0;  // in the queue
  std::optional<std::size_t> new_nodes_;
  std::optional<jobs::Policy> new_policy_;
  HubStats shared_;
  bool is_ending_ = false;

  // Of the thread.
  jobs::Assembly assembly_;
  jobs::Brain brain_;
  std::vector<jobs::Record> assembled_;
  std::map<std::string, CountedJob> running_;
  HubStats own_;
  MonoTime advanced_{};
  WallTime now_{};
  bool has_advanced_ = false;
  std::thread thread_;
};

JobHub::JobHub(const Clock& clock, const jobs::BrainOptions& options, OnResults on_results, Limits limits)
    : worker_(std::make_unique<Worker>(clock, options, std::move(on_results), limits)) {}

JobHub::~JobHub() = default;

bool JobHub::offer(NodeBatch batch) {
  return worker_->offer(std::move(batch));
}

bool JobHub::ask(std::function<void(jobs::Brain& brain, WallTime now)> question) {
  return worker_->ask(std::move(question));
}

void JobHub::set_nodes(std::size_t nodes) {
  worker_->set_nodes(nodes);
}

void JobHub::set_policy(const jobs::Policy& policy) {
  worker_->set_policy(policy);
}

HubStats JobHub::stats() const {
  return worker_->stats();
}

}  // namespace autopilot::job_hub
