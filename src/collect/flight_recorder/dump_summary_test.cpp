// SPDX-License-Identifier: Apache-2.0
#include "collect/flight_recorder/dump_summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::collect::dump_summary_test {
namespace {

using ::testing::HasSubstr;

DumpGroup group(const std::string& name, std::int64_t enqueued, std::int64_t completed) {
  DumpGroup made{.name = name, .description = "dp", .ranks = {0, 1}};
  made.enqueued = enqueued;
  made.completed = completed;
  return made;
}

TEST(DumpSummary, names_the_collective_in_which_a_rank_waits_and_the_rank_behind) {
  RankDump first{.rank = 0, .groups = {group("0", 12, 11)}};
  first.groups[0].open_collective =
      DumpOperation{.name = "nccl:all_reduce", .sequence = 12, .state = "started"};
  const RankDump second{.rank = 1, .groups = {group("0", 11, 11)}};
  EXPECT_EQ(summarise_dumps({first, second}),
            "process group 0 (dp), 2 ranks, dumps of 2\n"
            "  rank 0: waits in collective 12 nccl:all_reduce (started); last collective enqueued 12, "
            "completed 11\n"
            "  rank 1: last collective enqueued 11, completed 11\n"
            "  not enqueued collective 12: rank 1\n");
}

TEST(DumpSummary, a_rank_that_waits_for_its_peer_is_shown) {
  RankDump dump{.rank = 1, .groups = {{.name = "pp"}}};
  dump.groups[0].open_p2p = DumpOperation{.name = "nccl:recv 0<-1", .sequence = 8, .state = "started"};
  EXPECT_EQ(summarise_dumps({dump}),
            "process group pp, an unknown number of ranks, dumps of 1\n"
            "  rank 1: waits in send or receive 8 nccl:recv 0<-1 (started); last collective enqueued "
            "unknown, completed unknown\n");
}

TEST(DumpSummary, groups_at_rest_are_counted) {
  EXPECT_EQ(summarise_dumps({{.rank = 0, .groups = {group("0", 5, 5)}}}),
            "1 process groups have no open operation\n");
  EXPECT_EQ(summarise_dumps({}), "");
}

TEST(DumpSummary, equal_names_of_groups_with_other_members_are_two_groups) {
  RankDump first{.rank = 0, .groups = {group("tp", 9, 9)}};
  RankDump second{.rank = 2, .groups = {group("tp", 4, 4)}};
  second.groups[0].ranks = {2, 3};
  EXPECT_EQ(summarise_dumps({first, second}), "2 process groups have no open operation\n");
}

TEST(DumpSummary, of_many_groups_some_are_only_counted) {
  RankDump dump;
  for (std::size_t i = 0; i < kMostSummarisedGroups + 2; ++i) {
    dump.groups.push_back(group(std::to_string(i), 2, 1));
    dump.groups.back().open_collective = DumpOperation{.sequence = 2};
  }
  EXPECT_THAT(summarise_dumps({dump}), HasSubstr("\n2 more process groups have open operations\n"));
}

}  // namespace
}  // namespace autopilot::collect::dump_summary_test
