// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "jobs/findings.hpp"

// What a person reads about a finding, and when.
namespace autopilot::jobs {

// changed: more severe, or new facts after the cool-down.
enum class AlertKind : std::uint8_t { raised, changed, resolved };

struct Alert {
  std::string id;  // of the finding
  std::string job;
  AlertKind kind = AlertKind::raised;
  Severity severity = Severity::info;
  WallTime time{};
  std::string title;  // one sentence, at most 200 bytes
  std::string body;   // text of one screen: at most 40 lines, wrapped at 80 columns where words allow it
};

// 16 hexadecimal digits: equal for equal job, effect, culprit and onset, on every machine.
[[nodiscard]] std::string finding_id(std::string_view job, Effect effect, const Entity& culprit,
                                     WallTime onset);

// page: the job makes no progress, or an action on a named machine is due soon. ticket: a named machine slows
// the job or a job ended or got slower. info: the rest, and everything that is resolved.
[[nodiscard]] Severity severity_of(const JobFinding& finding);

// Time lost since the onset, in hours of one GPU: to `now`, or to the end of the finding. `gpus` of the job.
// A finding without a known slowdown lost nothing that is known.
[[nodiscard]] double lost_gpu_hours(const JobFinding& finding, int gpus, WallTime now);

// The message for a finding at `now`. Control characters in names and texts become spaces. A command is
// printed only for a node whose name is safe in a shell.
[[nodiscard]] Alert make_alert(const JobFinding& finding, const JobState& state, AlertKind kind,
                               WallTime now);

struct AlertLimits {
  Duration cool_down = std::chrono::minutes(60);  // between two messages of one id, unless it got more severe
  // More raises of one job, effect and culprit within this time are flapping: one message states it, and the
  // next follows after a cool-down without a raise.
  Duration flap_window = std::chrono::hours(6);
  int flaps = 3;
  std::size_t remembered = 8192;  // ids, and as many culprits; the oldest is forgotten first
};

// The last message about a finding.
struct SentAlert {
  WallTime last{};
  Severity severity = Severity::info;
  bool is_resolved = false;  // it was the end of the finding
  friend bool operator==(const SentAlert&, const SentAlert&) = default;
};

// Which findings become messages. Time is passed in. Not thread-safe.
class Alerts {
 public:
  explicit Alerts(AlertLimits limits = {});

  // A finding that is new, changed or resolved. nullopt: nothing is sent. The end of a finding is sent once,
  // if its begin was.
  [[nodiscard]] std::optional<Alert> offer(const JobFinding& finding, const JobState& state, WallTime now);

  // nullopt: no message, or it is forgotten.
  [[nodiscard]] std::optional<SentAlert> sent(std::string_view finding) const;
  // A message that an earlier process sent.
  void restore(const std::string& finding, const SentAlert& sent);

  [[nodiscard]] std::uint64_t suppressed() const { return suppressed_; }

 private:
  struct Raises {
    std::deque<WallTime> times;  // within the flap window, at most flaps + 1
    bool is_flapping = false;
  };

  [[nodiscard]] std::optional<Alert> raise(const JobFinding& finding, const JobState& state, WallTime now);
  [[nodiscard]] std::optional<Alert> resolve(const JobFinding& finding, const JobState& state, WallTime now);
  // Whether the finding may be sent; sets the text that is added to the message.
  bool count_raise(const JobFinding& finding, WallTime now, std::string& note);
  void forget_oldest();

  AlertLimits limits_;
  std::map<std::string, SentAlert, std::less<>> sent_;
  std::map<std::string, Raises, std::less<>> raises_;
  std::uint64_t suppressed_ = 0;
};

}  // namespace autopilot::jobs
