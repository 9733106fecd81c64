// SPDX-License-Identifier: Apache-2.0
#include "cli/recording/scrub_job.hpp"

#include <gtest/gtest.h>
#include <string>

namespace autopilot::cli {
namespace {

TEST(JobScrubber, names_are_replaced_and_measurements_stay) {
  JobScrubber scrubber;
  EXPECT_EQ(
      scrubber.apply(R"({"type":"node","t":1,"node":"gpu17","leaf":"rack3-sw1","nics":[{"nic":"mlx5_0"}]})"),
      R"({"type":"node","t":1,"node":"node-1","leaf":"node-2","nics":[{"nic":"mlx5_0"}]})");
  EXPECT_EQ(
      scrubber.apply(
          R"({"type":"job","t":1,"job":"ml/llama-7f","owner":"PyTorchJob ml/llama","ranks":[{"rank":0,"node":"gpu17","role":"stage 0","pod":"llama-0"}]})"),
      R"({"type":"job","t":1,"job":"namespace-1/pod-1","owner":"PyTorchJob namespace-1/pod-2","ranks":[{"rank":0,"node":"node-1","role":"stage 0","pod":"pod-3"}]})");
  EXPECT_EQ(
      scrubber.apply(
          R"({"type":"log","t":2,"job":"ml/llama-7f","rank":0,"text":"gpu17: cannot open /home/alice/x from 10.1.2.3"})"),
      R"({"type":"log","t":2,"job":"namespace-1/pod-1","rank":0,"text":"node-1: cannot open /home/user-1/x from 192.0.2.1"})");
  EXPECT_EQ(scrubber.apply(R"({"type":"job_end","t":3,"job":"slurm 4711","outcome":"failed"})"),
            R"({"type":"job_end","t":3,"job":"slurm 4711","outcome":"failed"})");
}

TEST(JobScrubber, keys_of_jobs_keep_what_autopilot_made_of_them) {
  JobScrubber scrubber;
  const auto key = [&scrubber](const std::string& job) {
    return scrubber.apply(R"({"job":")" + job + R"("})");
  };
  EXPECT_EQ(key("slurm/4711"), R"({"job":"slurm/4711"})");
  EXPECT_EQ(key("uid1000/llama"), R"({"job":"uid1000/pod-1"})");
  EXPECT_EQ(key("gpu17/uid1000/llama"), R"({"job":"node-1/uid1000/pod-1"})");
  EXPECT_EQ(key("uid1000/mpi/10.1.2.3:29500"), R"({"job":"uid1000/mpi/192.0.2.1:29500"})");
}

TEST(JobScrubber, what_is_not_an_object_is_scrubbed_as_text) {
  EXPECT_EQ(JobScrubber().apply("[\"10.1.2.3\"]\n"), "[\"192.0.2.1\"]");
  EXPECT_EQ(JobScrubber().apply(""), "");
}

}  // namespace
}  // namespace autopilot::cli
