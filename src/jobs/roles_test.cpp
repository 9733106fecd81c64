// SPDX-License-Identifier: Apache-2.0
#include "jobs/roles.hpp"

#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace autopilot::jobs {
namespace {

JobRecord job_of(int ranks, int gpus_per_node = 8) {
  JobRecord job;
  job.job = "ml/llama";
  for (int rank = 0; rank < ranks; ++rank) {
    RankRecord record;
    record.rank = rank;
    record.node = "gpu-" + std::to_string(rank / gpus_per_node);
    record.gpu = rank % gpus_per_node;
    job.ranks.push_back(record);
  }
  return job;
}

Communicator communicator(std::vector<int> ranks, std::int64_t count) {
  Communicator made;
  made.size = static_cast<int>(ranks.size());
  made.started.assign(ranks.size(), count);
  made.ranks = std::move(ranks);
  return made;
}

// Two stages of `half` ranks each: the first has more memory and a higher tensor share.
std::vector<RankLoad> two_stages(std::size_t half, float noise) {
  std::mt19937 random(3);  // NOLINT(cert-msc51-cpp): equal in each run
  std::normal_distribution<float> spread(1, noise);
  std::vector<RankLoad> loads;
  for (std::size_t at = 0; at < 2 * half; ++at) {
    const float more = at < half ? 1.3F : 1.0F;
    loads.push_back({0.4F * more * spread(random), 5e10F * more * spread(random), 1e11F * spread(random)});
  }
  return loads;
}

TEST(Roles, declared_roles_are_used) {
  JobRecord job = job_of(8);
  for (RankRecord& rank : job.ranks)
    rank.role = rank.rank < 4 ? "stage 0" : "stage 1";
  const Roles found = find_roles(job, nullptr, two_stages(4, 0));
  EXPECT_EQ(found.source, RoleSource::declared);
  EXPECT_EQ(found.role, (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(found.count, 2);
}

TEST(Roles, a_role_that_one_rank_lacks_is_not_declared) {
  JobRecord job = job_of(8);
  for (RankRecord& rank : job.ranks)
    rank.role = rank.rank < 7 ? "stage 0" : "";
  const Roles found = find_roles(job, nullptr, {});
  EXPECT_EQ(found.source, RoleSource::none);
  EXPECT_EQ(found.role, std::vector<int>(8, 0));
}

TEST(Roles, equal_positions_in_the_replicas_of_an_inference_job_are_peers) {
  JobRecord job = job_of(16);
  job.kind = JobKind::inference;
  for (RankRecord& rank : job.ranks)
    rank.replica = "replica-" + std::to_string(rank.rank / 4);
  const Roles found = find_roles(job, nullptr, {});
  EXPECT_EQ(found.source, RoleSource::declared);
  EXPECT_EQ(found.count, 4);
  for (std::size_t at = 0; at < 16; ++at)
    EXPECT_EQ(found.role[at], static_cast<int>(at % 4));
}

TEST(Roles, all_ranks_of_few_replicas_are_peers) {
  JobRecord job = job_of(16);
  job.kind = JobKind::inference;
  for (RankRecord& rank : job.ranks)
    rank.replica = rank.rank < 8 ? "a" : "b";
  EXPECT_EQ(find_roles(job, nullptr, {}).count, 1);
}

TEST(Roles, ranks_in_equal_communicators_are_peers) {
  const JobRecord job = job_of(16);
  CollectivesRecord collectives;
  // Two stages of 8 ranks. The first has more layers, so its tensor-parallel groups start more collectives.
  for (int group = 0; group < 4; ++group) {
    std::vector<int> ranks;
    for (int at = 0; at < 4; ++at)
      ranks.push_back(group * 4 + at);
    collectives.communicators.push_back(communicator(ranks, (group < 2 ? 6000 : 4000) + group));
  }
  const Roles found = find_roles(job, &collectives, {});
  EXPECT_EQ(found.source, RoleSource::communicators);
  ASSERT_EQ(found.count, 2);
  for (std::size_t at = 0; at < 16; ++at)
    EXPECT_EQ(found.role[at], at < 8 ? 0 : 1) << at;
}

TEST(Roles, counts_that_differ_by_what_is_in_flight_are_equal) {
  const JobRecord job = job_of(8);
  CollectivesRecord collectives;
  collectives.communicators = {communicator({0, 1, 2, 3}, 100), communicator({4, 5, 6, 7}, 103)};
  collectives.communicators[0].started = {std::nullopt, 40, 100, 99};
  EXPECT_EQ(find_roles(job, &collectives, {}).count, 1);
}

TEST(Roles, a_rank_in_no_communicator_leaves_the_roles_unknown) {
  const JobRecord job = job_of(8);
  CollectivesRecord collectives;
  collectives.communicators = {communicator({0, 1, 2, 3}, 100)};
  EXPECT_EQ(find_roles(job, &collectives, {}).source, RoleSource::none);
  EXPECT_EQ(find_roles(job, nullptr, {}).source, RoleSource::none);
}

TEST(Roles, stages_with_different_load_are_clusters) {
  const JobRecord job = job_of(32);
  const Roles found = find_roles(job, nullptr, two_stages(16, 0.005F));
  EXPECT_EQ(found.source, RoleSource::clustered);
  ASSERT_EQ(found.count, 2);
  for (std::size_t at = 0; at < 32; ++at)
    EXPECT_EQ(found.role[at], at < 16 ? 0 : 1) << at;
}

TEST(Roles, a_few_ranks_that_differ_remain_with_their_peers) {
  const JobRecord job = job_of(32);
  std::vector<RankLoad> loads(32, {0.4F, 5e10F, 1e11F});
  loads[5] = {0.2F, 5e10F, 1e11F};
  loads[6] = {0.9F, 5e10F, 0};
  const Roles found = find_roles(job, nullptr, loads);
  EXPECT_EQ(found.source, RoleSource::clustered);
  EXPECT_EQ(found.count, 1);
  EXPECT_EQ(found.role[5], 0);
}

TEST(Roles, load_without_clusters_does_not_show_roles) {
  const JobRecord job = job_of(8);
  std::vector<RankLoad> loads;
  for (int at = 0; at < 8; ++at)
    loads.push_back({0.1F * static_cast<float>(at), 1e10F, 1e11F});
  EXPECT_EQ(find_roles(job, nullptr, loads).source, RoleSource::none);
}

TEST(Roles, unknown_loads_do_not_show_roles) {
  const JobRecord job = job_of(8);
  EXPECT_EQ(find_roles(job, nullptr, std::vector<RankLoad>(8)).source, RoleSource::none);
  std::vector<RankLoad> loads(8, {0.4F, std::numeric_limits<float>::infinity(), kMissing});
  loads[3].tensor = kMissing;
  const Roles found = find_roles(job, nullptr, loads);
  EXPECT_EQ(found.source, RoleSource::clustered);
  EXPECT_EQ(found.role[3], Roles::kNoPeers);
  EXPECT_EQ(found.role[0], 0);
}

TEST(Roles, a_rank_without_a_gpu_has_no_peers) {
  JobRecord job = job_of(8);
  job.ranks[2].gpu.reset();
  EXPECT_EQ(find_roles(job, nullptr, {}).role[2], Roles::kNoPeers);
  EXPECT_EQ(find_roles(job, nullptr, two_stages(4, 0)).role[2], Roles::kNoPeers);
  EXPECT_EQ(find_roles(JobRecord{}, nullptr, {}).count, 0);
}

TEST(Roles, a_large_job_is_clustered_with_the_same_result) {
  const JobRecord job = job_of(8192);
  const Roles found = find_roles(job, nullptr, two_stages(4096, 0.005F));
  EXPECT_EQ(found.source, RoleSource::clustered);
  ASSERT_EQ(found.count, 2);
  for (std::size_t at = 0; at < 8192; ++at)
    ASSERT_EQ(found.role[at], at < 4096 ? 0 : 1) << at;
}

}  // namespace
}  // namespace autopilot::jobs
