// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jobs/records.hpp"

namespace autopilot::jobs {

// Replicas of an inference server, by their serving records.
class Replicas {
 public:
  static constexpr std::size_t kMax = 4096;
  // Requests wait or run, and no token comes.
  static constexpr Duration kHungAfter = std::chrono::minutes(2);
  // A replica is slow if its time for a token is this much above the median of all replicas with load, in 8
  // of 10 minutes.
  static constexpr double kSlowRatio = 1.25;

  void add(const ServingRecord& record);

  struct Hung {
    std::string replica;
    WallTime since{};
    double requests = 0;
  };
  // Replicas that served before, have requests, and have reported no token for kHungAfter. A replica without
  // records for a minute is unknown, not hung.
  [[nodiscard]] std::vector<Hung> hung(WallTime now) const;

  struct Slow {
    std::string replica;
    double ratio = 1;  // its time for a token by the median of the others
    double per_token_s = 0;
    double median_s = 0;
  };
  // Ends a minute: compares the replicas' medians. Fewer than three with load are not compared.
  [[nodiscard]] std::vector<Slow> end_minute();

 private:
  struct Replica {
    std::vector<float> per_token;    // of this minute
    std::uint16_t slow_minutes = 0;  // the last minutes with load, newest in the lowest bit
    std::optional<WallTime> last_token, last_record;
    double requests = 0;
  };
  std::map<std::string, Replica> replicas_;
};

}  // namespace autopilot::jobs
