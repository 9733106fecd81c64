// SPDX-License-Identifier: Apache-2.0
#include "jobs/finding_book.hpp"

#include <gtest/gtest.h>

namespace autopilot::jobs::finding_book_test {
namespace {

constexpr WallTime kStart{std::chrono::hours(500000)};

WallTime at(int minutes) {
  return kStart + std::chrono::minutes(minutes);
}

JobFinding slow(const char* node, int gpu, double probability) {
  JobFinding finding;
  finding.id = std::string(node) + "/" + std::to_string(gpu);
  finding.job = "a";
  finding.effect = Effect::slow;
  finding.culprit = {EntityKind::gpu, node, gpu, ""};
  finding.probability = probability;
  finding.onset = kStart;
  return finding;
}

JobFinding hang(Entity culprit, Severity severity) {
  JobFinding finding;
  finding.id = "hang";
  finding.effect = Effect::hang;
  finding.culprit = std::move(culprit);
  finding.severity = severity;
  return finding;
}

TEST(FindingBook, reports_a_finding_once_until_it_changes) {
  FindingBook book;
  book.raise(slow("n1", 3, 0.8), at(1));
  book.raise(slow("n1", 3, 0.83), at(2));
  EXPECT_EQ(book.take().size(), 1U);
  book.raise(slow("n1", 3, 0.92), at(3));
  const auto changes = book.take();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].detected, at(1));
  EXPECT_DOUBLE_EQ(changes[0].probability, 0.92);
}

TEST(FindingBook, a_slow_creep_of_the_probability_is_reported_as_well) {
  FindingBook book;
  for (int minute = 0; minute < 6; ++minute)
    book.raise(slow("n1", 3, 0.5 + 0.03 * minute), at(minute));
  EXPECT_EQ(book.take().size(), 2U);
}

TEST(FindingBook, two_culprits_are_two_findings) {
  FindingBook book;
  book.raise(slow("n1", 3, 0.8), at(1));
  book.raise(slow("n2", 0, 0.8), at(1));
  EXPECT_EQ(book.open().size(), 2U);
}

TEST(FindingBook, a_part_at_fault_that_comes_to_slow_the_job_is_one_finding) {
  FindingBook book;
  JobFinding fault = slow("n1", 3, 0.8);
  fault.effect = Effect::none;
  book.raise(fault, at(1));
  JobFinding slower = slow("n1", 3, 0.8);
  slower.slowdown = 0.2;
  book.raise(slower, at(5));
  book.raise(fault, at(6));
  EXPECT_EQ(book.open().size(), 1U);
  const auto changes = book.take();
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[1].effect, Effect::slow);
  EXPECT_EQ(book.open()[0]->slowdown, 0.2);
}

TEST(FindingBook, a_hang_keeps_its_identity_when_its_culprit_becomes_known) {
  FindingBook book;
  book.raise(hang({}, Severity::page), at(1));
  book.raise(hang({EntityKind::host, "n7", -1, ""}, Severity::ticket), at(2));
  const auto changes = book.take();
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[1].culprit.node, "n7");
  EXPECT_EQ(changes[1].detected, at(1));
  EXPECT_EQ(changes[1].severity, Severity::page);
}

TEST(FindingBook, a_finding_without_new_evidence_is_resolved_and_a_hang_is_not) {
  FindingBook book;
  book.raise(slow("n1", 3, 0.8), at(1));
  book.raise(hang({}, Severity::page), at(1));
  (void)book.take();
  book.expire(at(10), std::chrono::minutes(10));
  EXPECT_TRUE(book.take().empty());
  book.expire(at(11), std::chrono::minutes(10));
  const auto changes = book.take();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].resolved, at(11));
  EXPECT_NE(book.find(Effect::hang), nullptr);
}

TEST(FindingBook, has_a_limit) {
  FindingBook book;
  for (int gpu = 0; gpu < 80; ++gpu)
    book.raise(slow("n1", gpu, 0.8), at(1));
  EXPECT_EQ(book.open().size(), FindingBook::kMaxOpen);
}

TEST(FindingBook, a_restored_finding_keeps_its_id_until_evidence_confirms_it) {
  FindingBook book;
  JobFinding earlier = slow("n1", 3, 0.8);
  earlier.id = "earlier";
  book.restore({earlier}, at(60));
  EXPECT_TRUE(book.take().empty());
  ASSERT_EQ(book.open().size(), 1U);
  EXPECT_FALSE(book.open()[0]->is_confirmed);
  book.raise(slow("n1", 3, 0.8), at(62));
  const auto changes = book.take();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].id, "earlier");
  EXPECT_TRUE(changes[0].is_confirmed);
}

TEST(FindingBook, an_unconfirmed_finding_ends_after_half_an_hour_and_says_why) {
  FindingBook book;
  book.restore({slow("n1", 3, 0.8), hang({EntityKind::host, "n1", -1, ""}, Severity::page)}, at(60));
  book.expire(at(89), std::chrono::minutes(10));
  EXPECT_TRUE(book.take().empty());
  book.expire(at(90), std::chrono::minutes(10));
  const auto changes = book.take();
  ASSERT_EQ(changes.size(), 1U) << "a hang ends with progress only";
  EXPECT_EQ(changes[0].resolved, at(90));
  EXPECT_NE(changes[0].summary.find("not seen again"), std::string::npos);
}

}  // namespace
}  // namespace autopilot::jobs::finding_book_test
