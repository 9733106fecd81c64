// SPDX-License-Identifier: Apache-2.0
#include "scenario/simulation.hpp"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::simulator {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(Scenario, ReadsATimeline) {
  const auto scenario = parse_scenario(
      "schema: autopilot.scenario/v1\ntitle: t\nmachine: hgx-h100-8\ntimeline:\n"
      "  - {at: 30s, fault: fell_off_bus, subject: gpu/3}\n"
      "  - {at: 1m, fault: throttle, magnitude: 0.4, kind: hw_thermal, until: 5m}\n"
      "expect: {verdict: EVICT}\n",
      "s.yaml");
  ASSERT_TRUE(scenario) << scenario.error().what;
  ASSERT_EQ(scenario->timeline.size(), 2U);
  EXPECT_EQ(scenario->timeline[0].at, 30s);
  EXPECT_EQ(scenario->timeline[1].until, 5min);
  EXPECT_EQ(scenario->timeline[1].magnitude, 0.4);
  EXPECT_EQ(scenario->expected, Verdict::evict);
}

TEST(Scenario, NamesTheLineOfEveryMistake) {
  const auto problems = [](const std::string& timeline) {
    const auto scenario =
        parse_scenario("schema: autopilot.scenario/v1\nmachine: no-gpu\ntimeline:\n" + timeline, "s.yaml");
    return scenario ? "parsed" : scenario.error().what;
  };
  EXPECT_THAT(problems("  - {at: 1s, fault: explode}\n"), HasSubstr("s.yaml:4: unknown fault `explode`"));
  EXPECT_THAT(problems("  - {at: soon, fault: oom}\n"), HasSubstr("s.yaml:4: fault: `at`"));
  EXPECT_THAT(problems("  - {at: 5s, fault: oom, until: 2s}\n"), HasSubstr("`until` is before"));
  EXPECT_THAT(problems("  - {at: 5s, fault: oom, colour: red}\n"), HasSubstr("unknown key `colour`"));
  EXPECT_THAT(problems("  - oom\n"), HasSubstr("expected a map"));
  EXPECT_FALSE(parse_scenario("schema: autopilot.scenario/v2\n", "s.yaml"));
  EXPECT_FALSE(parse_scenario("", "s.yaml"));
  EXPECT_FALSE(parse_scenario("\xff\xfe", "s.yaml"));
}

class PlayedTreeTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(directory_);
    ASSERT_TRUE(PlayedTree::create(directory_, open_source("no-gpu").value().simulation, 0s));
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string text(const std::string& path) {
    return read_text(directory_ + path, 1 << 20).value_or("absent");
  }

  const std::string directory_ = testing::TempDir() + "played_tree_" + std::to_string(::getpid());
  const std::string vmstat_ = "/root/proc/vmstat";
};

TEST_F(PlayedTreeTest, FaultsSurviveFromOneProgramToTheNext) {
  {
    PlayedTree tree = PlayedTree::open(directory_).value();
    ASSERT_TRUE(tree.simulation().add({.id = "nvme_wear", .subject = "disk/1", .at = tree.elapsed()}));
    ASSERT_TRUE(tree.write(10s));
  }
  EXPECT_THAT(text("/machine.yaml"), HasSubstr("percentage_used: 101"));
  PlayedTree tree = PlayedTree::open(directory_).value();
  EXPECT_EQ(tree.elapsed(), 10s);
  ASSERT_TRUE(tree.simulation().recover("nvme_wear", 20s));
  ASSERT_TRUE(tree.write(20s));
}

TEST_F(PlayedTreeTest, ThePlayerWritesAndTakesOverFaultsOfOtherPrograms) {
  PlayedTree player = PlayedTree::open_to_play(directory_).value();
  player.let_go();
  EXPECT_EQ(PlayedTree::open_to_play(directory_).error().code, Errc::conflict);
  {
    PlayedTree other = PlayedTree::open(directory_).value();
    ASSERT_TRUE(other.simulation().add({.id = "oom"}));
    ASSERT_TRUE(other.write(other.elapsed()));
  }
  EXPECT_THAT(text(vmstat_), HasSubstr("oom_kill 0"));
  ASSERT_TRUE(player.take_over(30s).value());
  EXPECT_EQ(player.simulation().faults().front().at, 30s);
  ASSERT_TRUE(player.write(30s));
  player.let_go();
  EXPECT_THAT(text(vmstat_), HasSubstr("oom_kill 1"));
  EXPECT_FALSE(player.take_over(31s).value());
  EXPECT_THAT(text("/machine.yaml"), HasSubstr("live: true"));
}

TEST_F(PlayedTreeTest, TheNextPlayerTakesOverTheRemainingFaults) {
  {
    PlayedTree player = PlayedTree::open_to_play(directory_).value();
    ASSERT_TRUE(player.write(player.elapsed()));
    player.let_go();
    PlayedTree other = PlayedTree::open(directory_).value();
    ASSERT_TRUE(other.simulation().add({.id = "oom"}));
    ASSERT_TRUE(other.write(other.elapsed()));
  }
  EXPECT_THAT(text(vmstat_), HasSubstr("oom_kill 0"));
  PlayedTree next = PlayedTree::open(directory_).value();
  ASSERT_TRUE(next.write(next.elapsed()));
  EXPECT_THAT(text(vmstat_), HasSubstr("oom_kill 1"));
}

TEST_F(PlayedTreeTest, ADirectoryWithContentIsNotOverwritten) {
  EXPECT_EQ(PlayedTree::create(directory_, open_source("no-gpu").value().simulation, 0s).error().code,
            Errc::conflict);
}

TEST(OpenSource, LaysASourceOverItsBase) {
  const std::string directory = testing::TempDir() + "open_source_" + std::to_string(::getpid());
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory + "/root/proc");
  ASSERT_TRUE(
      write_text(directory + "/machine.yaml",
                 "base: hgx-h100-8\nnode: mine\nrounds: [0s, 60s]\nremove: [/sys/class/infiniband/mlx5_7]\n"
                 "faults:\n  - {fault: temperature, subject: gpu/1, magnitude: 95}\n"));
  ASSERT_TRUE(write_text(
      directory + "/nvml.yaml",
      "gpus: {\"0000:1b:00.0\": {readings: {row_remap.failed: {code: 999}, utilization: null}}}\n"));
  ASSERT_TRUE(write_text(directory + "/root/proc/vmstat", "oom_kill 7\n"));
  ASSERT_TRUE(write_text(directory + "/kmsg.jsonl", "{\"prio\":4,\"time\":129590,\"text\":\"hello\"}\n"));
  const auto source = open_source(directory);
  ASSERT_TRUE(source) << source.error().what;
  EXPECT_EQ(source->rounds, (std::vector<Duration>{0s, 60s}));
  Machine machine = source->simulation.at(0s);
  EXPECT_EQ(machine.machine.find("node")->text, "mine");
  EXPECT_EQ(machine.machine.find("base"), nullptr);
  const YamlNode& readings = *machine.gpu("0000:1b:00.0")->find("readings");
  EXPECT_EQ(readings.find("row_remap.failed")->find("code")->text, "999");
  EXPECT_EQ(readings.find("utilization"), nullptr);
  EXPECT_EQ(readings.find("row_remap.pending")->text, "false");
  EXPECT_EQ(machine.gpu("0000:43:00.0")->find("readings")->find("temperature.gpu")->text, "95");
  EXPECT_EQ(machine.files.value("/proc/vmstat"), "oom_kill 7");
  EXPECT_EQ(machine.files.list("/sys/class/infiniband").size(), 7U);
  EXPECT_EQ(machine.log.back().text, "hello");
  EXPECT_EQ(open_source(directory + "/nowhere.yaml").error().code, Errc::not_found);
  std::filesystem::remove_all(directory);
}

TEST(OpenSource, an_operator_can_name_a_scenario_by_a_link_and_a_tree_cannot) {
  const std::string directory = testing::TempDir() + "open_link_" + std::to_string(::getpid());
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory + "/tree");
  ASSERT_TRUE(write_text(directory + "/real.yaml",
                         "schema: autopilot.scenario/v1\ntitle: linked\nmachine: no-gpu\ntimeline: []\n"));
  std::filesystem::create_symlink("real.yaml", directory + "/link.yaml");
  const auto source = open_source(directory + "/link.yaml");
  ASSERT_TRUE(source) << source.error().what;
  EXPECT_EQ(source->title, "linked");

  ASSERT_TRUE(write_text(directory + "/tree/machine.yaml", "base: no-gpu\n"));
  ASSERT_TRUE(open_source(directory + "/tree"));
  std::filesystem::create_symlink("../real.yaml", directory + "/tree/scenario.yaml");
  EXPECT_EQ(open_source(directory + "/tree").error().code, Errc::malformed);
  std::filesystem::remove(directory + "/tree/scenario.yaml");
  std::filesystem::create_symlink("/etc", directory + "/tree/root");
  EXPECT_EQ(open_source(directory + "/tree").error().code, Errc::malformed);
  std::filesystem::remove_all(directory);
}

}  // namespace

}  // namespace autopilot::simulator
