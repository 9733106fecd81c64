// SPDX-License-Identifier: Apache-2.0
#include "controller/reconcilers/ledger_objects.hpp"

#include <gtest/gtest.h>

namespace autopilot::controller {
namespace {

using namespace std::chrono_literals;

const WallTime kWritten{1'800'000'000'123ms};

LedgerEntry entry() {
  LedgerEntry entry;
  entry.name = "n1-1";
  entry.version = "12";
  entry.node = "n1";
  entry.node_uid = "u";
  entry.pool = "h100";
  entry.domain = "rack-3";
  entry.jobs = {"j"};
  entry.cause = "t";
  entry.evidence = {"r"};
  entry.tests = {"t"};
  entry.latest_evidence = kWritten - 1s;
  entry.phase = Phase::probation;
  entry.holds = true;
  entry.is_released = true;
  entry.created = kWritten - 5s;
  entry.updated = kWritten;
  entry.begun = kWritten - 4s;
  entry.returned = kWritten - 2s;
  entry.brake = "rate";
  entry.message = "m";
  entry.budget = "b";
  entry.spare = "n2";
  entry.steps = {"cordon n1"};
  entry.done = {{.kind = ActionKind::evict_pod, .target = "p", .at = kWritten, .is_counted = true}};
  return entry;
}

kube::RemediationPlan object_of(const LedgerEntry& entry) {
  kube::RemediationPlan plan;
  plan.meta.name = entry.name;
  plan.meta.version = entry.version;
  plan.spec = plan_spec(entry);
  plan.status = plan_status(entry, "");
  return plan;
}

TEST(LedgerObjects, are_read_as_they_are_written) {
  EXPECT_EQ(entry_fact(object_of(entry())), entry());
}

TEST(LedgerObjects, one_that_is_recorded_alone_holds_nothing_and_is_counted_all_the_same) {
  LedgerEntry recorded = entry();
  recorded.phase = Phase::recorded;
  const kube::RemediationPlan plan = object_of(recorded);
  EXPECT_FALSE(plan.status->holds);
  EXPECT_FALSE(plan.status->begun);
  EXPECT_EQ(plan.status->would_hold, recorded.begun);
  EXPECT_EQ(entry_fact(plan), recorded);
}

TEST(LedgerObjects, a_plan_without_a_status_waits_with_its_first_decision) {
  kube::RemediationPlan plan = object_of(entry());
  plan.status.reset();
  const LedgerEntry read = entry_fact(plan);
  EXPECT_EQ(read.phase, Phase::waiting);
  EXPECT_FALSE(read.holds);
  EXPECT_EQ(read.evidence, entry().evidence);
  EXPECT_EQ(read.tests, entry().tests);
  EXPECT_EQ(read.updated, entry().created);
}

TEST(LedgerObjects, words_of_a_newer_version_leave_a_plan_open) {
  kube::RemediationPlan plan = object_of(entry());
  plan.status->phase = "levitating";
  plan.status->done.push_back({"levitate", "x", kWritten, false});
  EXPECT_EQ(entry_fact(plan).phase, Phase::waiting);
  EXPECT_EQ(entry_fact(plan).done.size(), 1U);
}

TEST(LedgerObjects, say_why_a_step_could_not_be_done) {
  EXPECT_EQ(plan_status(entry(), "429").problem, "429");
}

}  // namespace
}  // namespace autopilot::controller
