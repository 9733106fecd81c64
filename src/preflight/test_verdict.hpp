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

// Result for one GPU, or for the host in a test of the host.
struct TestedGpu {
  Subject gpu;
  Health health = Health::healthy;  // healthy: passed; unknown: no result
  Findings findings;
};

// Result of one diagnostic, from the judge of the check of the same name: only of this run, without history.
struct JudgedTest {
  std::string check;
  std::string operation;
  WallTime began{};
  WallTime finished{};
  std::vector<TestedGpu> gpus;  // the reserved GPUs; without a reservation, the GPUs with a result
  std::optional<TestedGpu> host = std::nullopt;  // of a test of the host as a whole

  // The result for that GPU; the host's result in a test of the host. Null: none.
  [[nodiscard]] const TestedGpu* find(const Subject& gpu) const;
};

// Judges an operation that succeeded. A finding about the host counts for each GPU. Pure.
[[nodiscard]] JudgedTest judge_test(const checks::Check& check, const Operation& operation,
                                    const catalog::Catalog& facts, const Expectation& expectation);

// Judges pings from this node to others (network.ping) and their observations `seen`. An interface of this
// node that reaches no node, loses packets or is late is a fault of the host; faults of other nodes are not.
// The host is unknown if no node answers over an interface and too few were asked to separate its fault from
// theirs, or if no node could be asked.
[[nodiscard]] JudgedTest judge_pings(const checks::Check& check, const Operation& operation,
                                     const Observations& seen, const catalog::Catalog& facts,
                                     const Expectation& expectation);

// Judges a diagnostic without a check: `<kind>.mismatches` is the number of wrong results. Not set: that
// observation is missing.
[[nodiscard]] std::optional<JudgedTest> judge_host_test(const Operation& operation);

// Completes the subjects of an operation from `known`: its child names GPUs only by their keys.
void complete_subjects(Operation& operation, std::span<const Subject> known);

// One record for each GPU that passed and has a known UUID, with the start of the diagnostic as its time: a
// fault during the diagnostic is then later than the record. A host that passed counts for `all` of its GPUs,
// so that a holder of the node gets the record.
[[nodiscard]] std::vector<PassRecord> pass_records_of(const JudgedTest& test, std::span<const Subject> all,
                                                      const std::string& boot_id);

}  // namespace autopilot::preflight
