// SPDX-License-Identifier: Apache-2.0
#include "collect/discovery/rank_layout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::collect::rank_layout_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

host::Launch launch_with(host::Launch::Values environment, host::Launch::Values arguments = {}) {
  return {.environment = std::move(environment), .arguments = std::move(arguments)};
}

TEST(StatedRanks, are_read_from_every_launcher) {
  EXPECT_THAT(
      stated_ranks(launch_with({{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}})).ranks,
      ElementsAre(StatedRank{RankSource::torch_worker, 5, 8, 1}, StatedRank{RankSource::torch, 5, 8, {}}));
  EXPECT_THAT(stated_ranks(launch_with({{"OMPI_COMM_WORLD_RANK", "3"},
                                        {"OMPI_COMM_WORLD_SIZE", "4"},
                                        {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}}))
                  .ranks,
              ElementsAre(StatedRank{RankSource::ompi, 3, 4, 0}));
  EXPECT_THAT(stated_ranks(launch_with({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}})).ranks,
              ElementsAre(StatedRank{RankSource::pmi, 0, 1, {}}));
  EXPECT_THAT(stated_ranks(
                  launch_with({{"SLURM_PROCID", "65535"}, {"SLURM_NTASKS", "65536"}, {"SLURM_LOCALID", "7"}}))
                  .ranks,
              ElementsAre(StatedRank{RankSource::slurm, 65535, 65536, 7}));
  EXPECT_THAT(stated_ranks(launch_with({{"JAX_PROCESS_ID", "1"}, {"JAX_NUM_PROCESSES", "2"}})).ranks,
              ElementsAre(StatedRank{RankSource::jax, 1, 2, {}}));
  EXPECT_THAT(stated_ranks(launch_with({{"RANK", "5"}})).ranks, IsEmpty()) << "any program may have a RANK";
}

TEST(StatedRanks, that_are_none_are_problems_and_never_ranks) {
  for (const std::string rank : {"-5", "999999999999", "65536", "abc", "1.5", "8"}) {
    const StatedRanks stated = stated_ranks(launch_with({{"RANK", rank}, {"WORLD_SIZE", "8"}}));
    EXPECT_THAT(stated.ranks, IsEmpty()) << rank;
    EXPECT_THAT(stated.problems, ::testing::Not(IsEmpty())) << rank;
  }
  EXPECT_THAT(stated_ranks(launch_with({{"RANK", "0"}, {"WORLD_SIZE", "-1"}})).ranks, IsEmpty());
  EXPECT_THAT(stated_ranks(launch_with({{"RANK", "-5"}, {"WORLD_SIZE", "8"}})).problems[0], "RANK is \"-5\"");
}

TEST(Role, is_the_pipeline_stage_as_megatron_orders_ranks) {
  const host::Launch launch =
      launch_with({}, {{"--tensor-model-parallel-size", "4"}, {"--pipeline-model-parallel-size", "2"}});
  // 16 ranks: tensor 4, data 2, pipeline 2.
  EXPECT_EQ(role_of(launch, 0, 16), "stage 0");
  EXPECT_EQ(role_of(launch, 7, 16), "stage 0");
  EXPECT_EQ(role_of(launch, 8, 16), "stage 1");
  EXPECT_EQ(role_of(launch, 15, 16), "stage 1");
  EXPECT_EQ(role_of(launch, 0, std::nullopt), "");
  EXPECT_EQ(role_of(launch, 0, 7), "") << "the sizes do not fit";
  EXPECT_EQ(role_of(launch_with({}), 0, 16), "");
  for (const std::string size : {"0", "-2", "1", "99", "x"})
    EXPECT_EQ(role_of(launch_with({}, {{"--pipeline-model-parallel-size", size}}), 0, 16), "") << size;
}

TEST(VisibleGpu, is_the_one_of_the_local_rank) {
  EXPECT_EQ(visible_gpu(launch_with({{"CUDA_VISIBLE_DEVICES", "4,5,6,7"}}), 2), 6);
  EXPECT_EQ(visible_gpu(launch_with({{"CUDA_VISIBLE_DEVICES", "3"}}), 2), 3);
  EXPECT_EQ(visible_gpu(launch_with({{"CUDA_VISIBLE_DEVICES", "4,5"}}), 2), std::nullopt);
  EXPECT_EQ(visible_gpu(launch_with({{"CUDA_VISIBLE_DEVICES", "4,5"}}), std::nullopt), std::nullopt);
  EXPECT_EQ(visible_gpu(launch_with({{"CUDA_VISIBLE_DEVICES", "GPU-1234"}}), 0), std::nullopt);
  EXPECT_EQ(visible_gpu(launch_with({{"CUDA_VISIBLE_DEVICES", "-1"}}), 0), std::nullopt);
  EXPECT_EQ(visible_gpu(launch_with({}), 0), std::nullopt);
}

}  // namespace
}  // namespace autopilot::collect::rank_layout_test
