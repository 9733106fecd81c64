// SPDX-License-Identifier: Apache-2.0
#include "kube/lease_object.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

LeaseRecord sample_record() {
  return {.holder = "pod-1_7f",
          .duration_s = 15,
          .transitions = 4,
          .acquired = WallTime{1'800'000'000s + 1us},
          .renewed = WallTime{1'800'000'009s + 120ms},
          .resource_version = "77"};
}

TEST(LeaseObject, says_in_a_new_lease_who_holds_it_and_since_when) {
  EXPECT_EQ(
      lease_json("autopilot-controller", sample_record()),
      R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"autopilot-controller"},)"
      R"("spec":{"holderIdentity":"pod-1_7f","leaseDurationSeconds":15,"leaseTransitions":4,)"
      R"("acquireTime":"2027-01-15T08:00:00.000001Z","renewTime":"2027-01-15T08:00:09.120000Z"}})");
}

TEST(LeaseObject, changes_only_the_version_that_was_read) {
  EXPECT_THAT(lease_patch_json(sample_record()),
              AllOf(HasSubstr(R"("metadata":{"resourceVersion":"77"})"), HasSubstr(R"("leaseTransitions":4)"),
                    Not(HasSubstr("kind"))));
}

TEST(LeaseObject, reads_what_it_wrote) {
  std::string text = lease_json("l", sample_record());
  text.insert(text.find(R"("name")"), R"("resourceVersion":"77",)");
  const auto record = parse_lease_record(text);
  ASSERT_TRUE(record) << record.error().what;
  EXPECT_EQ(*record, sample_record());
}

TEST(LeaseObject, reads_one_that_nobody_has_and_numbers_beyond_all_bounds) {
  const auto empty = parse_lease_record(R"({"metadata":{"resourceVersion":"1"}})");
  ASSERT_TRUE(empty);
  EXPECT_EQ(*empty, LeaseRecord{.resource_version = "1"});
  const auto huge = parse_lease_record(
      R"({"metadata":{"resourceVersion":"1"},"spec":{"leaseDurationSeconds":99999999999,"leaseTransitions":-9}})");
  ASSERT_TRUE(huge);
  EXPECT_EQ(huge->duration_s, 2147483647);
  EXPECT_EQ(huge->transitions, 0);
}

TEST(LeaseObject, what_has_no_version_is_none) {
  for (const char* text : {"", "[]", "{}", R"({"spec":{"holderIdentity":"a"}})", "\x01\x02"})
    EXPECT_FALSE(parse_lease_record(text)) << text;
}

}  // namespace
}  // namespace autopilot::kube
