// SPDX-License-Identifier: Apache-2.0
#include "collect/progress/heartbeat.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "collect/progress/step_guard.hpp"
#include "core/parse.hpp"

namespace autopilot::collect {
namespace {

constexpr std::size_t kMaxName = 200;

struct PhaseWord {
  std::string_view word;
  jobs::Phase phase;
};
constexpr std::array kPhaseWords{
    PhaseWord{"init", jobs::Phase::startup},    PhaseWord{"compile", jobs::Phase::compile},
    PhaseWord{"train", jobs::Phase::train},     PhaseWord{"eval", jobs::Phase::evaluate},
    PhaseWord{"save", jobs::Phase::checkpoint}, PhaseWord{"load", jobs::Phase::load},
    PhaseWord{"data", jobs::Phase::train},      PhaseWord{"done", jobs::Phase::train}};

tl::unexpected<Error> wrong(std::string_view key, std::string_view value) {
  return fail(Errc::malformed,
              "heartbeat: " + std::string(key) + "=" + to_printable(value, 40) + " is not valid");
}

Result<std::int64_t> count(std::string_view key, std::string_view value, std::int64_t max) {
  const auto number = parse_number<std::int64_t>(value);
  if (!number || *number < 0 || *number > max) return wrong(key, value);
  return *number;
}

Result<double> amount(std::string_view key, std::string_view value) {
  const auto number = parse_number<double>(value);
  if (!number || *number <= 0 || *number > 1e15) return wrong(key, value);
  return *number;
}

Result<double> loss_of(std::string_view value) {
  const std::string lower = to_lower(value);
  if (lower == "nan" || lower.ends_with("inf")) return std::numeric_limits<double>::quiet_NaN();
  const auto number = parse_number<double>(value);
  if (!number) return wrong("loss", value);
  return *number;
}

Status set(Heartbeat& heartbeat, std::string_view key, std::string_view value) {
  if (key == "job") {
    if (!is_printable(value) || value.size() > 253) return wrong(key, value);
    heartbeat.job = value;
  } else if (key == "rank") {
    (void)TRY(count(key, value, 65535));
  } else if (key == "step") {
    heartbeat.step = TRY(count(key, value, StepGuard::kMaxStep));
  } else if (key == "t") {
    const auto nanoseconds = TRY(count(key, value, std::numeric_limits<std::int64_t>::max()));
    heartbeat.time = WallTime{std::chrono::nanoseconds{nanoseconds}};
  } else if (key == "ph") {
    const auto known = std::find_if(kPhaseWords.begin(), kPhaseWords.end(),
                                    [&](const PhaseWord& one) { return one.word == value; });
    if (known == kPhaseWords.end()) return wrong(key, value);
    heartbeat.phase = known->phase;
  } else if (key == "dt") {
    heartbeat.step_s = TRY(amount(key, value));
  } else if (key == "tok") {
    heartbeat.tokens = TRY(amount(key, value));
  } else if (key == "loss") {
    heartbeat.loss = TRY(loss_of(value));
  } else if (key == "ckpt") {
    heartbeat.checkpoint = TRY(count(key, value, StepGuard::kMaxStep));
  } else if (key == "ack") {
    heartbeat.ack = TRY(count(key, value, std::numeric_limits<std::int64_t>::max()));
  }
  return {};
}

}  // namespace

Result<Heartbeat> parse_heartbeat(std::string_view text) {
  if (text.size() > Heartbeat::kMaxBytes)
    return fail(Errc::malformed, "heartbeat: longer than " + std::to_string(Heartbeat::kMaxBytes) + " bytes");
  if (!text.starts_with("AP1 ")) return fail(Errc::malformed, "heartbeat: does not begin with AP1");
  Heartbeat heartbeat;
  int required = 0;
  for (const std::string_view word : split_words(text.substr(4))) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) return wrong(to_printable(word, 40), "");
    const std::string_view key = word.substr(0, equals);
    TRY_STATUS(set(heartbeat, key, word.substr(equals + 1)));
    required |= key == "job" ? 1 : key == "rank" ? 2 : key == "step" ? 4 : 0;
  }
  if (required != 7 || heartbeat.job.empty())
    return fail(Errc::malformed, "heartbeat: job, rank or step is missing");
  return heartbeat;
}

std::string command_file(std::string_view job) {
  std::string name(job.substr(0, kMaxName));
  for (char& c : name) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                          c == '.' || c == '_' || c == '-';
    if (!is_plain) c = '_';
  }
  return name == "." || name == ".." ? "" : name;
}

}  // namespace autopilot::collect
