// SPDX-License-Identifier: Apache-2.0
#include "controller/planner/policy.hpp"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

#include "tests/paths/paths.hpp"

namespace autopilot::controller {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

Policy policy_of(std::string_view text) {
  const auto policy = parse_policy(text, "policy.yaml");
  EXPECT_TRUE(policy.has_value()) << (policy ? "" : policy.error().what);
  return policy.value_or(Policy{});
}

std::string problems_of(std::string_view text) {
  const auto policy = parse_policy(text, "policy.yaml");
  EXPECT_FALSE(policy.has_value()) << text;
  return policy ? "" : policy.error().what;
}

TEST(Policy, without_a_word_of_the_operator_it_only_observes) {
  EXPECT_EQ(policy_of("").rules.mode, Mode::observe);
  EXPECT_EQ(policy_of("budgets: {pool_percent: 5}\n").rules.mode, Mode::observe);
}

TEST(Policy, every_key_is_read) {
  const Policy policy = policy_of(R"(
mode: act
budgets: {pool_percent: 7, domain_percent: 20, job_percent: 3, testing_percent: 2}
rates: {holds_per_hour: 4, evictions_per_hour: 9}
breaker: {nodes: 4, percent: 8, window: 10m}
telemetry: {stale_after: 6m}
preflight: {report_age: 30m, could_not_look: stop}
evictions: {method: delete, job_interval: 12h, need_spare: true, spare: anywhere}
returns: {proof: deep_test, test_every: 2h}
probation: {retests: [12h, 48h], patience: 6h}
requests: [reboot_node]
)");
  Rules rules;
  rules.mode = Mode::act;
  rules.pool_percent = 7;
  rules.domain_percent = 20;
  rules.job_percent = 3;
  rules.testing_percent = 2;
  rules.holds_per_hour = 4;
  rules.evictions_per_hour = 9;
  rules.breaker_nodes = 4;
  rules.breaker_percent = 8;
  rules.breaker_window = 10min;
  rules.stale_after = 6min;
  rules.report_age = 30min;
  rules.could_not_look = CouldNotLook::stop;
  rules.deletes_pods = true;
  rules.job_interval = 12h;
  rules.needs_spare = true;
  rules.prefers_same_domain = false;
  rules.proof = Proof::deep_test;
  rules.test_every = 2h;
  rules.retests = {12h, 48h};
  rules.retest_patience = 6h;
  rules.requests = {Action::reboot_node};
  EXPECT_EQ(policy.rules, rules);
}

TEST(Policy, a_pool_has_the_rules_of_all_but_for_its_own) {
  const Policy policy = policy_of(R"(
mode: hold
budgets: {pool_percent: 5}
pools:
  - name: h100
    selector: {instance-type: p5.48xlarge, tier: "1"}
    mode: act
  - name: rest
    selector: {instance-type: p5.48xlarge}
)");
  EXPECT_EQ(policy.pool_of({{"instance-type", "p5.48xlarge"}, {"tier", "1"}, {"zone", "a"}}), "h100");
  EXPECT_EQ(policy.pool_of({{"instance-type", "p5.48xlarge"}, {"tier", "2"}}), "rest");
  EXPECT_EQ(policy.pool_of({{"tier", "1"}}), "default");
  EXPECT_EQ(policy.of("h100").mode, Mode::act);
  EXPECT_EQ(policy.of("h100").pool_percent, 5);
  EXPECT_EQ(policy.of("rest").mode, Mode::hold);
  EXPECT_EQ(policy.of("default").mode, Mode::hold);
}

TEST(Policy, what_stands_after_the_pools_holds_for_them_too) {
  EXPECT_EQ(policy_of("pools: [{name: a, selector: {x: y}}]\nmode: hold\n").of("a").mode, Mode::hold);
}

TEST(Policy, an_unknown_key_is_named_with_its_line_and_the_nearest) {
  EXPECT_EQ(problems_of("mode: act\nbudgets:\n  pool_percnt: 5\n"),
            "policy.yaml:3: budgets: unknown key `pool_percnt`; did you mean `pool_percent`?");
}

TEST(Policy, all_problems_are_told_and_nothing_is_used) {
  const std::string text = problems_of(R"(mode: acts
budgets: {pool_percent: 101}
breaker: {window: 0s}
probation: {retests: [72h, 24h]}
requests: [make_coffee]
pools:
  - name: default
    selector: {a: b}
  - name: x
  - name: x
    selector: {}
)");
  EXPECT_THAT(text, HasSubstr("policy.yaml:1: policy: `mode`: unknown value `acts`"));
  EXPECT_THAT(text, HasSubstr("policy.yaml:2: `pool_percent`: expected a number from 0 to 100"));
  EXPECT_THAT(text, HasSubstr("policy.yaml:3: `window`: expected more than 0s"));
  EXPECT_THAT(text, HasSubstr("policy.yaml:4: `retests`: expected durations"));
  EXPECT_THAT(text, HasSubstr("policy.yaml:5: `requests`: expected drain_then_reset_gpu"));
  EXPECT_THAT(text, HasSubstr("policy.yaml:7: `name`: `default` is taken"));
  EXPECT_THAT(text, HasSubstr("policy.yaml:9: `selector`: expected labels"));
  EXPECT_THAT(text, HasSubstr("policy.yaml:10: `name`: `x` is taken"));
}

TEST(Policy, what_is_no_policy_is_refused) {
  EXPECT_THAT(problems_of("- mode: act\n"), HasSubstr("expected a map"));
  EXPECT_THAT(problems_of("mode: [act\n"), HasSubstr("policy.yaml:"));
  EXPECT_THAT(problems_of(std::string("mode: a\0b", 9)), HasSubstr("policy.yaml:"));
  EXPECT_THAT(problems_of("pools: [1]\n"), HasSubstr("expected a pool"));
  EXPECT_THAT(problems_of("pools: [{name: a, selector: {b: [c]}}]\n"), HasSubstr("`selector.b`"));
  std::string many = "pools:\n";
  for (std::size_t i = 0; i <= Policy::kMaxPools; ++i)
    many += "- {name: p" + std::to_string(i) + ", selector: {a: b}}\n";
  EXPECT_THAT(problems_of(many), HasSubstr("expected at most 100"));
}

TEST(Policy, lemons_are_held_only_if_it_says_so) {
  EXPECT_FALSE(policy_of("mode: act\n").rules.holds_lemons);
  EXPECT_TRUE(policy_of("lemons: {hold: true}\n").rules.holds_lemons);
  EXPECT_FALSE(parse_policy("lemons: {hold: perhaps}\n", "policy.yaml").has_value());
}

TEST(Policy, no_retests_are_no_probation) {
  EXPECT_TRUE(policy_of("probation: {retests: []}\n").rules.retests.empty());
}

TEST(Policy, a_share_is_never_less_than_one_node) {
  EXPECT_EQ(share_of(3, 10), 1);
  EXPECT_EQ(share_of(19, 10), 1);
  EXPECT_EQ(share_of(20, 10), 2);
  EXPECT_EQ(share_of(3000, 10), 300);
  EXPECT_EQ(share_of(0, 10), 1);
}

TEST(Policy, the_example_says_what_the_defaults_are) {
  const std::string path = paths::source("deploy/examples/remediation-policy.yaml");
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  const auto policy = parse_policy(text.str(), path);
  ASSERT_TRUE(policy.has_value()) << policy.error().what;
  EXPECT_EQ(policy->rules, Rules{});
  ASSERT_EQ(policy->pools.size(), 1U);
  EXPECT_EQ(policy->pools.front().rules.mode, Mode::hold);
}

}  // namespace
}  // namespace autopilot::controller
