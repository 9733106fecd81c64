// SPDX-License-Identifier: Apache-2.0
#include "cli/recording/answers.hpp"

#include <gtest/gtest.h>

#include "core/yaml_text.hpp"
#include "host/machine_tree/machine_tree.hpp"

namespace autopilot::cli {

namespace {

using namespace std::chrono_literals;

// What a tree says of a test that was recorded so.
Result<Observations> recorded(const Result<Observations>& found, Instant now) {
  YamlNode machine = yaml_map();
  yaml_member(machine, "schema") = yaml_word("autopilot.machine/v1");
  yaml_member(machine, "node") = yaml_word("n");
  yaml_member(machine, "boot_id") = yaml_word("b");
  yaml_member(machine, "time") = yaml_word(format_time(now.wall));
  yaml_member(machine, "uptime") = yaml_word(format_duration(now.mono.time_since_epoch()));
  yaml_member(machine, "simulated") = yaml_flag(false);
  yaml_member(yaml_member(machine, "tests"), "storage.pvc") = active_test(found, now);
  const auto tree = host::parse_machine_tree(to_yaml(machine), "/t");
  if (!tree) return fail(tree.error());
  return tree->tests.at("storage.pvc");
}

TEST(ActiveTests, what_was_found_is_read_back_as_it_was) {
  const Instant now{WallTime{1'767'225'600s}, MonoTime{10h}};
  Observation outcome;
  outcome.name = "pvc.outcome";
  outcome.subject = {.kind = SubjectKind::peer, .key = "fast/ReadWriteOnce", .index = {}};
  outcome.value = std::string("bound");
  outcome.source = "kubernetes";
  outcome.time = {now.wall - 5min, now.mono - 5min};
  outcome.attributes = {{"accessMode", "true"}, {"patienceSeconds", 90.5}, {"count", std::int64_t{7}}};
  Observation unread = outcome;
  unread.value.reset();
  unread.missing = "denied";
  const auto found = recorded(Observations{outcome, unread}, now);
  ASSERT_TRUE(found) << found.error().what;
  ASSERT_EQ(found->size(), 2U);
  EXPECT_EQ(found->at(0).subject, outcome.subject);
  EXPECT_EQ(found->at(0).value, outcome.value);
  EXPECT_EQ(found->at(0).attributes, outcome.attributes);
  EXPECT_EQ(found->at(0).time.wall, outcome.time.wall);
  EXPECT_EQ(found->at(1).missing, "denied");
}

TEST(ActiveTests, an_error_is_read_back_as_well) {
  const Instant now{WallTime{1'767'225'600s}, MonoTime{10h}};
  EXPECT_EQ(recorded(fail(Errc::denied, "no right"), now).error().code, Errc::denied);
  EXPECT_EQ(recorded(fail(Errc::conflict, "x"), now).error().code, Errc::unavailable);
}

}  // namespace

}  // namespace autopilot::cli
