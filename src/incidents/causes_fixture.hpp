// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "incidents/node_state.hpp"
#include "incidents/node_state_fixture.hpp"

namespace autopilot::incidents::testing {

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
