// SPDX-License-Identifier: Apache-2.0
#include "learning/adoption/version.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace autopilot::learning {
namespace {

using std::chrono::days;

constexpr WallTime kProposedAt{days(100)};

Version proposed_version(const std::string& to = "at least 2", std::uint32_t number = 1) {
  Proposal draft{.kind = ProposalKind::threshold, .subject = "x on gpu=H100", .to = to, .to_version = number};
  return {make_proposal(std::move(draft), kProposedAt), LearnedThreshold{"x", "gpu=H100", 2}, {}};
}

AdoptionRequest request_at(int day, bool is_now = false) {
  return {.now = WallTime{days(day)}, .author = "ops", .note = is_now ? "tried" : "", .is_now = is_now};
}

TEST(LearnedVersions, go_from_shadow_over_the_canary_to_all_nodes) {
  Version version = proposed_version();
  EXPECT_FALSE(version.state());
  ASSERT_TRUE(adopt(version, {}, request_at(101)));
  EXPECT_EQ(version.state(), ProposalState::shadow);
  EXPECT_EQ(adopt(version, {}, request_at(107)).error().code, Errc::conflict);
  ASSERT_TRUE(adopt(version, {}, request_at(108)));
  EXPECT_EQ(version.state(), ProposalState::canary);
  EXPECT_EQ(adopt(version, {}, request_at(108)).error().code, Errc::conflict);
  ASSERT_TRUE(adopt(version, {}, request_at(109)));
  EXPECT_EQ(version.state(), ProposalState::adopted);
  EXPECT_EQ(adopt(version, {}, request_at(110)).error().code, Errc::conflict);
  EXPECT_EQ(version.steps.size(), 3U);
}

TEST(LearnedVersions, a_wait_is_skipped_only_with_a_reason) {
  Version version = proposed_version();
  AdoptionRequest request = request_at(101, true);
  request.note.clear();
  EXPECT_EQ(adopt(version, {}, request).error().code, Errc::malformed);
  EXPECT_TRUE(version.steps.empty());
  ASSERT_TRUE(adopt(version, {}, request_at(101, true)));
  EXPECT_EQ(version.state(), ProposalState::canary);
  ASSERT_TRUE(adopt(version, {}, request_at(101, true)));
  EXPECT_EQ(version.state(), ProposalState::adopted);
}

TEST(LearnedVersions, are_reverted_from_every_state_and_can_begin_again) {
  Version version = proposed_version();
  EXPECT_EQ(revert(version, request_at(100)).error().code, Errc::conflict);
  for (int steps = 1; steps <= 3; ++steps) {
    for (int step = 0; step < steps; ++step)
      ASSERT_TRUE(adopt(version, {}, request_at(100 + 10 * step)));
    ASSERT_TRUE(revert(version, request_at(140)));
    EXPECT_EQ(version.state(), ProposalState::reverted);
    EXPECT_EQ(in_use(std::vector{version}, ProposalKind::threshold, "x on gpu=H100", "n1"), nullptr);
  }
}

TEST(LearnedVersions, only_one_of_a_subject_is_tried_at_a_time) {
  std::vector<Version> others{proposed_version()};
  ASSERT_TRUE(adopt(others[0], {}, request_at(101)));
  Version next = proposed_version("at least 3");
  const Status refused = adopt(next, others, request_at(102));
  EXPECT_EQ(refused.error().code, Errc::conflict);
  EXPECT_NE(refused.error().what.find(others[0].proposal.id), std::string::npos);
  ASSERT_TRUE(revert(others[0], request_at(102)));
  EXPECT_TRUE(adopt(next, others, request_at(103)));
}

TEST(LearnedVersions, the_last_good_one_is_in_use_again_after_a_revert) {
  std::vector<Version> versions{proposed_version(), proposed_version("at least 3", 2)};
  for (Version& version : versions)
    for (int step = 0; step < 2; ++step)
      ASSERT_TRUE(adopt(version, {}, request_at(101 + step, true)));
  const auto id_in_use = [&] {
    return in_use(versions, ProposalKind::threshold, "x on gpu=H100", "n1")->proposal.id;
  };
  EXPECT_EQ(id_in_use(), versions[1].proposal.id);
  ASSERT_TRUE(revert(versions[1], request_at(110)));
  EXPECT_EQ(id_in_use(), versions[0].proposal.id);
  EXPECT_EQ(in_use(versions, ProposalKind::baseline, "x on gpu=H100", "n1"), nullptr);
}

TEST(LearnedVersions, a_canary_has_a_tenth_of_the_nodes_and_each_version_its_own) {
  const std::vector<Version> versions{proposed_version(), proposed_version("at least 3")};
  int nodes = 0, both = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::string node = "gpu-" + std::to_string(i);
    const bool is_first = is_canary_node(versions[0], node);
    nodes += is_first ? 1 : 0;
    both += is_first && is_canary_node(versions[1], node) ? 1 : 0;
    EXPECT_EQ(is_canary_node(versions[0], node), is_first);
  }
  EXPECT_NEAR(nodes, 1000, 100);
  EXPECT_NEAR(both, 100, 40);
  EXPECT_FALSE(is_canary_node(versions[0], ""));
}

TEST(LearnedVersions, a_canary_is_in_use_on_its_nodes_only) {
  std::vector<Version> versions{proposed_version()};
  ASSERT_TRUE(adopt(versions[0], {}, request_at(101, true)));
  int nodes = 0;
  for (int i = 0; i < 1000; ++i)
    nodes += in_use(versions, ProposalKind::threshold, "x on gpu=H100", "n" + std::to_string(i)) != nullptr;
  EXPECT_GT(nodes, 50);
  EXPECT_LT(nodes, 160);
}

TEST(LearnedVersions, have_a_limit_of_steps) {
  Version version = proposed_version();
  version.steps.assign(Version::kMostSteps, {ProposalState::reverted, kProposedAt, "ops", ""});
  EXPECT_EQ(adopt(version, {}, request_at(200)).error().code, Errc::exhausted);
}

}  // namespace
}  // namespace autopilot::learning
