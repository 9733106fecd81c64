// SPDX-License-Identifier: Apache-2.0
#include "collect/ras/rank_map.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <utility>

#include "tests/support/host/ras_samples.hpp"

namespace autopilot::collect::rank_map_test {
namespace {

using host::sample_json;
using host::SampleCommunicator;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Two nodes with two ranks each, in pods with equal pids.
SampleCommunicator world() {
  return {.hash = "0xaa",
          .size = 4,
          .ranks = {{0, 7, 20}, {1, 8, 20, "10.0.0.1", 1}, {2, 7, 20, "10.0.0.2"}, {3, 8, 19, "10.0.0.2", 1}}};
}

SampleCommunicator second_pair() {
  return {.hash = "0xbb", .size = 2, .ranks = {{0, 8, 9}, {1, 8, 8, "10.0.0.2", 1}}};
}

JobPlaces first_node() {
  return {.local = {{0, 7, {0}}, {1, 8, {1}}}, .world = 4};
}

MappedAnswer map(const std::string& text, const JobPlaces& job) {
  return map_answer(host::parse_ras_answer(text).value(), job);
}

TEST(RankMap, a_communicator_that_spans_the_job_names_the_members_of_the_others) {
  SampleCommunicator pair = second_pair();
  pair.ranks[0].device = 1;
  const MappedAnswer mapped = map(sample_json({pair, world()}), first_node());
  EXPECT_TRUE(mapped.is_of_job);
  ASSERT_THAT(mapped.communicators, SizeIs(2));
  EXPECT_THAT(mapped.communicators[0].ranks, ElementsAre(1, 3));
  EXPECT_THAT(mapped.communicators[0].started, ElementsAre(9, 8));
  EXPECT_THAT(mapped.communicators[1].ranks, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(mapped.communicators[1].size, 4);
}

TEST(RankMap, a_communicator_with_a_member_that_nobody_knows_is_left_out) {
  const MappedAnswer mapped = map(sample_json({second_pair(), world()}), first_node());
  ASSERT_THAT(mapped.communicators, SizeIs(1)) << "device 0 of pid 8 is no rank of the world";
  EXPECT_EQ(mapped.unmapped, 1U);
}

TEST(RankMap, an_order_that_the_processes_contradict_is_not_used) {
  SampleCommunicator permuted = world();
  std::swap(permuted.ranks[0].pid, permuted.ranks[1].pid);
  const MappedAnswer mapped = map(sample_json({permuted}), first_node());
  EXPECT_THAT(mapped.communicators, IsEmpty());
}

TEST(RankMap, ranks_of_one_node_are_named_by_their_pids) {
  JobPlaces job{.local = {{0, 7, {0}}, {1, 8, {1}}}, .world = std::nullopt, .has_local_ranks = true};
  const SampleCommunicator both{.hash = "0xcc", .size = 2, .ranks = {{0, 8, 5}, {1, 7, 4}}};
  const MappedAnswer mapped = map(sample_json({both}), job);
  ASSERT_THAT(mapped.communicators, SizeIs(1));
  EXPECT_THAT(mapped.communicators[0].ranks, ElementsAre(1, 0));
}

TEST(RankMap, equal_pids_on_two_nodes_name_nobody) {
  JobPlaces job{.local = {{0, 7, {0}}, {1, 8, {1}}}, .world = std::nullopt, .has_local_ranks = true};
  EXPECT_THAT(map(sample_json({world()}), job).communicators, IsEmpty());
}

TEST(RankMap, several_ranks_of_one_process_are_told_apart_by_gpu) {
  const JobPlaces job{.local = {{0, 7, {4}}, {1, 7, {5}}}, .world = std::nullopt};
  const SampleCommunicator both{
      .hash = "0xcc", .size = 2, .ranks = {{0, 7, 5, "10.0.0.1", 5}, {1, 7, 4, "10.0.0.1", 4}}};
  const MappedAnswer mapped = map(sample_json({both}), job);
  ASSERT_THAT(mapped.communicators, SizeIs(1));
  EXPECT_THAT(mapped.communicators[0].ranks, ElementsAre(1, 0));
}

TEST(RankMap, the_answer_of_another_job_at_the_port_is_recognised) {
  JobPlaces job = first_node();
  job.is_shared = true;
  EXPECT_TRUE(map(sample_json({world()}), job).is_of_job);
  job.local = {{0, 70, {0}}, {1, 80, {1}}};
  EXPECT_FALSE(map(sample_json({world()}), job).is_of_job);
  EXPECT_FALSE(map(host::sample_text_dead().substr(0, host::sample_text_dead().find("DEAD\n")), job).is_of_job);
}

TEST(RankMap, missing_and_dead_ranks_are_named) {
  SampleCommunicator broken = world();
  broken.missing = {broken.ranks[2], broken.ranks[3]};
  broken.missing[0].started = 0;
  broken.missing[1].started = 1;
  broken.ranks.resize(2);
  const MappedAnswer mapped = map(sample_json({broken}, ""), first_node());
  ASSERT_THAT(mapped.communicators, SizeIs(1));
  EXPECT_THAT(mapped.communicators[0].missing, ElementsAre(2));
  EXPECT_THAT(mapped.communicators[0].dead, ElementsAre(3));
}

TEST(RankMap, a_communicator_that_is_aborted_is_left_out) {
  SampleCommunicator aborted = world();
  aborted.is_aborted = true;
  const MappedAnswer mapped = map(sample_json({aborted}), first_node());
  EXPECT_TRUE(mapped.is_of_job);
  EXPECT_THAT(mapped.communicators, IsEmpty());
}

TEST(RankMap, the_text_form_names_ranks_by_position) {
  const JobPlaces job{.local = {{0, 4711, {0}}}, .world = 8};
  const MappedAnswer behind = map(host::sample_text_mismatch(), job);
  ASSERT_THAT(behind.communicators, SizeIs(1));
  EXPECT_EQ(behind.communicators[0].ranks[5], 5);
  EXPECT_EQ(behind.communicators[0].started[5], 638);
  const MappedAnswer dead = map(host::sample_text_dead(), job);
  ASSERT_THAT(dead.communicators, SizeIs(1));
  EXPECT_THAT(dead.communicators[0].dead, ElementsAre(7));
}

}  // namespace
}  // namespace autopilot::collect::rank_map_test
