// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "checks/builtin.hpp"
#include "tests/fakes/fake_host.hpp"
#include "tests/support/checks/test_log.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::checks {

// For tests of checks that read files and the kernel log: a machine with only what the test writes.
class LogCheckTest : public ::testing::Test {
 protected:
  // `step`: time between two runs, unless the test sets it.
  LogCheckTest(const Check& check, Duration step) : check_(check), step_(step) {}

  void say(const std::string& text, int facility = 0) {
    log_.write(empty_.clock.now(), text, [&](host::KernelRecord& record) { record.facility = facility; });
  }
  [[nodiscard]] Result<Observed> observe() const {
    const Instant now = empty_.clock.now();
    return check_.observe(
        host_, {.now = now, .deadline = now.mono + std::chrono::seconds{5}, .kernel_log_from = next_record_});
  }
  // Runs the check once more and returns its findings.
  Result<Findings> try_look(Duration later) {
    empty_.clock.advance(later);
    Observed observed = TRY(observe());
    next_record_ = observed.kernel_log_next.value_or(next_record_);
    witnesses_ = observed.witnesses;
    history_.add(std::move(observed.observations), check_.info.window);
    return check_.judge({.now = empty_.clock.now(),
                         .history = history_,
                         .facts = catalog::builtin(),
                         .expectation = expectation_});
  }
  // The same; the run must succeed.
  Findings look(Duration later) {
    auto findings = try_look(later);
    if (!findings) {
      ADD_FAILURE() << findings.error().what;
      return {};
    }
    return *std::move(findings);
  }
  Findings look() { return look(step_); }
  // "degraded cpu_stuck" for each finding, or the error code of a failed run.
  std::vector<std::string> reasons(Duration later) {
    const auto findings = try_look(later);
    if (!findings) return {std::string(to_string(findings.error().code))};
    std::vector<std::string> list;
    for (const Finding& finding : *findings)
      list.push_back(reason_of(finding));
    return list;
  }
  std::vector<std::string> reasons() { return reasons(step_); }
  static std::string reason_of(const Finding& finding) {
    return std::string(to_string(finding.health)) + " " + finding.reason;
  }

  const Check& check_;
  Duration step_;
  host::TestFolder folder_;
  fakes::EmptyHost empty_;
  host::Files files_{folder_.path()};
  TestLog log_;
  host::Host host_{empty_.clock,    files_,           log_,       empty_.gpus, empty_.filesystems,
                   empty_.ethernet, empty_.time_sync, empty_.nvme};
  History history_;
  Expectation expectation_;
  std::uint64_t next_record_ = 0;
  std::vector<std::string> witnesses_;
};

}  // namespace autopilot::checks
