// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "collect/progress/log_lines.hpp"
#include "collect/progress/step_guard.hpp"
#include "collect/progress/step_lines.hpp"
#include "core/result.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::step_lines_fuzz {
namespace {

using collect::LogFormat;

void check(const jobs::Record& record) {
  if (const auto* step = std::get_if<jobs::StepRecord>(&record)) {
    AUTOPILOT_ASSERT(step->job == "job");
    AUTOPILOT_ASSERT(!step->step_s || *step->step_s > 0);
    AUTOPILOT_ASSERT(!step->tokens || *step->tokens > 0);
    AUTOPILOT_ASSERT(!step->loss || std::isfinite(*step->loss) || std::isnan(*step->loss));
    return;
  }
  AUTOPILOT_ASSERT(std::holds_alternative<jobs::PhaseRecord>(record));
}

void read(std::string_view bytes, LogFormat format, std::size_t piece) {
  auto steps = collect::StepLines::create({"job", 0});
  AUTOPILOT_ASSERT(steps);
  std::vector<jobs::Record> records;
  WallTime now{std::chrono::seconds{1'800'000'000}};
  collect::LogLines lines(format);
  const auto sink = [&](const collect::LogLine& line) {
    AUTOPILOT_ASSERT(line.time <= now);
    AUTOPILOT_ASSERT(line.text.size() <= collect::ClippedText::kHead + collect::ClippedText::kTail + 1);
    steps->add(line, records);
  };
  while (!bytes.empty()) {
    lines.feed(bytes.substr(0, piece), now, sink);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    now += std::chrono::seconds{1};
  }
  lines.finish(now, sink);
  for (const jobs::Record& record : records)
    check(record);
}

}  // namespace

// A log of any bytes gives records with values in their ranges. The first byte is the size of the pieces.
int run(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  read(bytes, LogFormat::plain, std::size_t{data[0]} + 1);
  read(bytes, LogFormat::container, std::size_t{data[0]} + 1);
  // As a pattern of a user.
  if (auto steps = collect::StepLines::create({"job", 0}, bytes)) {
    std::vector<jobs::Record> records;
    steps->add({{}, "step 12 loss 2.0 lr 1e-4"}, records);
  }
  return 0;
}

}  // namespace autopilot::step_lines_fuzz
