// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace autopilot::postflight {

// A job without any process left on this node.
struct EndedJob {
  std::string job;   // key
  std::string name;  // for people
  WallTime start{};  // when this node saw it first
  WallTime end{};
  std::vector<int> gpus;  // driver indexes of the GPUs that it held on this node, ascending
};

// Jobs whose validation has not ended, as one value of the journal: an agent that is killed leaves it, and
// the next one records what was not validated. One line for each job, at most kMostOpenJobs and
// kMostOpenBytes: the first ones. Control characters of names become spaces.
inline constexpr std::size_t kMostOpenJobs = 512;
inline constexpr std::size_t kMostOpenBytes = std::size_t{64} << 10;
[[nodiscard]] std::string to_text(std::span<const EndedJob> jobs);
// malformed: a line differs from those of to_text, or there are too many.
[[nodiscard]] Result<std::vector<EndedJob>> parse_open_jobs(std::string_view text);

}  // namespace autopilot::postflight
