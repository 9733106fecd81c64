// SPDX-License-Identifier: Apache-2.0

#include "controller/planner/plan.hpp"

#include "tests/support/controller/planner_fixture.hpp"

namespace autopilot::controller {

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Testing : public Planner {
 protected:
  void want_test(const std::string& name) {
    change(name, [&](Node& node) { node.wants_test = now_; });
    now_ += 1s;
  }
};

TEST_F(Testing, who_asks_first_may_be_reserved_in_every_mode) {
  policy_.rules.mode = Mode::observe;
  add_nodes(4);
  want_test("n2");
  want_test("n1");
  EXPECT_THAT(look().may_test, ElementsAre("n2"));
}

TEST_F(Testing, nodes_under_test_count_until_they_are_done) {
  add_nodes(4);
  want_test("n1");
  change("n2", [](Node& node) { node.verdict = Verdict::testing; });
  EXPECT_THAT(look().may_test, IsEmpty());
  change("n2", [&](Node& node) {
    node.verdict = Verdict::pass;
    node.granted_test = now_;
  });
  EXPECT_THAT(look().may_test, IsEmpty());
  change("n2", [](Node& node) { node.granted_test.reset(); });
  EXPECT_THAT(look().may_test, ElementsAre("n1"));
}

TEST_F(Testing, a_failure_domain_keeps_its_nodes_in_service) {
  add_nodes(40);
  want_test("n1");
  want_test("n2");
  want_test("n5");
  EXPECT_THAT(look().may_test, ElementsAre("n1", "n5"));
}

TEST_F(Testing, a_held_node_takes_nobodys_turn) {
  add_nodes(12);
  turn_bad("n1");
  settle();
  want_test("n1");
  want_test("n5");
  EXPECT_THAT(look().may_test, ElementsAre("n1", "n5"));
}

}  // namespace

}  // namespace autopilot::controller
