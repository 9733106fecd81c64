// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/reset_evidence.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "checks/kernel_log/driver_events.hpp"

namespace autopilot::checks {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kLoaded =
    "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.161.08  Tue Mar  5 22:42:15 UTC 2024";
constexpr const char* kTakenBack =
    "NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 "
    "(None)";

std::vector<std::string> resets(const std::string& text, int facility = 0, bool injected = false) {
  host::KernelRecords log;
  log.witness = "/dev/kmsg";
  host::KernelRecord& record = log.records.emplace_back();
  record.text = text;
  record.facility = facility;
  record.injected = injected;
  std::vector<std::string> found;
  for (const Subject& gpu : resets_in(collect_driver_events(log).events))
    found.push_back(to_string(gpu));
  return found;
}

TEST(ResetEvidence, a_loaded_driver_is_a_reset_of_everything_it_drives) {
  EXPECT_THAT(resets(kLoaded), ElementsAre("host"));
}

TEST(ResetEvidence, a_verdict_that_is_taken_back_is_a_reset_of_that_gpu) {
  EXPECT_THAT(resets(kTakenBack), ElementsAre("gpu/0000:3b:00.0"));
}

TEST(ResetEvidence, a_verdict_that_asks_for_something_and_any_other_error_are_none) {
  EXPECT_THAT(resets("NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 "
                     "(GPU Reset Required)"),
              IsEmpty());
  EXPECT_THAT(resets("NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus."),
              IsEmpty());
}

TEST(ResetEvidence, what_user_space_wrote_or_somebody_injected_resets_nothing_real) {
  for (const char* line : {kLoaded, kTakenBack}) {
    EXPECT_THAT(resets(line, 1), IsEmpty());
    EXPECT_THAT(resets(line, 0, true), IsEmpty());
  }
}

}  // namespace
}  // namespace autopilot::checks
