// SPDX-License-Identifier: Apache-2.0
#include "preflight/held_gpus.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/preflight/gpu_fixture.hpp"

namespace autopilot::preflight {
namespace {

using ::testing::ElementsAre;
using testing::gpu;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

GpuUserOwner owner_pod(const std::string& name) {
  GpuUserOwner owner;
  owner.pod_uid = "uid-" + name;
  owner.pod_namespace = "ml";
  owner.pod = name;
  return owner;
}

class HeldGpusTest : public ::testing::Test {
 protected:
  HeldGpusTest() {
    claim_.owner = owner_pod("train-0");
    claim_.whole = 2;
    look_.witnesses = {"nvml", "kubelet"};
  }
  void hold(const std::string& name, const Subject& subject) {
    GpuUser gpu_user;
    gpu_user.owner = owner_pod(name);
    seen_.push_back(to_observation(gpu_user, subject, "kubelet", {}));
  }
  void use(const std::string& name, const Subject& subject) {
    GpuUser gpu_user;
    gpu_user.pid = 42;
    gpu_user.process = "python3";
    if (!name.empty()) gpu_user.owner = owner_pod(name);
    seen_.push_back(to_observation(gpu_user, subject, "/proc", {}));
  }
  HeldGpus held() {
    look_.observations = seen_;
    return held_gpus(claim_, {gpus_, &look_, allocatable_});
  }
  static std::vector<std::string> keys(const HeldGpus& held) {
    std::vector<std::string> words;
    for (const Subject& one : held.gpus)
      words.push_back(one.key);
    return words;
  }

  GpuClaim claim_;
  std::vector<Subject> gpus_{gpu("a"), gpu("b"), gpu("c"), gpu("d")};
  CheckResult look_;
  Observations seen_;
  std::optional<std::int64_t> allocatable_ = 4;
};

TEST_F(HeldGpusTest, the_kubelet_tells_which) {
  hold("train-0", gpu("c"));
  hold("train-0", gpu("b"));
  hold("other", gpu("a"));
  const HeldGpus found = held();
  EXPECT_THAT(keys(found), ElementsAre("b", "c"));
  EXPECT_TRUE(found.are_its_own);
  EXPECT_THAT(found.untestable, IsEmpty());
  EXPECT_EQ(found.gpus[0].uuid, "GPU-b");
}

TEST_F(HeldGpusTest, a_test_of_the_agent_is_nobodys_work) {
  hold("train-0", gpu("c"));
  hold("train-0", gpu("b"));
  use("autopilot-x", gpu("c"));
  EXPECT_THAT(held().untestable, HasSubstr("in use by"));
  GpuUser probe;
  probe.pid = 43;
  probe.process = "autopilot-gpu-p";
  seen_.back() = to_observation(probe, gpu("c"), "/proc", {});
  EXPECT_THAT(held().untestable, IsEmpty());
}

TEST_F(HeldGpusTest, the_pod_itself_does_not_keep_its_gpus_from_being_tested) {
  hold("train-0", gpu("b"));
  hold("train-0", gpu("c"));
  use("train-0", gpu("b"));
  EXPECT_THAT(held().untestable, IsEmpty());
}

TEST_F(HeldGpusTest, another_that_uses_them_does) {
  hold("train-0", gpu("b"));
  hold("train-0", gpu("c"));
  use("other", gpu("a"));
  EXPECT_THAT(held().untestable, IsEmpty());
  use("other", gpu("c"));
  EXPECT_EQ(held().untestable, "gpu/c is in use by pod ml/other");
  seen_.pop_back();
  use("", gpu("b"));
  EXPECT_THAT(held().untestable, HasSubstr("process python3, 42"));
}

TEST_F(HeldGpusTest, a_pod_of_the_same_name_that_was_there_before_is_another_one) {
  hold("train-0", gpu("b"));
  claim_.owner.pod_uid = "uid-new";
  EXPECT_FALSE(held().are_its_own);
}

TEST_F(HeldGpusTest, who_has_all_of_them_needs_no_kubelet) {
  look_.witnesses = {"nvml"};
  claim_.whole = 4;
  EXPECT_THAT(keys(held()), SizeIs(4));
  EXPECT_TRUE(held().are_its_own);
  // Four shares of them are no four GPUs.
  allocatable_ = 16;
  EXPECT_FALSE(held().are_its_own);
}

TEST_F(HeldGpusTest, where_nobody_tells_it_may_be_any_of_them_and_none_is_tested) {
  look_.witnesses = {"nvml"};
  const HeldGpus found = held();
  EXPECT_THAT(keys(found), SizeIs(4));
  EXPECT_FALSE(found.are_its_own);
  EXPECT_THAT(found.untestable, HasSubstr("cannot ask the kubelet"));
  EXPECT_FALSE(held_gpus(claim_, {gpus_, nullptr, allocatable_}).are_its_own);
}

TEST_F(HeldGpusTest, a_kubelet_that_tells_fewer_than_the_pod_asks_for_is_not_enough) {
  hold("train-0", gpu("b"));
  const HeldGpus found = held();
  EXPECT_FALSE(found.are_its_own);
  EXPECT_THAT(found.untestable, HasSubstr("reports 1 of the GPUs of the pod, which asks for 2"));
}

TEST_F(HeldGpusTest, a_part_of_a_gpu_is_not_tested) {
  claim_.whole = 0;
  claim_.has_parts = true;
  hold("train-0", {SubjectKind::gpu_instance, "c/7", {}, {}, {}});
  const HeldGpus found = held();
  EXPECT_THAT(keys(found), ElementsAre("c"));
  EXPECT_THAT(found.untestable, HasSubstr("a part of a GPU"));
}

TEST_F(HeldGpusTest, a_pod_that_asks_for_none_has_none) {
  claim_.whole = 0;
  EXPECT_THAT(keys(held()), IsEmpty());
  EXPECT_TRUE(held().are_its_own);
  claim_.has_claims = true;
  EXPECT_FALSE(held().are_its_own);
  hold("train-0", gpu("d"));
  EXPECT_THAT(keys(held()), ElementsAre("d"));
}

TEST_F(HeldGpusTest, a_candidate_of_the_api_is_no_holder) {
  GpuUser candidate;
  candidate.owner = owner_pod("train-0");
  candidate.owner.candidate_by = "api";
  seen_.push_back(to_observation(candidate, gpu("a"), "api", {}));
  claim_.whole = 1;
  EXPECT_FALSE(held().are_its_own);
}

TEST_F(HeldGpusTest, without_a_pod_it_is_the_whole_machine) {
  claim_ = {};
  EXPECT_THAT(keys(held()), SizeIs(4));
  EXPECT_THAT(held().untestable, IsEmpty());
  hold("train-0", gpu("a"));
  EXPECT_THAT(held().untestable, HasSubstr("in use by pod ml/train-0"));
}

TEST(GpuClaim, counts_what_a_pod_asks_for) {
  kube::Pod asking;
  asking.meta.name = "train-0";
  asking.meta.uid = "u";
  asking.devices = {{"nvidia.com/gpu", 2}, {"amd.com/gpu", 1}, {"example.com/fpga", 8}};
  EXPECT_EQ(claim_of(asking).whole, 3);
  EXPECT_FALSE(claim_of(asking).has_parts);
  asking.devices = {{"nvidia.com/mig-1g.10gb", 1}, {"nvidia.com/gpu.shared", 0}};
  asking.device_claims = {"gpus"};
  EXPECT_EQ(claim_of(asking).whole, 0);
  EXPECT_TRUE(claim_of(asking).has_parts);
  EXPECT_TRUE(claim_of(asking).has_claims);
}

}  // namespace
}  // namespace autopilot::preflight
