// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "checks/gpu/gpu_check_fixture.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
  EXPECT_THAT(findings_[0].message, HasSubstr("process 5151"));
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

TEST_F(GpuProcesses, from_within_a_namespace_nobody_is_called_gone) {
  write("/proc/2/comm", "bash");
  use(0, "77777", 0.4);
  use(1, "", 0.4);
  EXPECT_THAT(look(kGpuProcesses), ElementsAre("host unknown not_permitted"));
  EXPECT_THAT(findings_[0].message, HasSubstr("hostPID"));
}

}  // namespace
}  // namespace autopilot::checks
