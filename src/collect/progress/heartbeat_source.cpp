// SPDX-License-Identifier: Apache-2.0
#include "collect/progress/heartbeat_source.hpp"

#include <algorithm>
#include <utility>

namespace autopilot::collect {
namespace {

// A clock of a process that differs more is not used.
constexpr Duration kMaxAge = std::chrono::seconds{5};

}  // namespace

Status HeartbeatSource::open(WallTime now) {
  tried_ = now;
  TRY_STATUS(host::make_public_folder(options_.folder + "/cmd"));
  inbox_ = TRY(host::DatagramInbox::open(options_.folder + "/socket", Heartbeat::kMaxBytes));
  return {};
}

void HeartbeatSource::poll(const SeenJobs& jobs, WallTime now, std::vector<jobs::Record>& records) {
  if (!inbox_ && (!tried_ || now - *tried_ >= kRetry)) {
    const Status opened = open(now);
    problem_ = opened ? std::string()
                      : "Heartbeats are not received (" + opened.error().what +
                            "); make the folder writable for the agent, or configure another one";
  }
  update_senders(jobs, now, records);
  if (inbox_)
    for (const host::Datagram& datagram : inbox_->take())
      take(datagram, now, records);
  for (auto& [key, sender] : senders_)
    if (std::exchange(sender.is_heard, false))
      records.emplace_back(jobs::HeartbeatRecord{.time = now, .job = sender.job, .rank = sender.rank});
  polled_ = now;
}

void HeartbeatSource::update_senders(const SeenJobs& jobs, WallTime now, std::vector<jobs::Record>& records) {
  const double passed_s = polled_ ? std::clamp(to_seconds(now - *polled_), 0.0, 2.0) : 1.0;
  ranks_.clear();
  for (auto& [key, sender] : senders_) {
    sender.is_seen = false;
    sender.allowed = std::min<double>(2 * kMaxPerSecond, sender.allowed + kMaxPerSecond * passed_s);
  }
  for (const SeenJob& job : jobs.jobs) {
    for (const RankProcess& process : job.processes) {
      const std::pair key(job.record.job, process.rank);
      ranks_.insert_or_assign(process.pid, key);
      for (const std::int64_t child : process.children)
        ranks_.insert_or_assign(child, key);
      if (const auto known = senders_.find(key); known != senders_.end()) known->second.is_seen = true;
    }
  }
  for (auto& [key, sender] : senders_)
    if (!sender.is_seen) change_phase(sender, std::nullopt, now, records);
  std::erase_if(senders_, [](const auto& known) { return !known.second.is_seen; });
  const std::lock_guard lock(mutex_);
  std::erase_if(channels_, [&](const auto& channel) {
    return std::none_of(jobs.jobs.begin(), jobs.jobs.end(),
                        [&](const SeenJob& job) { return job.record.job == channel.first; });
  });
}

void HeartbeatSource::take(const host::Datagram& datagram, WallTime now, std::vector<jobs::Record>& records) {
  const auto rank = ranks_.find(datagram.pid);
  if (rank == ranks_.end()) {
    ++counts_.unknown_sender;
    return;
  }
  Sender& sender = senders_[rank->second];
  sender.job = rank->second.first;
  sender.rank = rank->second.second;
  if (sender.allowed < 1) {
    ++counts_.too_many;
    return;
  }
  sender.allowed -= 1;
  const auto heartbeat = datagram.is_cut ? fail(Errc::malformed, "cut") : parse_heartbeat(datagram.bytes);
  if (!heartbeat) {
    ++counts_.malformed;
    return;
  }
  ++counts_.accepted;
  accept(sender, *heartbeat, now, records);
}

void HeartbeatSource::accept(Sender& sender, const Heartbeat& heartbeat, WallTime now,
                             std::vector<jobs::Record>& records) {
  sender.is_heard = true;
  note_channel(sender, heartbeat);
  WallTime time = heartbeat.time.value_or(now);
  if (time > now || now - time > kMaxAge) time = now;
  const StepGuard::Move move = sender.guard.next(heartbeat.step);
  if (move == StepGuard::Move::advance || move == StepGuard::Move::restart)
    records.emplace_back(jobs::StepRecord{.time = time,
                                          .job = sender.job,
                                          .rank = sender.rank,
                                          .step = heartbeat.step,
                                          .step_s = heartbeat.step_s,
                                          .tokens = heartbeat.tokens,
                                          .loss = heartbeat.loss});
  // The ranks of a job save and evaluate together: the lowest of this node speaks for them.
  const auto lowest = senders_.lower_bound({sender.job, 0});
  if (lowest == senders_.end() || &lowest->second != &sender) return;
  sender.states_saving = sender.states_saving || heartbeat.phase == jobs::Phase::checkpoint;
  if (heartbeat.phase) change_phase(sender, heartbeat.phase, time, records);
  const bool is_durable = heartbeat.checkpoint && heartbeat.checkpoint > sender.checkpoint;
  if (is_durable && sender.checkpoint && !sender.states_saving && sender.rank == 0)
    records.emplace_back(jobs::PhaseRecord{.time = time,
                                           .job = sender.job,
                                           .rank = sender.rank,
                                           .phase = jobs::Phase::checkpoint,
                                           .edge = jobs::Edge::end});
  if (is_durable) sender.checkpoint = heartbeat.checkpoint;
}

void HeartbeatSource::change_phase(Sender& sender, std::optional<jobs::Phase> phase, WallTime time,
                                   std::vector<jobs::Record>& records) const {
  if (phase == jobs::Phase::train) phase.reset();
  if (phase == sender.phase) return;
  const auto emit = [&](jobs::Phase changed, jobs::Edge edge) {
    records.emplace_back(jobs::PhaseRecord{
        .time = time, .job = sender.job, .rank = sender.rank, .phase = changed, .edge = edge});
  };
  if (sender.phase) emit(*sender.phase, jobs::Edge::end);
  if (phase) emit(*phase, jobs::Edge::begin);
  sender.phase = phase;
}

void HeartbeatSource::note_channel(const Sender& sender, const Heartbeat& heartbeat) {
  const std::lock_guard lock(mutex_);
  Channel& channel = channels_[sender.job];
  channel.file = command_file(heartbeat.job);
  if (heartbeat.ack && *heartbeat.ack > 0 && *heartbeat.ack <= channel.sequence)
    channel.acknowledged = std::max(channel.acknowledged, heartbeat.ack);
}

Result<std::int64_t> HeartbeatSource::request_checkpoint(std::string_view job) {
  const std::lock_guard lock(mutex_);
  const auto known = channels_.find(job);
  if (known == channels_.end() || known->second.file.empty())
    return fail(Errc::not_found,
                "job " + std::string(job) +
                    " sends no heartbeats on this node, so it cannot be asked for a checkpoint; "
                    "add deploy/examples/autopilot_heartbeat.py to its program");
  Channel& channel = known->second;
  const std::int64_t sequence = channel.sequence + 1;
  TRY_STATUS(
      host::replace_public_file(options_.folder + "/cmd/" + channel.file,
                                "{\"seq\":" + std::to_string(sequence) + ",\"cmd\":\"checkpoint_now\"}\n"));
  channel.sequence = sequence;
  return sequence;
}

std::optional<std::int64_t> HeartbeatSource::acknowledged(std::string_view job) const {
  const std::lock_guard lock(mutex_);
  const auto known = channels_.find(job);
  return known == channels_.end() ? std::nullopt : known->second.acknowledged;
}

HeartbeatCounts HeartbeatSource::counts() const {
  HeartbeatCounts counts = counts_;
  if (inbox_) counts.dropped = inbox_->dropped();
  return counts;
}

std::vector<std::string> HeartbeatSource::not_seen() const {
  if (problem_.empty()) return {};
  return {problem_};
}

}  // namespace autopilot::collect
