// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "incidents/node_state.hpp"

namespace autopilot::incidents::testing {

inline constexpr std::string_view kBoot = "0123abcd-1111-2222-3333-444455556666";
inline constexpr std::string_view kNextBoot = "fedc9876-1111-2222-3333-444455556666";

inline Instant at(Duration since_start) {
  return {WallTime{std::chrono::hours{24 * 365 * 50}} + since_start,
          MonoTime{std::chrono::hours{1}} + since_start};
}

// A GPU in a slot, with the card's serial.
inline Subject gpu(const std::string& slot, const std::string& serial = {}) {
  Subject subject;
  subject.kind = SubjectKind::gpu;
  subject.key = slot;
  subject.serial = serial;
  return subject;
}

inline Finding finding(Subject subject, std::string reason, Health health = Health::failed) {
  Finding finding;
  finding.subject = std::move(subject);
  finding.health = health;
  finding.message = reason;
  finding.reason = std::move(reason);
  return finding;
}

// What observe returns when each of these devices answered.
inline Observations answers(const std::vector<Subject>& subjects) {
  Observations observations;
  for (const auto& subject : subjects) {
    Observation observation;
    observation.name = "temperature";
    observation.subject = subject;
    observation.value = std::int64_t{40};
    observations.push_back(observation);
  }
  return observations;
}

// Reasons made up for a test, by name.
class Reasons {
 public:
  catalog::Reason& add(const std::string& id, catalog::ClearRule rule) {
    auto& reason = reasons_[id];
    reason.id = id;
    reason.clear = rule;
    reason.max_health = Health::failed;
    return reason;
  }
  [[nodiscard]] ReasonLookup lookup() const {
    return [this](std::string_view id) -> const catalog::Reason* {
      const auto found = reasons_.find(id);
      return found == reasons_.end() ? nullptr : &found->second;
    };
  }

 private:
  std::map<std::string, catalog::Reason, std::less<>> reasons_;
};

}  // namespace autopilot::incidents::testing
