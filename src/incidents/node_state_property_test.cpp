// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <random>
#include <set>

#include "incidents/node_state.hpp"
#include "tests/support/incidents/node_state_fixture.hpp"

namespace autopilot::incidents {
namespace {

using catalog::ClearRule;
using testing::at;

constexpr std::array kRules{ClearRule::healthy_rounds, ClearRule::gpu_reset,    ClearRule::reboot,
                            ClearRule::expiry,         ClearRule::acknowledged, ClearRule::replaced};

std::string words(const Finding& finding) {
  return to_string(finding.subject) + ' ' + finding.reason + ' ' + std::string(to_string(finding.health)) +
         ' ' + finding.message + ' ' + format_time(finding.since) + (finding.held ? " held" : "") +
         (finding.injected ? " injected" : "");
}

std::string words(const Incident& incident) {
  return incident.id + ' ' + std::string(to_string(incident.state)) + ' ' + to_string(incident.blamed) + ' ' +
         incident.reason + ' ' + std::string(to_string(incident.health)) + ' ' +
         format_time(incident.updated);
}

std::string words(const NodeState& state) {
  std::string text;
  for (const auto& finding : state.findings("gpu.x"))
    text += words(finding) + '\n';
  for (const auto& incident : state.incidents())
    text += words(incident) + '\n';
  for (const auto& saved : state.save().findings)
    text += saved.check + ' ' + words(saved.finding) + ' ' + saved.boot_id + ' ' + saved.state + '\n';
  return text;
}

// One node driven at random, twice: the second gets every list of findings in another order.
class RandomNode {
 public:
  explicit RandomNode(unsigned seed) : random_(seed) {
    for (const auto rule : kRules) {
      auto& reason = reasons_.add(std::string(catalog::to_string(rule)), rule);
      reason.raise_rounds = pick(1, 3);
      reason.clear_rounds = pick(1, 3);
      reason.clear_after = std::chrono::seconds{pick(0, 200)};
    }
  }

  void step() {
    now_ += std::chrono::seconds{pick(1, 60)};
    switch (pick(0, 19)) {
      case 0:
        return both([&](NodeState& state) { return state.gpu_was_reset(slot(0), at(now_)); });
      case 1:
        return acknowledge_any();
      case 2:
        return restart();
      case 3:
        boot_ = "boot" + std::to_string(++boots_);
        return restart();
      case 4:
      case 5:
        return blind_round();
      default:
        return round();
    }
  }

 private:
  int pick(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }
  [[nodiscard]] Subject slot(int number) const {
    return testing::gpu("slot" + std::to_string(number), "S" + std::to_string(number));
  }

  Findings any_findings() {
    Findings findings;
    for (int number = 0; number < 3; ++number)
      for (const auto rule : kRules) {
        if (pick(0, 2) != 0) continue;
        auto finding = testing::finding(slot(number), std::string(catalog::to_string(rule)),
                                        pick(0, 1) == 0 ? Health::degraded : Health::failed);
        finding.evidence = {{"count", std::int64_t{pick(0, 1)}}};
        finding.injected = pick(0, 9) == 0;
        findings.push_back(finding);
      }
    if (pick(0, 4) == 0) findings.push_back(testing::finding(slot(pick(0, 2)), "lost", Health::unknown));
    return findings;
  }

  void round() {
    Findings findings = any_findings();
    std::vector<Subject> seen;
    for (int number = 0; number < 3; ++number)
      if (pick(0, 9) != 0) seen.push_back(slot(number));
    const auto observations = testing::answers(seen);
    both([&](NodeState& state) {
      auto changes = state.complete_round("gpu.x", at(now_), findings, observations);
      std::ranges::shuffle(findings, random_);
      return changes;
    });
    for (const auto& said : findings) {
      if (said.health == Health::unknown || reasons_.lookup()(said.reason)->raise_rounds > 1) continue;
      EXPECT_TRUE(std::ranges::any_of(state_.findings("gpu.x"),
                                      [&](const Finding& shown) {
                                        return shown.subject == said.subject && shown.reason == said.reason &&
                                               shown.injected == said.injected && !shown.held;
                                      }))
          << "what is said is shown: " << words(said);
    }
  }

  void blind_round() {
    const auto before = state_.incidents();
    both([&](NodeState& state) {
      return state.complete_round("gpu.x", at(now_),
                                  {testing::finding(host_subject(), "timed_out", Health::unknown)}, {});
    });
    ASSERT_EQ(state_.incidents().size(), before.size());
    for (std::size_t i = 0; i < before.size(); ++i)
      EXPECT_EQ(words(state_.incidents()[i]), words(before[i]));
  }

  void acknowledge_any() {
    const auto open = state_.incidents();
    if (open.empty()) return;
    const auto id = open[static_cast<std::size_t>(pick(0, static_cast<int>(open.size()) - 1))].id;
    both([&](NodeState& state) {
      return state.acknowledge(id, {"alice", at(now_).wall, "seen"}, at(now_)).value();
    });
  }

  void restart() {
    both([&](NodeState& state) {
      const auto saved = state.save();
      NodeState next(reasons_.lookup(), causes_, boot_);
      auto changes = next.restore(saved, at(now_));
      if (saved.findings.empty() || saved.findings.front().boot_id == boot_) {
        const auto again = next.save();
        for (std::size_t i = 0; i < saved.findings.size(); ++i) {
          if (saved.findings[i].boot_id != boot_) continue;
          EXPECT_EQ(again.findings[i].state, saved.findings[i].state);
          EXPECT_EQ(words(again.findings[i].finding), words(saved.findings[i].finding));
        }
      }
      EXPECT_EQ(next.incidents().size(), state.incidents().size());
      EXPECT_TRUE(changes.empty());
      state = std::move(next);
      return changes;
    });
  }

  template <class Step>
  void both(Step&& run) {
    follow(run(state_));
    static_cast<void>(run(shuffled_));
    EXPECT_EQ(words(state_), words(shuffled_)) << "the order of findings must not matter";
  }

  // The changes alone must tell an observer what the state is.
  void follow(const Changes& changes) {
    for (const auto& transition : changes.transitions) {
      if (transition.incident.empty()) {
        EXPECT_EQ(transition.finding.health, Health::unknown);
        continue;
      }
      EXPECT_NE(transition.finding.health, Health::unknown);
      if (transition.kind == TransitionKind::raised) {
        EXPECT_TRUE(known_.insert(transition.incident).second) << "an id is used once";
        open_.insert(transition.incident);
      }
      if (transition.kind == TransitionKind::cleared) {
        EXPECT_EQ(open_.erase(transition.incident), 1U);
        if (transition.finding.injected) {
          EXPECT_FALSE(transition.rule);
        } else {
          EXPECT_EQ(catalog::to_string(*transition.rule), transition.finding.reason);
        }
      }
    }
    std::set<std::string> open;
    for (const auto& incident : state_.incidents()) {
      open.insert(incident.id);
      EXPECT_TRUE(incident.health == Health::degraded || incident.health == Health::failed);
    }
    EXPECT_EQ(open, open_);
    EXPECT_EQ(state_.save().findings.size(), open.size());
  }

  std::mt19937 random_;
  testing::Reasons reasons_;
  std::string boot_ = "boot0";
  int boots_ = 0;
  Duration now_{0};
  const std::vector<catalog::Cause> causes_;
  NodeState state_{reasons_.lookup(), causes_, boot_};
  NodeState shuffled_{reasons_.lookup(), causes_, boot_};
  std::set<std::string> known_;
  std::set<std::string> open_;
};

TEST(NodeStateProperty, holds_over_random_lives_of_a_node) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    RandomNode node(seed);
    for (int step = 0; step < 100; ++step)
      node.step();
    if (::testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

}  // namespace
}  // namespace autopilot::incidents
