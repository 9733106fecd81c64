// SPDX-License-Identifier: Apache-2.0
#include "cli/output/network_tables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

namespace autopilot::cli {

namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Observation way(const std::string& source, const std::string& destination, double rate, double usual = 25e9) {
  Observation pair;
  pair.name = "bandwidth.received";
  pair.subject.kind = SubjectKind::link;
  pair.subject.key = source + "/eth2|" + destination + "/eth2";
  pair.value = rate;
  pair.attributes = {
      {"source", source}, {"destination", destination}, {"interface", std::string("eth2")}, {"usual", usual}};
  return pair;
}

TEST(BandwidthTable, a_matrix_shows_each_way_and_what_is_not_known) {
  Observation unmeasured = way("b", "c", 0);
  unmeasured.value.reset();
  EXPECT_EQ(render_bandwidth({way("a", "b", 24.5e9), way("b", "a", 9.413e9), unmeasured}, "", {}),
            "eth2, Gbit/s\n"
            "FROM \\ TO  1     2     3\n"
            "1 a        -     24.5  .\n"
            "2 b        9.41  -     ?\n"
            "3 c        .     .     -\n"
            "\n"
            "Suspects: none\n");
}

TEST(BandwidthTable, says_out_of_what_it_was_measured) {
  EXPECT_THAT(render_bandwidth({way("a", "b", 24.5e9)}, "GPU memory", {}),
              StartsWith("eth2, GPU memory, Gbit/s\n"));
}

TEST(BandwidthTable, what_is_low_has_a_colour) {
  const std::string shown =
      render_bandwidth({way("a", "b", 24.5e9), way("b", "a", 20e9)}, "", {.color = true});
  EXPECT_THAT(shown, HasSubstr("\x1b["));
  EXPECT_THAT(render_bandwidth({way("a", "b", 24.5e9)}, "", {.color = true}), Not(HasSubstr("\x1b[")));
}

TEST(BandwidthTable, of_many_nodes_the_lowest_pairs_are_told) {
  Observations pairs;
  for (std::size_t i = 0; i < 2 * kMostMatrixNodes; ++i)
    pairs.push_back(way("n" + std::to_string(i), "hub", i == 5 ? 5e9 : 25e9));
  const std::string shown = render_bandwidth(pairs, "", {});
  EXPECT_THAT(shown, StartsWith("eth2, slowest pairs\n"));
  EXPECT_THAT(shown, HasSubstr("OF TYPICAL\nn5    hub  5.00    20 %\n"));
}

TEST(BandwidthTable, pairs_of_which_nothing_is_known_stand_first) {
  Observations pairs;
  for (std::size_t i = 0; i < 2 * kMostMatrixNodes; ++i)
    pairs.push_back(way("n" + std::to_string(i), "hub", 25e9));
  pairs.back().value.reset();
  const std::string shown = render_bandwidth(pairs, "", {});
  EXPECT_THAT(shown, HasSubstr("OF TYPICAL\nn" + std::to_string(2 * kMostMatrixNodes - 1)));
  EXPECT_THAT(shown, HasSubstr(" ?       ?\n"));
  EXPECT_THAT(shown, HasSubstr(" more that are not slower\n"));
}

TEST(BandwidthTable, who_was_not_tested_is_told_with_the_reason) {
  Observation left;
  left.name = "bandwidth.left_out";
  left.subject = {SubjectKind::peer, "h6", {}, {}, {}};
  left.attributes = {{"error", std::string("does not answer")}};
  EXPECT_THAT(render_bandwidth({way("a", "b", 24.5e9), left}, "", {}),
              HasSubstr("NOT TESTED  REASON\npeer/h6     does not answer\n"));
}

TEST(BandwidthTable, suspects_come_with_the_surest_first) {
  const auto suspect = [](const std::string& node, double confidence) {
    Observation said;
    said.name = "bandwidth.suspect";
    said.subject.kind = SubjectKind::peer;
    said.subject.key = node;
    said.value = confidence;
    said.attributes = {{"kind", std::string("node")}, {"loss", 0.4}, {"sentence", node + " is slow"}};
    return said;
  };
  EXPECT_THAT(render_bandwidth({way("a", "b", 1e9), suspect("a", 0.6), suspect("b", 0.99)}, "", {}),
              HasSubstr("SUSPECT  KIND  SLOWER BY  CONFIDENCE  REASON\n"
                        "peer/b   node  40 %       0.99        b is slow\n"
                        "peer/a   node  40 %       0.60        a is slow\n"));
}

TEST(BandwidthTable, one_that_is_not_complete_says_so) {
  Observation rest;
  rest.name = "bandwidth.rest";
  rest.attributes = {{"error", std::string("the test was ended before it was complete: 1 of 4 tests")}};
  EXPECT_THAT(render_bandwidth({way("a", "b", 24.5e9), rest}, "", {}),
              HasSubstr("\n\nNOT COMPLETE: the test was ended before it was complete: 1 of 4 tests\n"
                        "Suspects: none yet\n"));
}

TEST(BandwidthTable, without_a_pair_there_is_nothing_to_show) {
  EXPECT_EQ(render_bandwidth({}, "", {}), "");
}

Observation said(const std::string& name, const std::string& key, Attributes attributes) {
  Observation observation;
  observation.name = name;
  observation.subject.kind = SubjectKind::peer;
  observation.subject.key = key;
  observation.attributes = std::move(attributes);
  return observation;
}

TEST(GroupTable, each_all_reduce_is_a_line_with_what_it_had_or_why_not) {
  Observation leaf =
      said("group.bus", "leaf L1",
           {{"nodes", std::int64_t{2}}, {"ranks", std::int64_t{16}}, {"members", std::string("a1, a2")}});
  leaf.value = 3004e9;
  const Observation absent = said("group.bus", "b2", {{"error", std::string("gpu 3 is in use")}});
  const Observation wrong =
      said("group.wrong", "a2",
           {{"group", std::string("all nodes")}, {"problem", std::string("119 in place of 136")}});
  EXPECT_EQ(render_groups({leaf, wrong, absent}, {}),
            "ALL-REDUCE  NODES  GPUS  GBIT/S  MEMBERS, OR ERROR\n"
            "leaf L1     2      16    3004    a1, a2\n"
            "all nodes                !       a2: 119 in place of 136\n"
            "b2                       ?       gpu 3 is in use\n");
}

TEST(GroupTable, of_pairs_there_is_none) {
  EXPECT_EQ(render_groups({said("bandwidth.received", "a|b", {})}, {}), "");
}

TEST(BandwidthPlanTable, tells_who_is_measured_with_whom_for_how_long_and_who_is_not) {
  const api::BandwidthPlan plan{.rails = {{"ib0", {"a", "b", "c"}}, {"ib1", {"c"}}},
                                .pairs = {{"ib0", "a", "c"}},
                                .seconds = 10,
                                .most_percent = 40,
                                .left_out = {{"d", "does not answer"}}};
  const std::string text = render_plan(plan, {});
  EXPECT_THAT(text, HasSubstr("ib0   3      a with c\n"));
  EXPECT_THAT(text, HasSubstr("ib1   1      none\n"));
  EXPECT_THAT(text, HasSubstr("about 10 s with 40 % of the line rate"));
  EXPECT_THAT(text, HasSubstr("LEFT OUT  REASON\nd         does not answer\n"));
}

TEST(BandwidthPlanTable, of_many_pairs_the_rest_is_counted) {
  api::BandwidthPlan plan{.rails = {{"ib0", {"a", "b"}}}, .pairs = {}, .seconds = 10, .left_out = {}};
  plan.pairs.assign(kMostPairsShown + 3, {"ib0", "a", "b"});
  const std::string text = render_plan(plan, {});
  EXPECT_THAT(text, HasSubstr("and 3 more"));
  EXPECT_THAT(text, HasSubstr("at the full line rate"));
  EXPECT_THAT(text, Not(HasSubstr("LEFT OUT")));
}

TEST(BandwidthPlanTable, of_all_pairs_says_how_many_rounds_they_take) {
  const api::BandwidthPlan plan{.rails = {{"ib0", {"a", "b", "c"}}},
                                .pairs = {{"ib0", "a", "b"}},
                                .seconds = 10,
                                .rounds = 3,
                                .left_out = {}};
  EXPECT_THAT(render_plan(plan, {}),
              HasSubstr("All pairs are tested, in 3 rounds of about 10 s at the full line rate"));
}

TEST(BandwidthPlanTable, says_that_a_machine_does_not_exist) {
  api::BandwidthPlan plan{
      .rails = {{"ib0", {"a", "b"}}}, .pairs = {{"ib0", "a", "b"}}, .seconds = 10, .left_out = {}};
  EXPECT_THAT(render_plan(plan, {}), StartsWith("RAIL"));
  plan.simulated = true;
  EXPECT_THAT(render_plan(plan, {}), StartsWith("SIMULATED\nRAIL"));
}

}  // namespace

}  // namespace autopilot::cli
