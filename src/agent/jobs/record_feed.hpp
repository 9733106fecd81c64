// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "jobs/records.hpp"
#include "net/http_server.hpp"

namespace autopilot::agent {

// Clients that follow records of jobs as server-sent events: `event: record` with one line of
// docs/reference/job-telemetry.md as data; `event: dropped` with {"records":N} if the client did not read
// fast enough: windows are dropped first, and a client whose queue is full is disconnected. Not thread-safe.
class RecordFeed {
 public:
  static constexpr std::size_t kMostFollowers = 8;
  static constexpr std::size_t kLongestLine = std::size_t{256}
                                              << 10;  // a longer record is dropped and counted

  // First `present`, then what is added. `job`: only its records and those of its nodes; empty: all.
  // exhausted: too many followers; the stream is closed then.
  [[nodiscard]] Status follow(net::EventStream stream, std::string job,
                              const std::vector<jobs::Record>& present);
  void add(const std::vector<jobs::Record>& records);
  [[nodiscard]] std::size_t size() const { return followers_.size(); }

 private:
  struct Follower {
    net::EventStream stream;
    std::string job;
    std::set<std::string> nodes;  // of the job
    std::uint64_t dropped = 0;    // since the last message about it
  };
  // False: the stream is closed.
  static bool send(Follower& follower, const jobs::Record& record);
  static bool is_wanted(Follower& follower, const jobs::Record& record);

  std::vector<Follower> followers_;
};

}  // namespace autopilot::agent
