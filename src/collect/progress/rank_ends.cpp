// SPDX-License-Identifier: Apache-2.0
#include "collect/progress/rank_ends.hpp"

#include <algorithm>

#include "core/parse.hpp"
#include "jobs/decision/last_words.hpp"

namespace autopilot::collect {

void RankEnds::look(const SeenJobs& jobs, WallTime now, std::vector<jobs::Record>& records) {
  for (auto& [key, rank] : ranks_)
    rank.is_seen = false;
  for (const SeenJob& job : jobs.jobs)
    for (const RankProcess& process : job.processes)
      ranks_.insert_or_assign(Key{process.pid, process.started_ticks}, Rank{job.record.job, process, true});
  std::vector<Rank> ended;
  std::erase_if(ranks_, [&](const auto& known) {
    const Rank& rank = known.second;
    // A search that failed is not the end of a rank.
    if (rank.is_seen || sources_.may_run(rank.process.pid, rank.process.started_ticks)) return false;
    ended.push_back(rank);
    return true;
  });
  std::sort(ended.begin(), ended.end(),
            [](const Rank& a, const Rank& b) { return a.process.rank < b.process.rank; });
  for (const Rank& rank : ended)
    note_ended(rank, now);
  std::erase_if(waiting_, [&](End& end) { return report(end, now, records); });
}

void RankEnds::note_ended(const Rank& rank, WallTime now) {
  const bool is_known = std::any_of(waiting_.begin(), waiting_.end(), [&](const End& end) {
    return !rank.process.pod_uid.empty() && end.process.pod_uid == rank.process.pod_uid;
  });
  if (is_known || waiting_.size() >= kMaxWaiting) return;
  waiting_.push_back({rank.job, rank.process, now, sources_.log_end(rank.job, rank.process)});
}

bool RankEnds::report(End& end, WallTime now, std::vector<jobs::Record>& records) const {
  const std::string& pod = end.process.pod_uid;
  const bool has_code = !pod.empty() && sources_.pod_end;
  const std::optional<PodEnd> stated = has_code ? sources_.pod_end(pod) : std::nullopt;
  if (has_code && !stated && now - end.time < kPatience) return false;
  const int rank = end.process.rank;
  if (stated)
    records.emplace_back(jobs::ExitRecord{.time = end.time,
                                          .job = end.job,
                                          .rank = rank,
                                          .code = stated->code,
                                          .signal = stated->signal,
                                          .oom = stated->oom});
  if (stated && stated->reason)
    records.emplace_back(
        jobs::PodRecord{.time = end.time, .job = end.job, .rank = rank, .reason = *stated->reason});
  // Words that were written after the process was missed first.
  if (std::string later = sources_.log_end(end.job, end.process); !later.empty())
    end.words = std::move(later);
  const bool has_failed =
      stated && !stated->reason && (stated->code.value_or(0) != 0 || stated->signal || stated->oom);
  const bool has_completed = stated && stated->code == 0 && !stated->signal && !stated->oom;
  std::string words = last_words(end.words);
  if (words.empty() || has_completed || (!has_failed && !jobs::read_last_words(words))) return true;
  records.emplace_back(
      jobs::LogRecord{.time = end.time, .job = end.job, .rank = rank, .text = std::move(words)});
  return true;
}

std::string last_words(std::string_view text) {
  std::string whole = to_utf8(text);
  if (whole.size() <= jobs::LogRecord::kMaxText) return whole;
  std::size_t begin = whole.size() - jobs::LogRecord::kMaxText;
  while (begin < whole.size() && (static_cast<unsigned char>(whole[begin]) & 0xC0U) == 0x80U)
    ++begin;
  return whole.substr(begin);
}

}  // namespace autopilot::collect
