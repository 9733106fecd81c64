// SPDX-License-Identifier: Apache-2.0
#include "jobs/detectors/localise.hpp"

#include <chrono>
#include <gtest/gtest.h>

namespace autopilot::jobs {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr WallTime kLastStep{seconds(1767225600)};

// 4 nodes on 2 leaves, 8 ranks each; all GPUs wait.
HangCase hang_of_32_ranks() {
  HangCase hang;
  hang.last_progress = kLastStep;
  hang.now = kLastStep + seconds(150);
  for (int rank = 0; rank < 32; ++rank) {
    RankSigns signs;
    signs.rank = rank;
    signs.node = "gpu-00" + std::to_string(rank / 8);
    signs.leaf = "leaf-" + std::to_string(rank / 16);
    signs.gpu = rank % 8;
    signs.activity = GpuActivity::spinning;
    hang.ranks.push_back(signs);
  }
  return hang;
}

HangEvent event_of(HangEventKind kind, std::string node, Duration after) {
  HangEvent event;
  event.kind = kind;
  event.node = std::move(node);
  event.time = kLastStep + after;
  return event;
}

CollectiveBlame blame_of(BlameReason reason, std::vector<int> ranks) {
  CollectiveBlame blame;
  blame.reason = reason;
  blame.ranks = std::move(ranks);
  blame.communicator = "0x6f1c";
  blame.size = 8;
  blame.behind_by = 1;
  return blame;
}

TEST(Localise, nothing_names_a_culprit) {
  const HangCulprit culprit = localise(hang_of_32_ranks());
  EXPECT_EQ(culprit.culprit.kind, EntityKind::unlocalised);
  EXPECT_EQ(culprit.by, LocalisedBy::nothing);
  EXPECT_TRUE(culprit.ranks.empty());
  EXPECT_FALSE(culprit.sentence.empty());
  EXPECT_EQ(localise({}).culprit.kind, EntityKind::unlocalised);
}

TEST(Localise, a_dead_rank_comes_before_everything_else) {
  HangCase hang = hang_of_32_ranks();
  hang.blame = blame_of(BlameReason::dead, {13});
  hang.ranks[3].stopped = 1;
  hang.ranks[30].activity = GpuActivity::idle;
  hang.events = {event_of(HangEventKind::link_down, "gpu-002", seconds(-20))};
  const HangCulprit culprit = localise(hang);
  EXPECT_EQ(to_string(culprit.culprit), "node gpu-001");
  EXPECT_EQ(culprit.by, LocalisedBy::dead_rank);
  EXPECT_EQ(culprit.ranks, std::vector{13});
  EXPECT_EQ(culprit.evidence.front().signal, "ras_dead");
  EXPECT_EQ(culprit.sentence, "The job waits for rank 13 on node gpu-001: NCCL RAS reports rank 13 as dead.");
}

TEST(Localise, an_xid_narrows_the_node_to_its_gpu) {
  HangCase hang = hang_of_32_ranks();
  hang.blame = blame_of(BlameReason::behind, {13});
  HangEvent xid = event_of(HangEventKind::xid, "gpu-001", seconds(5));
  xid.gpu = 5;
  xid.family = Family::pcie;
  xid.text = "Xid 79";
  hang.events = {xid};
  const HangCulprit culprit = localise(hang);
  EXPECT_EQ(to_string(culprit.culprit), "GPU 5 of gpu-001");
  EXPECT_EQ(culprit.by, LocalisedBy::counts);
  ASSERT_EQ(culprit.evidence.size(), 2U);
  EXPECT_EQ(culprit.evidence[1].family, Family::pcie);
  EXPECT_EQ(culprit.evidence[1].text, "The driver of gpu-001 reported an error: Xid 79.");
  hang.events.clear();
  EXPECT_LT(localise(hang).probability, culprit.probability);
}

TEST(Localise, dead_ranks_of_a_whole_leaf_accuse_the_leaf) {
  HangCase hang = hang_of_32_ranks();
  hang.blame.reason = BlameReason::dead;
  for (int rank = 16; rank < 32; ++rank)
    hang.blame.ranks.push_back(rank);
  EXPECT_EQ(to_string(localise(hang).culprit), "leaf leaf-1");
  EXPECT_NE(localise(hang).sentence.find("ranks 16 to 31"), std::string::npos);
}

TEST(Localise, late_ranks_on_several_nodes_accuse_none_of_them) {
  HangCase hang = hang_of_32_ranks();
  hang.blame = blame_of(BlameReason::behind, {3, 12, 28});
  const HangCulprit culprit = localise(hang);
  EXPECT_EQ(culprit.culprit.kind, EntityKind::unlocalised);
  EXPECT_EQ(culprit.ranks, (std::vector{3, 12, 28}));
  EXPECT_EQ(culprit.sentence.substr(0, 52), "The job waits for ranks 3, 12 and 28 on 3 nodes, and");
  hang.ranks[12].stopped = 1;
  EXPECT_EQ(to_string(localise(hang).culprit), "node gpu-001") << "the process decides";
}

TEST(Localise, a_gpu_that_is_idle_or_computes_while_all_wait) {
  for (const GpuActivity activity : {GpuActivity::idle, GpuActivity::computing}) {
    HangCase hang = hang_of_32_ranks();
    hang.ranks[20].activity = activity;
    const HangCulprit culprit = localise(hang);
    EXPECT_EQ(to_string(culprit.culprit), "node gpu-002");
    EXPECT_EQ(culprit.by, LocalisedBy::device);
    EXPECT_EQ(culprit.ranks, std::vector{20});
  }
}

TEST(Localise, unknown_devices_accuse_nobody) {
  HangCase hang = hang_of_32_ranks();
  for (std::size_t i = 0; i < 20; ++i)
    hang.ranks[i].activity = GpuActivity::unknown;
  hang.ranks[31].activity = GpuActivity::idle;
  EXPECT_EQ(localise(hang).culprit.kind, EntityKind::unlocalised) << "less than half is known";
  HangCase pair = hang_of_32_ranks();
  pair.ranks.resize(2);
  pair.ranks[0].activity = GpuActivity::idle;
  EXPECT_EQ(localise(pair).culprit.kind, EntityKind::unlocalised);
}

TEST(Localise, processes_that_wait_for_a_disk) {
  HangCase hang = hang_of_32_ranks();
  hang.ranks[9].disk_sleep = 0.9F;
  EXPECT_EQ(to_string(localise(hang).culprit), "node gpu-001");
  hang.ranks[25].disk_sleep = 0.9F;
  EXPECT_EQ(localise(hang).culprit.kind, EntityKind::storage);
  EXPECT_FALSE(localise(hang).culprit.is_accused());
}

// The program may loop on a healthy node.
TEST(Localise, a_rank_without_a_gpu_that_works_while_all_others_sleep_is_named_and_its_node_is_not_accused) {
  HangCase hang = hang_of_32_ranks();
  for (RankSigns& rank : hang.ranks) {
    rank.gpu.reset();
    rank.activity = GpuActivity::unknown;
    rank.is_awake = rank.rank == 13;
  }
  const HangCulprit culprit = localise(hang);
  EXPECT_EQ(culprit.culprit.kind, EntityKind::unlocalised);
  EXPECT_EQ(culprit.ranks, std::vector{13});
  EXPECT_TRUE(culprit.sentence.starts_with("The job waits for rank 13 on gpu-001")) << culprit.sentence;
  for (RankSigns& rank : hang.ranks)
    rank.is_awake = false;
  EXPECT_TRUE(localise(hang).ranks.empty());
}

TEST(Localise, an_event_near_the_last_progress_names_its_part) {
  HangCase hang = hang_of_32_ranks();
  HangEvent down = event_of(HangEventKind::link_down, "gpu-003", minutes(-9));
  down.nic = "mlx5_2";
  hang.events = {down};
  const HangCulprit culprit = localise(hang);
  EXPECT_EQ(to_string(culprit.culprit), "mlx5_2 of gpu-003");
  EXPECT_EQ(culprit.by, LocalisedBy::event);
  EXPECT_EQ(culprit.ranks.size(), 8U);
}

TEST(Localise, events_that_accuse_nobody) {
  const auto kind_for = [](HangEvent event) {
    HangCase hang = hang_of_32_ranks();
    hang.events = {std::move(event)};
    return localise(hang).culprit.kind;
  };
  EXPECT_EQ(kind_for(event_of(HangEventKind::link_down, "gpu-003", minutes(-11))), EntityKind::unlocalised);
  EXPECT_EQ(kind_for(event_of(HangEventKind::link_down, "gpu-003", minutes(6))), EntityKind::unlocalised);
  EXPECT_EQ(kind_for(event_of(HangEventKind::link_down, "gpu-099", minutes(0))), EntityKind::unlocalised);
  HangEvent program = event_of(HangEventKind::xid, "gpu-003", minutes(0));
  program.is_hardware = false;
  EXPECT_EQ(kind_for(program), EntityKind::unlocalised);
  HangCase two = hang_of_32_ranks();
  two.events = {event_of(HangEventKind::node_lost, "gpu-001", seconds(1)),
                event_of(HangEventKind::node_lost, "gpu-002", seconds(1))};
  EXPECT_EQ(localise(two).culprit.kind, EntityKind::unlocalised);
}

TEST(Localise, a_deadlock_is_the_programs) {
  HangCase hang = hang_of_32_ranks();
  hang.blame.reason = BlameReason::deadlock;
  EXPECT_EQ(localise(hang).culprit.kind, EntityKind::program);
}

TEST(Localise, ranks_that_the_job_does_not_have_are_ignored) {
  HangCase hang = hang_of_32_ranks();
  hang.blame = blame_of(BlameReason::dead, {900});
  EXPECT_EQ(localise(hang).culprit.kind, EntityKind::unlocalised);
}

TEST(Localise, evidence_is_limited) {
  HangCase hang = hang_of_32_ranks();
  hang.blame = blame_of(BlameReason::dead, {13});
  for (int i = 0; i < 100; ++i)
    hang.events.push_back(event_of(HangEventKind::failed_check, "gpu-001", seconds(i)));
  EXPECT_LE(localise(hang).evidence.size(), 8U);
  EXPECT_LT(localise(hang).probability, 1);
}

}  // namespace
}  // namespace autopilot::jobs
