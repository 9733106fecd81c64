// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/support/checks/gpu_check_fixture.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct FakeKubelet : host::Kubelet {
  [[nodiscard]] Result<host::PodResources> pod_resources(MonoTime) const override { return resources; }
  Result<host::PodResources> resources = host::PodResources{};
};

class GpuProcesses : public GpuCheckTest {
 protected:
  void SetUp() override {
    write("/proc/2/comm", "kthreadd");
    write("/proc/4242/stat", row(4242, "python3 (main)", 'S'));
    for (int i = 0; i < 2; ++i) {
      add(i);
      use(i, "", 0.0);
    }
  }
  static std::string row(int pid, const std::string& name, char state) {
    return std::to_string(pid) + " (" + name + ") " + state +
           " 1 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 7700 0 0";
  }
  void use(int index, const std::string& pids, double used) {
    const auto count =
        static_cast<std::int64_t>(std::count(pids.begin(), pids.end(), ' ')) + (pids.empty() ? 0 : 1);
    set(index, "processes.count", count);
    set(index, "processes.pids", Value{pids});
    set(index, "memory.total", std::int64_t{100} << 30U);
    set(index, "memory.used", Value{used * static_cast<double>(std::int64_t{100} << 30U)});
  }
};

TEST_F(GpuProcesses, one_that_works_and_one_that_rests_are_sound) {
  use(0, "4242", 0.9);
  EXPECT_THAT(look(kGpuProcesses), IsEmpty());
  EXPECT_THAT(witnesses_, ElementsAre("nvml", "/proc"));
}

TEST_F(GpuProcesses, a_process_that_the_kernel_does_not_know_holds_the_gpu) {
  use(1, "4242 5151", 0.5);
  EXPECT_THAT(look(kGpuProcesses), ElementsAre(gpu(1) + " degraded gpu_process_ended"));
  EXPECT_THAT(findings_[0].message, HasSubstr("pid 5151"));
}

TEST_F(GpuProcesses, a_zombie_has_ended) {
  write("/proc/5151/stat", row(5151, "a) Z b", 'Z'));
  use(1, "5151", 0.5);
  EXPECT_THAT(look(kGpuProcesses), ElementsAre(gpu(1) + " degraded gpu_process_ended"));
  write("/proc/5151/stat", row(5151, "a) Z b", 'D'));
  EXPECT_THAT(look(kGpuProcesses), IsEmpty()) << "its name only looks so";
}

TEST_F(GpuProcesses, memory_without_a_process_is_told) {
  use(0, "", 0.4);
  EXPECT_THAT(look(kGpuProcesses), ElementsAre(gpu(0) + " degraded gpu_memory_unowned"));
  EXPECT_THAT(findings_[0].message, HasSubstr("has 40 % of its memory in use"));
  use(0, "", 0.01);
  EXPECT_THAT(look(kGpuProcesses), IsEmpty()) << "the driver's own";
}

TEST_F(GpuProcesses, a_divided_gpu_is_not_judged_by_its_memory) {
  use(0, "", 0.4);
  set_flag(0, "mig", true);
  EXPECT_THAT(look(kGpuProcesses), IsEmpty());
}

TEST_F(GpuProcesses, those_that_use_a_gpu_are_named) {
  const std::string uid = "8b7c1f8e-0d55-4f9c-a2a3-1d2f3a4b5c6d";
  write("/proc/4242/cgroup", "0::/kubepods/pod" + uid + "/" + std::string(64, 'a'));
  write("/var/log/pods/ml_train-0_" + uid + "/main/0.log", "");
  use(1, "4242 5151", 0.5);
  look(kGpuProcesses);
  std::vector<std::string> named;
  for (const Observation& seen : history_.latest())
    if (const auto gpu_user = gpu_user_in(seen))
      named.push_back(seen.subject.key + " " + to_string(*gpu_user));
  EXPECT_THAT(named, ElementsAre(gpu(1).substr(4) + " pod ml/train-0 (python3 (main), 4242)"));
}

TEST_F(GpuProcesses, each_of_many_is_named) {
  std::string pids;
  for (int pid = 4194300; pid < 4194306; ++pid) {
    write("/proc/" + std::to_string(pid) + "/stat", row(pid, "rank", 'R'));
    pids += (pids.empty() ? "" : " ") + std::to_string(pid);
  }
  use(0, pids, 0.5);
  EXPECT_THAT(look(kGpuProcesses), IsEmpty());
  std::vector<std::int64_t> named;
  for (const Observation& seen : history_.latest())
    if (const auto gpu_user = gpu_user_in(seen)) named.push_back(gpu_user->pid);
  EXPECT_THAT(named, ElementsAre(4194300, 4194301, 4194302, 4194303, 4194304, 4194305));
}

class GpuHolders : public GpuProcesses {
 protected:
  void SetUp() override {
    GpuProcesses::SetUp();
    set(0, "minor", 4);
    set(1, "minor", 5);
  }
  void hold(const std::string& pod, const std::string& resource, std::vector<std::string> ids) {
    kubelet_.resources->held.push_back({"ml", pod, "main", resource, std::move(ids)});
  }
  Observed ask() {
    const host::Host& sees = host_;
    const host::Host host{sees.clock,           sees.files,    sees.kernel_log, sees.nvidia_gpus,
                          sees.filesystems,     sees.ethernet, sees.time_sync,  sees.nvme,
                          sees.spared_adapters, sees.amd_gpus, kubelet_};
    const Instant now = sees.clock.now();
    auto observed =
        kGpuProcesses.observe(host, {.now = now, .deadline = now.mono + std::chrono::seconds{10}});
    EXPECT_TRUE(observed);
    return observed ? *observed : Observed{};
  }
  // "GPU 1 pod ml/train-0", in order.
  static std::vector<std::string> holders(const Observed& observed) {
    std::vector<std::string> named;
    for (const Observation& seen : observed.observations) {
      const auto gpu_user = gpu_user_in(seen);
      if (gpu_user && !gpu_user->is_process())
        named.push_back("GPU " + std::to_string(seen.subject.index.value_or(-1)) + " " +
                        to_string(*gpu_user));
    }
    return named;
  }
  static std::string told(const Observed& observed, std::string_view name) {
    for (const Observation& seen : observed.observations)
      if (seen.name == name) return seen.value ? to_string(*seen.value) : seen.missing.text();
    return "nothing";
  }

  FakeKubelet kubelet_;
};

TEST_F(GpuHolders, are_the_pods_to_which_the_kubelet_gave_the_gpu) {
  hold("train-0", "nvidia.com/gpu", {"GPU-0", "GPU-1"});
  hold("shared-0", "nvidia.com/gpu", {"GPU-1::0", "GPU-1::1"});
  hold("claim-0", "gpu.nvidia.com", {"gpu-4"});
  hold("address-0", "amd.com/gpu", {address(1)});
  const Observed observed = ask();
  EXPECT_THAT(holders(observed),
              ElementsAre("GPU 0 pod ml/claim-0", "GPU 0 pod ml/train-0", "GPU 1 pod ml/address-0",
                          "GPU 1 pod ml/shared-0", "GPU 1 pod ml/train-0"));
  EXPECT_EQ(told(observed, "pods.holding_gpus"), "4");
  EXPECT_EQ(told(observed, "pods.other_devices"), "0");
  EXPECT_THAT(observed.witnesses, ElementsAre("nvml", "/proc", "kubelet"));
}

TEST_F(GpuHolders, of_what_is_no_gpu_of_this_machine_are_counted) {
  hold("train-0", "nvidia.com/gpu", {"GPU-9"});
  hold("train-0", "rdma/hca", {"1", "2"});
  hold("slice-0", "nvidia.com/mig-1g.10gb", {"MIG-1"});
  kubelet_.resources->left_out = 3;
  const Observed observed = ask();
  EXPECT_THAT(holders(observed), IsEmpty());
  EXPECT_EQ(told(observed, "pods.holding_gpus"), "0");
  EXPECT_EQ(told(observed, "pods.other_devices"), "7");
}

TEST_F(GpuHolders, of_an_instance_are_those_of_the_only_divided_gpu) {
  hold("slice-0", "nvidia.com/mig-1g.10gb", {"MIG-1"});
  set_flag(0, "mig", false);
  set_flag(1, "mig", true);
  EXPECT_THAT(holders(ask()), ElementsAre("GPU 1 pod ml/slice-0"));
  set(0, "mig", std::nullopt, 3);  // its model cannot be divided
  EXPECT_THAT(holders(ask()), ElementsAre("GPU 1 pod ml/slice-0"));
  set(0, "mig", std::nullopt, 999);  // nobody knows
  EXPECT_THAT(holders(ask()), IsEmpty());
  set_flag(0, "mig", true);
  EXPECT_THAT(holders(ask()), IsEmpty());
  gpus_.report.gpus[0].state = host::GpuState::lost;
  gpus_.report.gpus[0].readings.clear();
  EXPECT_THAT(holders(ask()), IsEmpty()) << "nobody knows of the lost one";
  gpus_.report.gpus.erase(gpus_.report.gpus.begin());
  EXPECT_THAT(holders(ask()), IsEmpty()) << "nor of one that the driver does not list any more";
}

TEST_F(GpuHolders, of_an_instance_are_told_of_that_part_of_the_gpu) {
  for (int i = 0; i < 2; ++i) {
    set_flag(i, "mig", true);
    gpus_.report.gpus[static_cast<std::size_t>(i)].instances = {
        {.gpu_instance = 5, .compute_instance = 0, .uuid = "MIG-" + std::to_string(i)}};
  }
  hold("slice-0", "nvidia.com/mig-1g.10gb", {"MIG-0"});
  hold("slice-1", "nvidia.com/mig-1g.10gb", {"MIG-1"});
  hold("slice-2", "nvidia.com/mig-1g.10gb", {"MIG-2"});
  std::vector<std::string> named;
  const Observed observed = ask();
  for (const Observation& seen : observed.observations)
    if (const auto gpu_user = gpu_user_in(seen))
      named.push_back(to_string(seen.subject) + " " + to_string(*gpu_user));
  EXPECT_THAT(named, ElementsAre("gpu_instance/" + address(0) + "/5/0 pod ml/slice-0",
                                 "gpu_instance/" + address(1) + "/5/0 pod ml/slice-1"));
  EXPECT_EQ(told(observed, "pods.other_devices"), "1");
  EXPECT_THAT(look(kGpuProcesses), IsEmpty());
}

TEST_F(GpuHolders, have_their_uid_from_the_folders_of_logs) {
  const std::string uid = "8b7c1f8e-0d55-4f9c-a2a3-1d2f3a4b5c6d";
  write("/var/log/pods/ml_train-0_" + uid + "/main/0.log", "");
  hold("train-0", "nvidia.com/gpu", {"GPU-0"});
  const auto uid_seen = [&] {
    const Observed observed = ask();
    for (const Observation& seen : observed.observations)
      if (const auto gpu_user = gpu_user_in(seen)) return gpu_user->owner.pod_uid;
    return std::string("nobody");
  };
  EXPECT_EQ(uid_seen(), uid);
  write("/var/log/pods/ml_train-0_9b7c1f8e-0d55-4f9c-a2a3-1d2f3a4b5c6d/main/0.log", "");
  EXPECT_EQ(uid_seen(), "") << "one of them was there before, and nobody says which";
}

TEST_F(GpuHolders, are_seen_without_the_processes_of_the_machine) {
  write("/proc/2/comm", "bash");
  hold("train-0", "nvidia.com/gpu", {"GPU-0"});
  EXPECT_THAT(holders(ask()), ElementsAre("GPU 0 pod ml/train-0"));
}

TEST_F(GpuHolders, are_not_there_where_no_kubelet_is_and_missing_where_it_cannot_be_asked) {
  kubelet_.resources = fail(Errc::not_found, "no kubelet");
  const Observed without = ask();
  EXPECT_EQ(told(without, "pods.holding_gpus"), "nothing");
  EXPECT_THAT(without.witnesses, ElementsAre("nvml", "/proc"));
  kubelet_.resources = fail(Errc::denied, "kubelet.sock");
  const Observed denied = ask();
  EXPECT_EQ(told(denied, "pods.holding_gpus"), "denied");
  EXPECT_THAT(denied.witnesses, ElementsAre("nvml", "/proc"));
}

TEST_F(GpuProcesses, from_within_a_namespace_nobody_is_called_gone) {
  write("/proc/2/comm", "bash");
  use(0, "77777", 0.4);
  use(1, "", 0.4);
  EXPECT_THAT(look(kGpuProcesses), ElementsAre("host unknown not_permitted"));
  EXPECT_THAT(findings_[0].message, HasSubstr("hostPID"));
}

}  // namespace
}  // namespace autopilot::checks
