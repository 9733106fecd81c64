// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "catalog/catalog.hpp"
#include "checks/check.hpp"
#include "core/clock.hpp"
#include "core/expectation.hpp"
#include "core/finding.hpp"
#include "core/operation.hpp"
#include "core/subject.hpp"

namespace autopilot::agent {

// One GPU of a test.
struct TestedGpu {
  Subject gpu;
  Health health = Health::healthy;  // healthy: it passed; unknown: the test says nothing of it
  Findings findings;
};

// What one test found, by the judge of the check of its name: of this test alone, without what was before.
struct JudgedTest {
  std::string check;
  std::string operation;
  WallTime finished{};
  std::vector<TestedGpu> gpus;  // that it was to test, or without a reservation those that it told of

  [[nodiscard]] const TestedGpu* find(const Subject& gpu) const;
};

// An operation that succeeded. What the judge says of the host, it says of each GPU. Pure.
[[nodiscard]] JudgedTest judge_test(const checks::Check& check, const Operation& operation,
                                    const catalog::Catalog& facts, const Expectation& expectation);

// One for each GPU that passed and whose UUID is known. known: the GPUs of the machine with their UUIDs.
[[nodiscard]] std::vector<PassRecord> pass_records_of(const JudgedTest& test, std::span<const Subject> known,
                                                      const std::string& boot_id);

}  // namespace autopilot::agent
