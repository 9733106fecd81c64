// SPDX-License-Identifier: Apache-2.0
#include "collect/flight_recorder/dump_source.hpp"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include "collect/flight_recorder/dump.hpp"
#include "collect/flight_recorder/dump_file.hpp"

namespace autopilot::collect {
namespace {

constexpr std::size_t kMaxProblems = 16;

// A rank whose dump is searched.
struct Searched {
  std::string job;
  RankProcess process;
  std::vector<std::string> prefixes;
};

using ProcessKey = std::pair<std::int64_t, std::uint64_t>;  // pid, start

struct Found {
  std::vector<jobs::CollectivesRecord> records;
  std::vector<std::string> problems;
};

jobs::Communicator communicator_of(const DumpGroup& group) {
  jobs::Communicator made;
  made.id = "pg/" + group.name;
  made.size = static_cast<int>(group.ranks.size());
  made.ranks = group.ranks;
  made.started.resize(group.ranks.size());
  made.completed.resize(group.ranks.size());
  return made;
}

void add_counts(jobs::Communicator& communicator, int rank, const DumpGroup& group) {
  auto place = std::ranges::find(communicator.ranks, rank);
  if (place == communicator.ranks.end()) {
    if (communicator.size > 0) return;  // the group contradicts itself
    communicator.ranks.push_back(rank);
    communicator.started.emplace_back();
    communicator.completed.emplace_back();
    place = communicator.ranks.end() - 1;
  }
  const auto at = static_cast<std::size_t>(place - communicator.ranks.begin());
  communicator.started[at] = group.enqueued;
  communicator.completed[at] = group.completed;
}

}  // namespace

class DumpSource::Worker {
 public:
  explicit Worker(Duration settled) : settled_(settled) {}

  static void start(const std::shared_ptr<Worker>& worker) {
    std::thread([worker] { worker->work(); }).detach();
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    waiting_.notify_all();
  }
  // Replaces a request that has not begun.
  void search(std::vector<Searched> ranks, WallTime now) {
    const std::lock_guard lock(mutex_);
    request_ = std::pair{std::move(ranks), now};
    waiting_.notify_all();
  }
  std::vector<jobs::CollectivesRecord> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(found_.records, {});
  }
  std::vector<std::string> problems() {
    const std::lock_guard lock(mutex_);
    return found_.problems;
  }

 private:
  struct Rank {
    std::string job;
    int rank = 0;
    std::optional<DumpStamp> read;  // the dump below
    std::vector<DumpGroup> groups;
    std::string problem;  // of its dump
  };

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      waiting_.wait(lock, [this] { return is_stopped_ || request_; });
      if (is_stopped_) return;
      const auto [ranks, now] = *std::exchange(request_, std::nullopt);
      lock.unlock();
      Found found = search_now(ranks, now);
      lock.lock();
      std::ranges::move(found.records, std::back_inserter(found_.records));
      found_.problems = std::move(found.problems);
    }
  }

  Found search_now(const std::vector<Searched>& ranks, WallTime now) {
    forget_ended(ranks);
    Found found;
    std::set<std::string> changed;
    for (const Searched& searched : ranks) {
      const auto is_new = read_new(searched, now);
      Rank& rank = ranks_[{searched.process.pid, searched.process.started_ticks}];
      if (!is_new) rank.problem = is_new.error().what;
      if (is_new && *is_new) {
        rank.problem.clear();
        changed.insert(searched.job);
      }
      if (!rank.problem.empty() && found.problems.size() < kMaxProblems)
        found.problems.push_back(rank.problem);
    }
    for (const std::string& job : changed)
      found.records.push_back(record_of(job, now));
    return found;
  }

  // True: a dump was read that was not read before. A dump that cannot be read is tried again when it
  // changes.
  Result<bool> read_new(const Searched& searched, WallTime now) {
    const auto file = open_dump(searched.process, searched.prefixes);
    if (!file && file.error().code == Errc::not_found) return false;
    if (!file) return fail(file.error());
    Rank& rank = ranks_[{searched.process.pid, searched.process.started_ticks}];
    if (now - file->stamp.changed < settled_ || rank.read == file->stamp) return false;
    rank.job = searched.job;
    rank.rank = searched.process.rank;
    rank.read = file->stamp;
    const std::string text = TRY(read_dump(*file, DumpLimits::kMaxBytes));
    auto dump = parse_flight_dump(text);
    if (!dump)
      return fail(dump.error().code, file->path + " of job " + searched.job + ": " + dump.error().what);
    rank.groups = std::move(dump->groups);
    return true;
  }

  void forget_ended(const std::vector<Searched>& ranks) {
    std::set<ProcessKey> known;
    for (const Searched& one : ranks)
      known.emplace(one.process.pid, one.process.started_ticks);
    std::erase_if(ranks_, [&](const auto& entry) { return !known.contains(entry.first); });
  }

  [[nodiscard]] jobs::CollectivesRecord record_of(const std::string& job, WallTime now) const {
    // By name and members: a name alone may mean different groups on different ranks.
    std::map<std::pair<std::string, std::vector<int>>, jobs::Communicator> communicators;
    for (const auto& [process, rank] : ranks_) {
      if (rank.job != job) continue;
      for (const DumpGroup& group : rank.groups) {
        auto& communicator =
            communicators.try_emplace({group.name, group.ranks}, communicator_of(group)).first->second;
        add_counts(communicator, rank.rank, group);
      }
    }
    jobs::CollectivesRecord record{
        .time = now, .job = job, .source = jobs::CountSource::flight_recorder, .communicators = {}};
    std::map<std::string, int> uses;
    for (auto& [key, communicator] : communicators) {
      if (const int use = uses[key.first]++; use > 0)
        communicator.id += "/" + std::to_string(communicator.ranks.front());
      record.communicators.push_back(std::move(communicator));
    }
    return record;
  }

  const Duration settled_;
  std::mutex mutex_;
  std::condition_variable waiting_;
  bool is_stopped_ = false;
  std::optional<std::pair<std::vector<Searched>, WallTime>> request_;
  Found found_;
  std::map<ProcessKey, Rank> ranks_;  // used on the thread only
};

DumpSource::DumpSource(EnvironmentOf environment_of, DumpSettings settings)
    : environment_of_(std::move(environment_of)),
      settings_(settings),
      worker_(std::make_shared<Worker>(settings.settled)) {
  Worker::start(worker_);
}

DumpSource::~DumpSource() {
  worker_->stop();
}

void DumpSource::poll(const SeenJobs& jobs, WallTime now, std::vector<jobs::Record>& records) {
  for (jobs::CollectivesRecord& record : worker_->take())
    records.emplace_back(std::move(record));
  if (now < due_) return;
  due_ = now + settings_.interval;
  std::vector<Searched> searched;
  for (const SeenJob& job : jobs.jobs) {
    // The names of the files are numbers of the whole job.
    if (job.record.has_local_ranks) continue;
    for (const RankProcess& process : job.processes) {
      std::vector<std::string> prefixes = dump_prefixes_of(environment_of_(process));
      if (prefixes.empty()) continue;
      if (searched.size() >= kMaxRanks) break;
      searched.push_back({job.record.job, process, std::move(prefixes)});
    }
  }
  worker_->search(std::move(searched), now);
}

std::vector<std::string> DumpSource::not_seen() const {
  return worker_->problems();
}

}  // namespace autopilot::collect
