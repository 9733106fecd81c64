// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
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

namespace autopilot::preflight {

// One GPU of a test; of a test of the host, the host.
struct TestedGpu {
  Subject gpu;
  Health health = Health::healthy;  // healthy: it passed; unknown: the test says nothing of it
  Findings findings;
};

// What one test found, by the judge of the check of its name: of this test alone, without what was before.
struct JudgedTest {
  std::string check;
  std::string operation;
  WallTime began{};
  WallTime finished{};
  std::vector<TestedGpu> gpus;  // that it was to test, or without a reservation those that it told of
  std::optional<TestedGpu> host = std::nullopt;  // of a test that is about no single GPU

  // What is said of that GPU; of a test of the host, for each of them. Null: nothing.
  [[nodiscard]] const TestedGpu* find(const Subject& gpu) const;
};

// An operation that succeeded. What the judge says of the host, it says of each GPU. Pure.
[[nodiscard]] JudgedTest judge_test(const checks::Check& check, const Operation& operation,
                                    const catalog::Catalog& facts, const Expectation& expectation);

// Of questions that this node asked of others (network.ping), and of what it saw then. An interface of its
// own that reaches nobody, loses packets or is late is wrong with the host; what is wrong with others is not.
// Where nobody answered by way of an interface, and they were too few to tell them from it, or where nobody
// could be asked, nothing is known of the host.
[[nodiscard]] JudgedTest judge_pings(const checks::Check& check, const Operation& operation,
                                     const Observations& seen, const catalog::Catalog& facts,
                                     const Expectation& expectation);

// Of a test that no check judges: `<kind>.mismatches` counts what was computed wrongly. Nothing: it does not
// tell that.
[[nodiscard]] std::optional<JudgedTest> judge_host_test(const Operation& operation);

// The child of an operation names GPUs by their keys alone: what else is known of them comes from `known`.
void complete_subjects(Operation& operation, std::span<const Subject> known);

// One for each GPU that passed and whose UUID is known, of the time when the test began: what happened to a
// GPU while it was tested came after it. A host that passed counts for `all` of its GPUs: that
// is how whoever holds the node learns of it.
[[nodiscard]] std::vector<PassRecord> pass_records_of(const JudgedTest& test, std::span<const Subject> all,
                                                      const std::string& boot_id);

}  // namespace autopilot::preflight
