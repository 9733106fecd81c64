// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/builtin.hpp"
#include "tests/fakes/fake_host.hpp"

namespace autopilot::checks {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

class StoragePvc : public ::testing::Test {
 protected:
  void note(std::string_view name, std::optional<Value> value, std::string_view missing = "",
            Attributes attributes = {}) {
    Observation observation;
    observation.name = name;
    observation.subject.kind = SubjectKind::peer;
    observation.subject.key = "fast/ReadWriteOnce";
    observation.value = std::move(value);
    observation.missing = missing;
    observation.source = "kubernetes";
    observation.time = empty_.clock.now();
    observation.attributes = std::move(attributes);
    seen_.push_back(std::move(observation));
  }
  Findings look() {
    board_.put("storage.pvc", seen_);
    empty_.clock.advance(5min);
    const Instant now = empty_.clock.now();
    auto observed = kStoragePvc.observe(host_, {.now = now, .deadline = now.mono + 5s});
    if (!observed) {
      ADD_FAILURE() << observed.error().what;
      return {};
    }
    History history;
    history.add(std::move(observed->observations), kStoragePvc.info.window);
    return kStoragePvc.judge(
        {.now = now, .history = history, .facts = catalog::builtin(), .expectation = expectation_});
  }

  fakes::EmptyHost empty_;
  host::TestBoard board_;
  host::Host host_{.clock = empty_.clock,
                   .files = empty_.files,
                   .kernel_log = empty_.kernel_log,
                   .nvidia_gpus = empty_.gpus,
                   .filesystems = empty_.filesystems,
                   .ethernet = empty_.ethernet,
                   .time_sync = empty_.time_sync,
                   .nvme = empty_.nvme,
                   .tests = board_};
  Observations seen_;
  Expectation expectation_;
  const Attributes what_{{"storageClass", "fast"}, {"accessMode", "ReadWriteOnce"}};
};

TEST_F(StoragePvc, without_tests_there_is_nothing_to_judge) {
  const Instant now = empty_.clock.now();
  EXPECT_EQ(kStoragePvc.observe(host_, {.now = now, .deadline = now.mono}).error().code, Errc::unsupported);
  board_.put("storage.pvc", fail(Errc::unavailable, "no test has ended"));
  EXPECT_EQ(kStoragePvc.observe(host_, {.now = now, .deadline = now.mono}).error().code, Errc::unavailable);
}

TEST_F(StoragePvc, a_finding_names_class_mode_time_and_when_it_was_tested) {
  Attributes what = what_;
  what.emplace_back("detail", "0/1 nodes are available");
  note("pvc.outcome", "not_bound", "", what);
  note("pvc.seconds", 90.2);
  const Findings findings = look();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].reason, "pvc_not_bound");
  EXPECT_EQ(findings[0].health, Health::failed);
  EXPECT_EQ(findings[0].message,
            "storage class fast (ReadWriteOnce) provided no volume within 90.2 s: 0/1 nodes are available");
  EXPECT_EQ(to_string(*find_attribute(findings[0].evidence, "testedAt")), "2026-01-01T00:00:00.000Z");
  EXPECT_EQ(to_string(*find_attribute(findings[0].evidence, "storageClass")), "fast");
}

TEST_F(StoragePvc, an_operator_says_what_is_slow) {
  note("pvc.outcome", "bound", "", what_);
  note("pvc.seconds", 12.0);
  EXPECT_THAT(look(), IsEmpty());
  expectation_.thresholds["storage.pvc.slow_seconds"] = 10;
  const Findings findings = look();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].health, Health::degraded);
  EXPECT_EQ(to_string(*find_attribute(findings[0].evidence, "thresholdSource")), "configuration");
}

TEST_F(StoragePvc, what_could_not_be_tested_is_no_fault_and_what_is_left_behind_is_told_beside_it) {
  Attributes what = what_;
  what.emplace_back("error", "may not create persistentvolumeclaims");
  what.emplace_back("leftBehind", "claim autopilot-pvc-1");
  note("pvc.outcome", {}, "denied", what);
  note("pvc.left_behind", true);
  const Findings findings = look();
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].health, Health::unknown);
  EXPECT_EQ(findings[0].message, "may not create persistentvolumeclaims");
  EXPECT_EQ(findings[1].reason, "pvc_left_behind");
  EXPECT_THAT(findings[1].message, AllOf(HasSubstr("fast"), HasSubstr("claim autopilot-pvc-1")));
}

}  // namespace
}  // namespace autopilot::checks
