// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <gtest/gtest.h>
#include <string>
#include <utility>

#include "checks/check.hpp"
#include "checks/gpu/measured.hpp"

namespace autopilot::checks {

inline std::string evidence(const Finding& finding, std::string_view name) {
  const Value* value = find_attribute(finding.evidence, name);
  return value == nullptr ? "" : to_string(*value);
}

class MeasuredTest : public ::testing::Test {
 protected:
  static Subject gpu(int number) {
    return {SubjectKind::gpu, "0000:" + std::to_string(10 + number) + ":00.0", number, "", ""};
  }
  void says(const std::string& name, const Subject& subject, Value value, Attributes attributes = {},
            const std::string& tested_at = "2026-11-25T10:00:00Z") {
    Observation said;
    said.name = name;
    said.subject = subject;
    said.value = std::move(value);
    said.unit = "gigabytes_per_second";
    said.source = "probe";
    said.attributes = std::move(attributes);
    said.attributes.emplace_back("testedAt", tested_at);
    round_.push_back(std::move(said));
  }
  void says(const std::string& name, int number, Value value, Attributes attributes = {}) {
    says(name, gpu(number), std::move(value), std::move(attributes));
  }
  const JudgeInput& input() {
    history_.add(round_, std::chrono::minutes{10});
    return input_;
  }
  Expectation expectation_;

 private:
  Observations round_;
  History history_;
  JudgeInput input_{Instant{}, history_, catalog::builtin(), expectation_};
};

}  // namespace autopilot::checks
