// SPDX-License-Identifier: Apache-2.0
#include "host/diagnostic_results/results.hpp"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/diagnostic_results/tree_results.hpp"

namespace autopilot::host {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Observations seen(std::string_view name) {
  Observation observation;
  observation.name = name;
  observation.value = true;
  return {observation};
}

TEST(TestResults, what_nobody_tests_is_not_supported) {
  EXPECT_EQ(TestResults::none().last("storage.pvc").error().code, Errc::unsupported);
  EXPECT_THAT(TestResults::none().checks(), IsEmpty());
  EXPECT_EQ(TestBoard().last("storage.pvc").error().code, Errc::unsupported);
}

TEST(TestResults, a_board_holds_what_was_put_there_last) {
  TestBoard board;
  board.put("storage.pvc", fail(Errc::unavailable, "no test has ended"));
  EXPECT_EQ(board.last("storage.pvc").error().code, Errc::unavailable);
  board.put("storage.pvc", seen("a"));
  board.put("storage.pvc", seen("b"));
  EXPECT_EQ(board.last("storage.pvc")->at(0).name, "b");
  EXPECT_EQ(board.last("gpu.other").error().code, Errc::unsupported);
  EXPECT_THAT(board.checks(), ElementsAre("storage.pvc"));
}

TEST(TestResults, what_is_found_of_some_subjects_leaves_that_of_others_as_it_was) {
  TestBoard board;
  const auto of = [](const std::string& gpu, double rate) {
    Observation one;
    one.name = "rate";
    one.subject = {SubjectKind::gpu, gpu, {}, {}, {}};
    one.value = rate;
    return one;
  };
  board.put("gpu.speed", fail(Errc::unavailable, "no test has ended"));
  board.add("gpu.speed", {of("a", 1), of("b", 2)});
  board.add("gpu.speed", {of("b", 3)});
  const Observations all = *board.last("gpu.speed");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].subject.key, "a");
  EXPECT_EQ(*all[1].value, Value(3.0));
}

// A rate stands beside what the tests before it measured of the card, and not beside itself.
TEST(TestResults, what_is_usual_of_a_card_is_told_with_its_rate) {
  TestBoard board;
  const auto measured = [](double rate) {
    Observation one;
    one.name = "memory_bandwidth.copy";
    one.subject = {SubjectKind::gpu, "a", {}, "GPU-1", {}};
    one.unit = "gigabytes_per_second";
    one.value = rate;
    return Observations{one};
  };
  const std::string test = "gpu.memory_bandwidth";
  board.remember(test, measured(1000));
  EXPECT_FALSE(board.last(test)) << "of an earlier agent, which is no result of now";
  board.add(test, measured(990));
  EXPECT_THAT(board.add(test, measured(1010)).front().attributes, IsEmpty()) << "two were before it";
  const Observations slow = board.add(test, measured(500));
  ASSERT_EQ(slow.front().attributes.size(), 1U);
  EXPECT_EQ(slow.front().attributes.front(), Attributes::value_type(kUsualBefore, 1000.0));
  EXPECT_EQ(board.last(test)->front().attributes, slow.front().attributes);
}

TEST(TestResults, a_test_that_tells_less_of_a_gpu_leaves_nothing_of_the_one_before) {
  TestBoard board;
  const auto of = [](const Subject& subject, const std::string& name, const std::string& word) {
    Observation one;
    one.name = name;
    one.subject = subject;
    one.value = Value(word);
    return one;
  };
  const Subject gpu{SubjectKind::gpu, "a", {}, {}, {}};
  board.add("gpu.speed", {of(host_subject(), "outcome", "measured"), of(host_subject(), "result", "passed"),
                          of(gpu, "rate", "1"), of(gpu, "throttled", "heat")});
  board.add("gpu.speed", {of(host_subject(), "outcome", "measured"), of(gpu, "rate", "2")});
  EXPECT_EQ(board.last("gpu.speed")->size(), 3U) << "the host's result, its new outcome, and the new rate";
  const Subject link{SubjectKind::link, "a|b", {}, {}, {}};
  const Subject other{SubjectKind::gpu, "b", {}, {}, {}};
  board.add("gpu.links", {of(gpu, "peers", "1"), of(other, "peers", "1"), of(link, "read", "300")});
  board.add("gpu.links", {of(gpu, "peers", "1"), of(other, "wrong", "?")});
  EXPECT_EQ(board.last("gpu.links")->size(), 2U) << "the link was not measured again";
  board.add("gpu.speed", {of(host_subject(), "outcome", "in_use")});
  EXPECT_EQ(board.last("gpu.speed")->size(), 3U) << "what was not made takes nothing away";
}

TEST(TestResults, what_a_tree_says_goes_before_the_board) {
  const std::string directory = ::testing::TempDir() + "tree_results";
  std::filesystem::create_directories(directory);
  std::ofstream(directory + "/machine.yaml")
      << "schema: autopilot.machine/v1\nnode: n\nboot_id: b\ntime: 2026-01-15T08:00:00Z\nuptime: 1h\n"
         "simulated: true\ntests: {a.tree: {error: denied}}\n";
  const auto tree = MachineTreeFile::open(directory);
  ASSERT_TRUE(tree) << tree.error().what;
  const auto board = std::make_shared<TestBoard>();
  board->put("a.tree", seen("x"));
  board->put("a.board", seen("y"));
  const TreeTestResults results(**tree, board);
  EXPECT_EQ(results.last("a.tree").error().code, Errc::denied);
  EXPECT_EQ(results.last("a.board")->at(0).name, "y");
  EXPECT_THAT(results.checks(), ElementsAre("a.board", "a.tree"));
  EXPECT_EQ(TreeTestResults(**tree, nullptr).last("a.board").error().code, Errc::unsupported);
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace autopilot::host
