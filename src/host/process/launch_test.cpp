// SPDX-License-Identifier: Apache-2.0
#include "host/process/launch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace autopilot::host::launch_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::string joined(const std::vector<std::string>& rows) {
  std::string text;
  for (const std::string& row : rows)
    text.append(row).push_back('\0');
  return text;
}

Launch environment(const std::vector<std::string>& rows) {
  Launch launch;
  parse_environment(joined(rows), launch);
  return launch;
}

Launch arguments(const std::vector<std::string>& words) {
  Launch launch;
  parse_arguments(joined(words), launch);
  return launch;
}

TEST(Launch, keeps_variables_of_the_list_only) {
  const Launch launch = environment({"HOME=/root", "AWS_SECRET_ACCESS_KEY=hunter2", "RANK=3", "WORLD_SIZE=8",
                                     "RANKING=x", "rank=4", "=", "RANK", "WANDB_API_KEY=hunter2"});
  EXPECT_THAT(launch.environment, ElementsAre(Pair("RANK", "3"), Pair("WORLD_SIZE", "8")));
  EXPECT_EQ(launch.variable("RANK"), "3");
  EXPECT_EQ(launch.variable("HOME"), "");
}

TEST(Launch, takes_the_first_value_of_a_variable) {
  EXPECT_EQ(environment({"RANK=1", "RANK=2"}).variable("RANK"), "1");
  EXPECT_EQ(environment({"RANK=", "RANK=2"}).variable("RANK"), "") << "as getenv does";
}

TEST(Launch, leaves_out_values_that_are_long_or_binary) {
  EXPECT_THAT(environment({"RANK=" + std::string(10'000'000, '1')}).environment, IsEmpty());
  EXPECT_THAT(environment({"MASTER_ADDR=a\nb", "MASTER_PORT=\xff\x01", std::string("RANK=\x7f")}).environment,
              IsEmpty());
  Launch launch;
  std::string binary(100'000, '\0');
  for (std::size_t i = 0; i < binary.size(); ++i)
    binary[i] = static_cast<char>(i * 7919 >> 3);
  parse_environment(binary, launch);
  parse_arguments(binary, launch);
  EXPECT_EQ(launch, Launch{});
}

TEST(Launch, reads_sizes_of_the_model_in_both_forms_of_arguments) {
  const Launch launch = arguments({"python3", "pretrain_gpt.py", "--tensor-model-parallel-size", "4",
                                   "--pipeline-model-parallel-size=2", "--api-key", "hunter2", "--lr=0.1"});
  EXPECT_THAT(launch.arguments, ElementsAre(Pair("--pipeline-model-parallel-size", "2"),
                                            Pair("--tensor-model-parallel-size", "4")));
  EXPECT_THAT(arguments({"python3", "x.py", "--nnodes", "--other", "3"}).arguments, IsEmpty());
  EXPECT_EQ(arguments({"torchrun", "--nproc_per_node=8"}).argument("--nproc-per-node"), "8");
  EXPECT_THAT(arguments({"python3", "x.py", "--nnodes"}).arguments, IsEmpty());
}

TEST(Launch, knows_launchers_and_servers_by_their_program) {
  EXPECT_TRUE(arguments({"/usr/bin/python3", "/usr/local/bin/torchrun", "train.py"}).is_launcher);
  EXPECT_TRUE(arguments({"python3", "-u", "-m", "torch.distributed.run", "train.py"}).is_launcher);
  EXPECT_FALSE(arguments({"python3", "train.py", "torchrun"}).is_launcher);
  EXPECT_EQ(arguments({"/opt/venv/bin/python3", "/opt/venv/bin/vllm", "serve", "llama"}).server, "vllm");
  EXPECT_EQ(arguments({"python3", "-m", "vllm.entrypoints.openai.api_server"}).server, "vllm");
  EXPECT_EQ(arguments({"VLLM::Worker_TP0"}).server, "vllm");
  EXPECT_EQ(arguments({"tritonserver", "--model-repository=/m"}).server, "triton");
  EXPECT_EQ(arguments({"python3", "-m", "sglang.launch_server"}).server, "sglang");
  EXPECT_EQ(arguments({"text-generation-launcher"}).server, "tgi");
  EXPECT_EQ(arguments({"python3", "train.py", "/models/vllm"}).server, "");
  EXPECT_TRUE(is_launcher_name("orted"));
  EXPECT_FALSE(is_launcher_name("python3"));
}

}  // namespace
}  // namespace autopilot::host::launch_test
