// SPDX-License-Identifier: Apache-2.0
#include "collect/ras/ras_source.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "collect/ras/rank_map.hpp"
#include "collect/task_thread.hpp"
#include "host/files/fd.hpp"
#include "host/process/process_handle.hpp"

namespace autopilot::collect {
namespace {

// Several jobs may listen on one port of a shared namespace; the kernel chooses a process.
constexpr int kTriesOfSharedPort = 4;
constexpr int kAdvancesToLearn = 3;
constexpr double kQuietMargin = 1.5;

struct Question {
  std::string job;
  host::RasTarget target;
  JobPlaces places;
  std::vector<RankProcess> processes;  // of the job on this node
};

struct Reply {
  std::string job;
  Result<MappedAnswer> answer;
};

LocalRank local_rank_of(const RankProcess& process) {
  LocalRank local{.rank = process.rank, .inner_pid = 0, .gpus = process.gpus};
  const auto handle = host::ProcessHandle::open(process.pid, process.started_ticks);
  if (!handle) return local;
  local.inner_pid = handle->inner_pid().value_or(0);
  return local;
}

Result<MappedAnswer> ask_once(const AskRas& ask, const Question& question, MonoTime deadline) {
  const std::string text = TRY(ask(question.target, deadline));
  const host::RasAnswer answer = TRY(host::parse_ras_answer(text));
  return map_answer(answer, question.places);
}

Result<MappedAnswer> reply_to(const AskRas& ask, Question question, MonoTime deadline) {
  for (const RankProcess& process : question.processes)
    question.places.local.push_back(local_rank_of(process));
  const int tries = question.places.is_shared ? kTriesOfSharedPort : 1;
  for (int i = 0; i < tries; ++i) {
    auto mapped = ask_once(ask, question, deadline);
    if (!mapped || mapped->is_of_job) return mapped;
  }
  return fail(Errc::conflict,
              "NCCL RAS of job " + question.job + ": port " + std::to_string(question.target.address.port) +
                  " is answered by another job; set NCCL_RAS_ADDR=localhost:PORT with another port "
                  "in this job");
}

std::int64_t sum_of(const std::vector<jobs::Communicator>& communicators) {
  std::int64_t sum = 0;
  for (const jobs::Communicator& communicator : communicators)
    for (const auto& count : communicator.started)
      sum += count.value_or(0);
  return sum;
}

// How long the counts of a job usually rest.
class Cadence {
 public:
  void add(std::int64_t sum, WallTime now) {
    if (sum_ && sum == *sum_) return;
    if (sum_ && sum > *sum_) {
      usual_ = std::max<Duration>(now - changed_, usual_ * 9 / 10);
      ++advances_;
    }
    sum_ = sum;
    changed_ = now;
  }
  [[nodiscard]] bool is_overdue(WallTime now) const {
    if (advances_ < kAdvancesToLearn) return false;
    return to_seconds(now - changed_) > kQuietMargin * to_seconds(usual_);
  }

 private:
  std::optional<std::int64_t> sum_;
  WallTime changed_{};
  Duration usual_{};
  int advances_ = 0;
};

std::optional<jobs::AnswerStatus> status_of(Errc code) {
  switch (code) {
    case Errc::timed_out:
    case Errc::exhausted:
      return jobs::AnswerStatus::timeout;
    case Errc::unavailable:
    case Errc::denied:
    case Errc::conflict:
    case Errc::internal:
      return jobs::AnswerStatus::refused;
    case Errc::malformed:
      return jobs::AnswerStatus::malformed;
    case Errc::unsupported:
    case Errc::not_found:  // the process has just ended
      return std::nullopt;
  }
  return std::nullopt;
}

// The processes to ask: one of each network namespace, the lowest rank first.
std::vector<const RankProcess*> doors_of(const SeenJob& job) {
  std::vector<const RankProcess*> doors;
  std::set<std::uint64_t> seen;
  for (const RankProcess& process : job.processes)
    if (process.network_namespace == 0 || seen.insert(process.network_namespace).second)
      doors.push_back(&process);
  return doors;
}

bool is_whole_job_known(const SeenJob& job) {
  return job.world.has_value() && !job.record.has_local_ranks;
}

bool asks_for(const SeenJob& job) {
  if (job.processes.empty()) return false;
  if (!is_whole_job_known(job)) return true;
  return std::ranges::any_of(job.processes, [](const RankProcess& one) { return one.rank == 0; });
}

bool shares_namespace(const SeenJobs& jobs, const SeenJob& job, std::uint64_t name_space) {
  if (name_space == 0) return true;
  return std::ranges::any_of(jobs.jobs, [&](const SeenJob& other) {
    return other.record.job != job.record.job &&
           std::ranges::any_of(other.processes, [&](const RankProcess& process) {
             return process.network_namespace == name_space;
           });
  });
}

}  // namespace

// Asks one question after the other.
class RasSource::Worker final : public TaskThread<Question, Reply> {
 public:
  Worker(AskRas ask, Duration patience)
      : TaskThread(kMaxJobs, [ask = std::move(ask), patience](Question question) {
          std::string job = question.job;
          return Reply{std::move(job), reply_to(ask, std::move(question), host::mono_now() + patience)};
        }) {}
};

// When which job is asked, and what of the replies becomes a record.
class RasSource::Schedule {
 public:
  Schedule(EnvironmentOf environment_of, RasSettings settings)
      : environment_of_(std::move(environment_of)), settings_(std::move(settings)) {}

  void take(const Reply& reply, WallTime now, std::vector<jobs::Record>& records) {
    const auto found = asked_.find(reply.job);
    if (found == asked_.end()) return;  // the job has ended meanwhile
    Asked& asked = found->second;
    asked.is_open = false;
    if (!reply.answer) {
      note_failure(reply, asked, now, records);
      return;
    }
    asked.problem.clear();
    asked.cadence.add(sum_of(reply.answer->communicators), now);
    asked.due = now + (asked.cadence.is_overdue(now) ? settings_.frozen_interval : settings_.interval);
    records.emplace_back(jobs::CollectivesRecord{.time = now,
                                                 .job = reply.job,
                                                 .source = jobs::CountSource::ras,
                                                 .communicators = reply.answer->communicators});
  }

  std::vector<Question> due(const SeenJobs& jobs, WallTime now) {
    forget_ended(jobs);
    std::vector<Question> questions;
    for (const SeenJob& job : jobs.jobs) {
      if (!asks_for(job)) continue;
      auto found = asked_.find(job.record.job);
      if (found == asked_.end()) {
        if (asked_.size() >= kMaxJobs) continue;
        found = asked_.emplace(job.record.job, Asked{.due = now + delay_of(job)}).first;
      }
      Asked& asked = found->second;
      if (asked.is_open || now < asked.due) continue;
      if (auto question = question_about(jobs, job, asked)) questions.push_back(*std::move(question));
      asked.due = now + settings_.interval;
    }
    return questions;
  }

  // The question is not asked now: too many about jobs that have ended still wait.
  void postpone(const std::string& job) { asked_.at(job).is_open = false; }

  [[nodiscard]] std::vector<std::string> problems() const {
    std::vector<std::string> problems;
    for (const auto& [job, asked] : asked_)
      if (!asked.problem.empty() && std::ranges::find(problems, asked.problem) == problems.end())
        problems.push_back(asked.problem);
    return problems;
  }

 private:
  struct Asked {
    WallTime due{};
    bool is_open = false;
    std::size_t door = 0;  // of the next question
    std::optional<WallTime> complained;
    std::string problem;
    Cadence cadence;
  };

  void note_failure(const Reply& reply, Asked& asked, WallTime now, std::vector<jobs::Record>& records) {
    ++asked.door;
    asked.problem = reply.answer.error().what;
    const auto status = status_of(reply.answer.error().code);
    if (!status || (asked.complained && now - *asked.complained < settings_.complaint_interval)) return;
    asked.complained = now;
    records.emplace_back(jobs::AnswerRecord{
        .time = now, .job = reply.job, .source = jobs::CountSource::ras, .status = *status});
  }

  // Nodes that ask without knowing of each other do so at different times.
  [[nodiscard]] Duration delay_of(const SeenJob& job) const {
    if (is_whole_job_known(job)) return Duration::zero();
    const std::size_t hash = std::hash<std::string>{}(settings_.node + "/" + job.record.job);
    return Duration(static_cast<std::int64_t>(hash % static_cast<std::size_t>(settings_.interval.count())));
  }

  std::optional<Question> question_about(const SeenJobs& jobs, const SeenJob& job, Asked& asked) const {
    const auto doors = doors_of(job);
    const RankProcess& door = *doors[asked.door % doors.size()];
    const RankEnvironment environment = environment_of_(door);
    if (environment.is_ras_disabled) {
      asked.problem =
          "NCCL RAS of job " + job.record.job + " is disabled; remove NCCL_RAS_ENABLE=0 from the job";
      return std::nullopt;
    }
    const auto address = host::parse_ras_address(environment.ras_address);
    if (!address) {
      asked.problem = "job " + job.record.job + ": " + address.error().what;
      return std::nullopt;
    }
    asked.is_open = true;
    Question question;
    question.job = job.record.job;
    question.target = {.pid = door.pid, .started_ticks = door.started_ticks, .address = *address};
    question.places.world = job.world;
    question.places.has_local_ranks = job.record.has_local_ranks;
    question.places.is_shared = shares_namespace(jobs, job, door.network_namespace);
    question.processes = job.processes;
    return question;
  }

  void forget_ended(const SeenJobs& jobs) {
    std::erase_if(asked_, [&](const auto& entry) {
      return std::ranges::none_of(jobs.jobs,
                                  [&](const SeenJob& job) { return job.record.job == entry.first; });
    });
  }

  const EnvironmentOf environment_of_;
  const RasSettings settings_;
  std::map<std::string, Asked, std::less<>> asked_;
};

RasSource::RasSource(AskRas ask, EnvironmentOf environment_of, RasSettings settings)
    : worker_(std::make_unique<Worker>(std::move(ask), settings.patience)),
      schedule_(std::make_unique<Schedule>(std::move(environment_of), std::move(settings))) {}

RasSource::~RasSource() = default;

void RasSource::poll(const SeenJobs& jobs, WallTime now, std::vector<jobs::Record>& records) {
  for (const Reply& reply : worker_->take())
    schedule_->take(reply, now, records);
  for (const Question& question : schedule_->due(jobs, now))
    if (!worker_->add(question)) schedule_->postpone(question.job);
}

std::vector<std::string> RasSource::not_seen() const {
  return schedule_->problems();
}

}  // namespace autopilot::collect
