// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/record_feed.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "api/job_records.hpp"

namespace autopilot::agent {
namespace {

template <class R>
std::string_view job_of(const R& record) {
  if constexpr (requires { record.job; })
    return record.job;
  else
    return {};
}

template <class R>
std::string_view node_of(const R& record) {
  if constexpr (requires { record.node; })
    return record.node;
  else
    return {};
}

net::ServerEvent record_event(std::string line) {
  if (line.ends_with('\n')) line.pop_back();
  return {"", "record", std::move(line)};
}

}  // namespace

// A node is wanted from the time on at which the job has a rank there.
bool RecordFeed::is_wanted(Follower& follower, const jobs::Record& record) {
  if (follower.job.empty()) return true;
  if (const auto* job = std::get_if<jobs::JobRecord>(&record); job != nullptr && job->job == follower.job)
    for (const jobs::RankRecord& rank : job->ranks)
      follower.nodes.insert(rank.node);
  return std::visit(
      [&](const auto& held) {
        return job_of(held) == follower.job || follower.nodes.contains(std::string(node_of(held)));
      },
      record);
}

bool RecordFeed::send(Follower& follower, const jobs::Record& record) {
  const bool can_wait = std::holds_alternative<jobs::WindowRecord>(record);
  std::string line = api::to_line(record);
  if (line.size() > kLongestLine || (can_wait && !follower.stream.has_room())) {
    ++follower.dropped;
    return follower.stream.is_open();
  }
  if (follower.dropped > 0) {
    const std::string count = std::to_string(std::exchange(follower.dropped, 0));
    if (!follower.stream.send({"", "dropped", "{\"records\":" + count + "}"})) return false;
  }
  return follower.stream.send(record_event(std::move(line)));
}

Status RecordFeed::follow(net::EventStream stream, std::string job,
                          const std::vector<jobs::Record>& present) {
  std::erase_if(followers_, [](const Follower& held) { return !held.stream.is_open(); });
  if (followers_.size() >= kMostFollowers)
    return fail(Errc::exhausted, "too many clients follow records of jobs; at most " +
                                     std::to_string(kMostFollowers) + " can");
  Follower follower{.stream = std::move(stream), .job = std::move(job), .nodes = {}};
  // Jobs first: they state which nodes are wanted.
  for (const jobs::Record& record : present)
    if (std::holds_alternative<jobs::JobRecord>(record)) (void)is_wanted(follower, record);
  for (const jobs::Record& record : present)
    if (is_wanted(follower, record) && !send(follower, record)) return {};
  followers_.push_back(std::move(follower));
  return {};
}

void RecordFeed::add(const std::vector<jobs::Record>& records) {
  for (const jobs::Record& record : records)
    std::erase_if(followers_, [&](Follower& follower) {
      return is_wanted(follower, record) ? !send(follower, record) : !follower.stream.is_open();
    });
}

}  // namespace autopilot::agent
