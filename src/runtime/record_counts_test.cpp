// SPDX-License-Identifier: Apache-2.0
#include "runtime/record_counts.hpp"

#include <gtest/gtest.h>
#include <numeric>

namespace autopilot::runtime {
namespace {

Observation record(std::int64_t code, std::int64_t count = 1) {
  Observation result;
  result.name = "xid";
  result.value = code;
  result.sequence = 1;
  if (count > 1) result.attributes = {{"count", count}};
  return result;
}

TEST(RecordCounts, counts_by_kind_and_what_one_record_stands_for) {
  RecordCounts counts;
  counts.add("gpu.xid", {record(31), record(31, 9), record(999)});
  const auto list = counts.counts();
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].kind.value, "31");
  EXPECT_EQ(list[0].count, 10U);
  EXPECT_EQ(list[1].kind.value, "999");
}

TEST(RecordCounts, loses_nothing_beyond_the_limit) {
  RecordCounts counts;
  for (int code = 0; code < 1000; ++code)
    counts.add("gpu.xid", {record(code)});
  const auto list = counts.counts();
  EXPECT_LE(list.size(), RecordCounts::kMaxKinds + 1);
  EXPECT_EQ(std::accumulate(list.begin(), list.end(), std::uint64_t{0},
                            [](std::uint64_t sum, const RecordCount& one) { return sum + one.count; }),
            1000U);
}

}  // namespace
}  // namespace autopilot::runtime
