// SPDX-License-Identifier: Apache-2.0
#include "postflight/validation_queue.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace autopilot::postflight {
namespace {

constexpr std::string_view kSlurmKey = "slurm";

bool is_retry(const ValidationWork& work) {
  return work.tries > 1;
}

}  // namespace

std::string submitter_of(const EndedJob& job, std::string_view node) {
  const std::size_t slash = job.job.find('/');
  std::string first = job.job.substr(0, slash);
  if (slash != std::string::npos && first != kSlurmKey && first != node) return first;
  const std::string rest = slash == std::string::npos ? "" : job.job.substr(slash + 1);
  const std::size_t next = rest.find('/');
  if (first == node && next != std::string::npos) return rest.substr(0, next);
  return job.name.empty() ? job.job : "name " + job.name;
}

void ValidationQueue::add(ValidationWork work) {
  works_.push_back(std::move(work));
}

bool ValidationQueue::add_retry(ValidationWork work) {
  works_.push_back(std::move(work));
  if (std::ranges::count_if(works_, is_retry) <= static_cast<std::ptrdiff_t>(kMostRetries)) return true;
  works_.erase(std::ranges::find_if(works_, is_retry));
  return false;
}

ValidationWork* ValidationQueue::find(std::uint64_t number) {
  const auto found = std::ranges::find(works_, number, &ValidationWork::number);
  return found == works_.end() ? nullptr : &*found;
}

std::size_t ValidationQueue::first_tries() const {
  return works_.size() - static_cast<std::size_t>(std::ranges::count_if(works_, is_retry));
}

std::size_t ValidationQueue::first_tries_of(const EndedJob& job) const {
  const std::string submitter = submitter_of(job, node_);
  return static_cast<std::size_t>(std::ranges::count_if(works_, [&](const ValidationWork& work) {
    return !is_retry(work) && submitter_of(work.job, node_) == submitter;
  }));
}

std::uint64_t ValidationQueue::last_turn(const ValidationWork& work) const {
  const auto turn = turns_.find(submitter_of(work.job, node_));
  return turn == turns_.end() ? 0 : turn->second;
}

bool ValidationQueue::is_before(const ValidationWork& a, const ValidationWork& b) const {
  const bool is_a_late = a.passed_over >= kMostPassedOver;
  const bool is_b_late = b.passed_over >= kMostPassedOver;
  if (is_a_late != is_b_late) return is_a_late;
  if (!is_a_late && is_more_urgent(a.facts, b.facts)) return true;
  if (!is_a_late && is_more_urgent(b.facts, a.facts)) return false;
  return std::tuple(is_retry(a), last_turn(a), a.number) < std::tuple(is_retry(b), last_turn(b), b.number);
}

std::optional<ValidationWork> ValidationQueue::take(
    const std::function<bool(const ValidationWork&)>& is_ready) {
  auto best = works_.end();
  for (auto work = works_.begin(); work != works_.end(); ++work)
    if (is_ready(*work) && (best == works_.end() || is_before(*work, *best))) best = work;
  if (best == works_.end()) return std::nullopt;
  ValidationWork taken = std::move(*best);
  works_.erase(best);
  note_turn(taken, is_ready);
  return taken;
}

void ValidationQueue::note_turn(const ValidationWork& taken,
                                const std::function<bool(const ValidationWork&)>& is_ready) {
  std::set<std::string> waiting;
  for (ValidationWork& work : works_) {
    waiting.insert(submitter_of(work.job, node_));
    if (work.number < taken.number && is_ready(work)) ++work.passed_over;
  }
  turns_[submitter_of(taken.job, node_)] = ++turn_;
  std::erase_if(turns_, [&](const auto& turn) { return !waiting.contains(turn.first); });
}

}  // namespace autopilot::postflight
