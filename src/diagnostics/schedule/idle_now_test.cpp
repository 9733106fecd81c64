// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/schedule/idle_now.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/gpu_user.hpp"
#include "tests/support/diagnostics/gpu_fixture.hpp"

namespace autopilot::diagnostics {
namespace {

using ::testing::ElementsAre;
using testing::gpu;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GpusOfAMachine : public ::testing::Test {
 protected:
  GpusOfAMachine() {
    look_.check = "gpu.processes";
    look_.witnesses = {"nvml", "/proc"};
    add(host_subject(), "processes.all_visible", Value(true));
  }

  void add(const Subject& subject, std::string_view name, std::optional<Value> value) {
    Observation one;
    one.name = name;
    one.subject = subject;
    one.source = "nvml";
    one.value = std::move(value);
    if (!one.value) one.missing = "not_supported";
    observations_.push_back(std::move(one));
  }
  void processes(int number, std::int64_t count) { add(gpu(number), "processes.count", Value(count)); }
  void pod(const Subject& subject, const std::string& name) {
    GpuUser gpu_user;
    gpu_user.owner.pod_namespace = "ml";
    gpu_user.owner.pod = name;
    observations_.push_back(to_observation(gpu_user, subject, "kubelet", {}));
  }

  GpuSight sight() {
    look_.observations = observations_;
    return {gpus_, &look_, holder_};
  }
  IdleGpus idle() { return idle_gpus(sight()); }

  const std::vector<Subject> gpus_{gpu(0), gpu(1)};
  CheckResult look_;
  Observations observations_;
  std::optional<Result<std::string>> holder_;
};

TEST_F(GpusOfAMachine, a_holder_is_known_by_its_pod_or_by_a_process) {
  EXPECT_EQ(known_holder({}), "");
  processes(0, 0);
  EXPECT_EQ(known_holder(sight()), "");
  holder_ = fail(Errc::unavailable, "not listed yet");
  EXPECT_EQ(known_holder(sight()), "");
  holder_ = std::string("ml/train-0");
  EXPECT_EQ(known_holder(sight()), "pod ml/train-0 holds GPUs of this node");
  holder_.reset();
  processes(1, 2);
  EXPECT_EQ(known_holder(sight()), "gpu/0000:01:00.0 is in use by 2 processes");
  pod(gpu(0), "train-1");
  observations_.erase(observations_.end() - 2);
  EXPECT_THAT(known_holder(sight()), HasSubstr("is held by"));
}

TEST_F(GpusOfAMachine, a_pod_holds_what_the_kubelet_gave_it_whether_it_uses_it_or_not) {
  look_.witnesses.emplace_back("kubelet");
  processes(0, 0);
  processes(1, 3);
  pod(gpu(1), "train-0");
  const std::vector<Subject> first{gpu(0)};
  const std::vector<Subject> second{gpu(1)};
  EXPECT_EQ(pod_holding(sight(), first), "");
  EXPECT_EQ(pod_holding(sight(), second), "ml/train-0 on gpu/0000:01:00.0");
  EXPECT_EQ(pod_holding(sight(), {}), "ml/train-0 on gpu/0000:01:00.0");
}

TEST_F(GpusOfAMachine, where_nobody_tells_which_a_pod_has_it_has_all) {
  const std::vector<Subject> first{gpu(0)};
  processes(0, 0);
  holder_ = std::string("ml/train-0");
  EXPECT_EQ(pod_holding(sight(), first), "ml/train-0, and it is not known which GPUs of this node it has");
  holder_ = std::string();
  EXPECT_EQ(pod_holding(sight(), first), "");
  holder_ = fail(Errc::unavailable, "not listed yet");
  EXPECT_EQ(pod_holding(sight(), first), "")
      << "whoever asks for a test is not kept from it by what nobody knows";
  EXPECT_EQ(pod_holding({}, first), "");
}

// One with another node, which a job that begins here would end. Nobody has to see its name.
TEST_F(GpusOfAMachine, are_not_held_by_a_test_of_ours) {
  processes(0, 1);
  GpuSight seen = sight();
  seen.own_processes = [](const Subject&) { return 1; };
  EXPECT_EQ(known_holder(seen), "");
  seen.own_processes = [](const Subject& one) { return one == gpu(1) ? 1 : 0; };
  EXPECT_EQ(known_holder(seen), "gpu/0000:00:00.0 is in use by 1 process");
  processes(1, 2);
  seen = sight();
  seen.own_processes = [](const Subject&) { return 1; };
  EXPECT_EQ(known_holder(seen), "gpu/0000:01:00.0 is in use by 2 processes");
}

TEST_F(GpusOfAMachine, are_idle_where_nobody_uses_or_holds_them) {
  processes(0, 0);
  processes(1, 0);
  EXPECT_THAT(idle().idle, ElementsAre(gpu(0), gpu(1)));
  EXPECT_EQ(idle().busy, "");
}

TEST_F(GpusOfAMachine, are_not_idle_with_a_process) {
  processes(0, 3);
  processes(1, 0);
  EXPECT_THAT(idle().idle, ElementsAre(gpu(1)));
  EXPECT_EQ(idle().busy, "gpu/0000:00:00.0 is in use by 3 processes");
}

TEST_F(GpusOfAMachine, are_not_idle_where_nobody_tells) {
  add(gpu(0), "processes.count", std::nullopt);
  EXPECT_THAT(idle().idle, IsEmpty()) << "of the second nothing was said at all";
  EXPECT_THAT(idle().busy, HasSubstr("has no process list from NVIDIA's driver"));
  EXPECT_THAT(idle_gpus({gpus_, nullptr, {}}).idle, IsEmpty());
}

TEST_F(GpusOfAMachine, are_not_tested_where_they_are_of_another_vendor) {
  processes(0, 0);
  processes(1, 0);
  observations_[1].source = "amdgpu";
  EXPECT_THAT(idle().idle, ElementsAre(gpu(1)));
}

TEST_F(GpusOfAMachine, are_not_idle_in_the_hands_of_a_pod_that_has_not_begun_to_compute) {
  processes(0, 0);
  processes(1, 0);
  pod(gpu(1), "train-0");
  EXPECT_THAT(idle().idle, ElementsAre(gpu(0)));
  EXPECT_THAT(idle().busy, HasSubstr("is held by pod ml/train-0"));
}

TEST_F(GpusOfAMachine, are_not_idle_where_a_pod_holds_a_part) {
  processes(0, 0);
  processes(1, 0);
  pod({SubjectKind::gpu_instance, gpu(0).key + "/3/0", {}, "", ""}, "infer-0");
  EXPECT_THAT(idle().idle, ElementsAre(gpu(1)));
}

TEST_F(GpusOfAMachine, are_not_tested_divided) {
  processes(0, 0);
  processes(1, 0);
  add(gpu(0), "mig", Value(true));
  EXPECT_THAT(idle().idle, ElementsAre(gpu(1)));
}

TEST_F(GpusOfAMachine, are_all_held_where_nobody_tells_which_of_them_a_pod_has) {
  processes(0, 0);
  processes(1, 0);
  holder_ = Result<std::string>("ml/train-0");
  EXPECT_THAT(idle().idle, IsEmpty());
  EXPECT_EQ(idle().busy, "pod ml/train-0 holds GPUs of this node");
  holder_ = Result<std::string>(fail(Errc::unavailable, "403"));
  EXPECT_THAT(idle().idle, IsEmpty()) << "somebody may";
  holder_ = Result<std::string>("");
  EXPECT_THAT(idle().idle, ElementsAre(gpu(0), gpu(1)));
  holder_ = Result<std::string>("ml/train-0");
  look_.witnesses.emplace_back("kubelet");
  EXPECT_THAT(idle().idle, ElementsAre(gpu(0), gpu(1))) << "the kubelet knows each";
}

TEST_F(GpusOfAMachine, are_not_idle_where_processes_of_others_cannot_be_seen) {
  observations_.front().value = Value(false);
  processes(0, 0);
  processes(1, 0);
  EXPECT_THAT(idle().idle, IsEmpty());
  EXPECT_THAT(idle().busy, HasSubstr("PID namespace"));
  holder_ = Result<std::string>("");
  EXPECT_THAT(idle().idle, ElementsAre(gpu(0), gpu(1))) << "the API tells that no pod has any";
}

TEST_F(GpusOfAMachine, have_a_newcomer_beside_the_test) {
  processes(0, 1);
  processes(1, 2);
  EXPECT_EQ(newcomer(sight(), std::vector{gpu(0)}), "") << "the test itself";
  EXPECT_EQ(newcomer(sight(), std::vector{gpu(0), gpu(1)}),
            "gpu/0000:01:00.0 is in use by another process as well");
  pod(gpu(0), "train-0");
  EXPECT_THAT(newcomer(sight(), std::vector{gpu(0)}), HasSubstr("is held by pod ml/train-0"));
  holder_ = Result<std::string>("ml/train-1");
  EXPECT_THAT(newcomer(sight(), std::vector{gpu(0)}), HasSubstr("pod ml/train-1"));
}

}  // namespace
}  // namespace autopilot::diagnostics
