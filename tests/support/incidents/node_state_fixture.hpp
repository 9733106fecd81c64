// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
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

inline const Subject kGpu = gpu("0000:3b:00.0", "S1");
inline const Subject kOther = gpu("0000:5d:00.0", "S2");
inline constexpr std::string_view kXid = "gpu.xid";

// A node whose findings and records are grouped by the rules of the built-in catalog.
class Causes : public ::testing::Test {
 protected:
  Causes() : state_(lookup(), catalog::builtin().causes(), std::string(kBoot)) {}

  static ReasonLookup lookup() {
    return [](std::string_view id) { return catalog::builtin().reason(id); };
  }
  [[nodiscard]] Finding coded(Subject subject, const std::string& reason, int code,
                              Health health = Health::failed) const {
    auto result = finding(std::move(subject), reason, health);
    result.evidence = {{"code", std::int64_t{code}}};
    result.since = at(now_).wall;
    return result;
  }
  [[nodiscard]] Finding record(const Subject& subject, const std::string& reason, int code,
                               const std::string& process = "", const std::string& pid = "") const {
    auto result = coded(subject, reason, code, Health::healthy);
    result.last_seen = result.since;
    result.message = "Xid " + std::to_string(code);
    if (!process.empty()) result.evidence.emplace_back("process", process);
    if (!pid.empty()) result.evidence.emplace_back("pid", pid);
    return result;
  }
  Changes round(std::string_view check, const Findings& findings, const Findings& records = {}) {
    return state_.complete_round(check, at(now_), findings, answers({kGpu, kOther}), records);
  }
  Changes xid(const Findings& findings, const Findings& records = {}) {
    return round(kXid, findings, records);
  }
  const Incident& only() {
    incidents_ = state_.incidents();
    EXPECT_EQ(incidents_.size(), 1U);
    static const Incident none;
    return incidents_.empty() ? none : incidents_.front();
  }
  void restart() {
    const auto saved = state_.save();
    state_ = NodeState(lookup(), catalog::builtin().causes(), std::string(kBoot));
    const auto changes = state_.restore(saved, at(now_));
    EXPECT_TRUE(changes.empty());
  }

  NodeState state_;
  Duration now_{0};
  std::vector<Incident> incidents_;
};

}  // namespace autopilot::incidents::testing
