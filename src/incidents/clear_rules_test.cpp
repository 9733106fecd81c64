// SPDX-License-Identifier: Apache-2.0
// The way back of every reason in the catalog: what ends it, and what must not.
#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <utility>

#include "tests/support/incidents/node_state_fixture.hpp"

namespace autopilot::incidents {
namespace {

using catalog::ClearRule;
using std::chrono::seconds;
using testing::answers;
using testing::at;
using testing::finding;
using testing::gpu;
using testing::kBoot;
using testing::kNextBoot;

constexpr Duration kPeriod = seconds{30};
const Subject kCard = gpu("0000:3b:00.0", "S1");
const Subject kOtherCard = gpu("0000:5e:00.0", "S2");

// One node with one finding of a reason, which is not reported any more once it is raised.
class Node {
 public:
  explicit Node(const catalog::Reason& reason, Attributes evidence = {})
      : reason_(reason), evidence_(std::move(evidence)) {
    for (int i = 0; i < reason.raise_rounds; ++i)
      look(said(), {kCard, kOtherCard});
    EXPECT_TRUE(stands()) << reason.id;
  }

  [[nodiscard]] Findings said() const {
    Finding result = finding(kCard, reason_.id, reason_.max_health);
    result.evidence = evidence_;
    return {result};
  }
  void look(const Findings& findings, const std::vector<Subject>& cards, Duration after = kPeriod) {
    now_ += after;
    state_.complete_round("any.check", at(now_), findings, answers(cards));
  }
  void quiet_look() { look({}, {kCard, kOtherCard}); }
  void restart(std::string_view boot) {
    const SavedState saved = state_.save();
    state_ = NodeState(lookup_, causes_, std::string(boot));
    now_ += seconds{1};
    state_.restore(saved, at(now_));
  }
  void reset(const Subject& gpu) { state_.gpu_was_reset(gpu, at(now_)); }
  void taken_back(const Subject& gpu, std::uint32_t code) { state_.taken_back(gpu, code, at(now_)); }
  void acknowledge() {
    const auto open = state_.incidents();
    ASSERT_EQ(open.size(), 1U);
    ASSERT_TRUE(state_.acknowledge(open[0].id, {"alice (uid 1000)", at(now_).wall, "seen"}, at(now_)));
  }

  [[nodiscard]] bool stands() const { return !state_.findings("any.check").empty(); }
  [[nodiscard]] std::string place() const {
    const auto findings = state_.findings("any.check");
    return findings.empty() ? "" : findings[0].subject.key;
  }

 private:
  const catalog::Reason& reason_;
  Attributes evidence_;
  std::vector<catalog::Cause> causes_;
  ReasonLookup lookup_ = [](std::string_view id) { return catalog::builtin().reason(id); };
  NodeState state_{lookup_, causes_, std::string(kBoot)};
  Duration now_{0};
};

// One round without it is enough, whatever else happened.
bool is_cleared_by_one_look(const catalog::Reason& reason) {
  const bool is_old_enough = kPeriod >= reason.clear_after;
  return (reason.clear == ClearRule::healthy_rounds && reason.clear_rounds <= 1 && is_old_enough) ||
         (reason.clear == ClearRule::expiry && is_old_enough);
}

class ClearRules : public ::testing::Test {
 protected:
  // Calls it for each reason that can hold; the others last exactly as long as they are said.
  template <class Function>
  static void for_each_reason(const Function& function) {
    int seen = 0;
    for (const catalog::Reason& reason : catalog::builtin().reasons()) {
      if (reason.max_health != Health::degraded && reason.max_health != Health::failed) continue;
      SCOPED_TRACE(reason.id + ", which clears by " + std::string(to_string(reason.clear)));
      function(reason);
      ++seen;
    }
    EXPECT_GT(seen, 50);
  }
};

TEST_F(ClearRules, time_and_healthy_looks_end_only_what_waits_for_them) {
  for_each_reason([](const catalog::Reason& reason) {
    Node node(reason);
    node.quiet_look();
    EXPECT_NE(node.stands(), is_cleared_by_one_look(reason));
    const int looks = std::max(1, reason.clear_rounds);
    for (int i = 0; i < looks; ++i)
      node.look({}, {kCard, kOtherCard}, std::max(kPeriod, reason.clear_after / looks + seconds{1}));
    EXPECT_NE(node.stands(), reason.clear == ClearRule::healthy_rounds || reason.clear == ClearRule::expiry);
  });
}

TEST_F(ClearRules, a_restart_of_the_agent_ends_nothing) {
  for_each_reason([](const catalog::Reason& reason) {
    Node node(reason);
    node.restart(kBoot);
    EXPECT_TRUE(node.stands());
    node.quiet_look();
    EXPECT_NE(node.stands(), is_cleared_by_one_look(reason));
  });
}

TEST_F(ClearRules, a_reboot_ends_what_waits_for_it_or_for_a_reset_once_somebody_looked) {
  for_each_reason([](const catalog::Reason& reason) {
    Node node(reason);
    node.restart(kNextBoot);
    EXPECT_TRUE(node.stands()) << "nobody has looked in this boot";
    node.quiet_look();
    EXPECT_NE(node.stands(), reason.clear == ClearRule::reboot || reason.clear == ClearRule::gpu_reset ||
                                 is_cleared_by_one_look(reason));
  });
}

TEST_F(ClearRules, a_reset_of_the_gpu_ends_what_waits_for_it) {
  for (const Subject& what : {kCard, host_subject()})
    for_each_reason([&what](const catalog::Reason& reason) {
      Node node(reason);
      node.reset(what);
      EXPECT_TRUE(node.stands()) << "nobody has looked since";
      node.quiet_look();
      EXPECT_NE(node.stands(), reason.clear == ClearRule::gpu_reset || is_cleared_by_one_look(reason));
    });
}

TEST_F(ClearRules, what_the_driver_takes_back_ends_by_time_no_longer) {
  const catalog::Reason& reason = *catalog::builtin().reason("xid_power");
  ASSERT_EQ(reason.clear, ClearRule::expiry);
  Node node(reason, {{"code", std::int64_t{163}}});
  node.taken_back(kOtherCard, 163);
  node.taken_back(kCard, 54);
  node.quiet_look();
  EXPECT_TRUE(node.stands()) << "of another card, or another error";
  node.taken_back(kCard, 163);
  EXPECT_FALSE(node.stands());
  // Told again afterwards, it counts anew.
  node.look(node.said(), {kCard, kOtherCard});
  node.quiet_look();
  EXPECT_TRUE(node.stands());
}

TEST_F(ClearRules, a_reset_of_another_gpu_ends_nothing) {
  for_each_reason([](const catalog::Reason& reason) {
    Node node(reason);
    node.reset(kOtherCard);
    node.quiet_look();
    EXPECT_NE(node.stands(), is_cleared_by_one_look(reason));
  });
}

TEST_F(ClearRules, what_is_still_there_survives_reset_reboot_and_acknowledgement) {
  for_each_reason([](const catalog::Reason& reason) {
    Node node(reason);
    node.reset(kCard);
    node.acknowledge();
    node.restart(kNextBoot);
    node.look(node.said(), {kCard, kOtherCard});
    EXPECT_TRUE(node.stands());
  });
}

TEST_F(ClearRules, an_operator_ends_only_what_waits_for_one) {
  for_each_reason([](const catalog::Reason& reason) {
    Node node(reason);
    node.acknowledge();
    EXPECT_TRUE(node.stands()) << "nobody has looked since";
    node.quiet_look();
    EXPECT_NE(node.stands(), reason.clear == ClearRule::acknowledged || is_cleared_by_one_look(reason));
  });
}

TEST_F(ClearRules, another_card_in_the_slot_ends_everything) {
  for_each_reason([](const catalog::Reason& reason) {
    Node node(reason);
    node.look({}, {gpu(kCard.key, "S3"), kOtherCard});
    EXPECT_FALSE(node.stands());
  });
}

TEST_F(ClearRules, a_card_that_changes_its_slot_takes_its_findings_along) {
  for_each_reason([](const catalog::Reason& reason) {
    Node node(reason);
    node.look({}, {gpu(kCard.key, "S2"), gpu(kOtherCard.key, "S1")});
    EXPECT_EQ(node.place(), is_cleared_by_one_look(reason) ? "" : kOtherCard.key);
  });
}

}  // namespace
}  // namespace autopilot::incidents
