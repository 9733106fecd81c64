// SPDX-License-Identifier: Apache-2.0

#include "runtime/log_reader.hpp"

#include <gtest/gtest.h>
#include <numeric>

#include "checks/kernel_log/record_effects.hpp"

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

using namespace std::chrono_literals;

Subject gpu_at(const std::string& address) {
  return {SubjectKind::gpu, address, std::nullopt, "", ""};
}

TEST(ProvenResets, the_last_of_each_gpu_outlives_a_restart_in_the_same_boot) {
  ProvenResets before("boot-a", "");
  before.add(gpu_at("0000:1b:00.0"), MonoTime{10s});
  before.add(gpu_at("0000:43:00.0"), MonoTime{20s});
  before.add(gpu_at("0000:1b:00.0"), MonoTime{30s});
  const ProvenResets after("boot-a", before.to_text());
  const Observations events = after.events({WallTime{1000s}, MonoTime{100s}});
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].time.mono, MonoTime{30s});
  EXPECT_EQ(events[0].time.wall, WallTime{930s});
  const auto seen = checks::reset_in(events[0]);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->gpu.key, "0000:1b:00.0");
  EXPECT_FALSE(seen->injected);
  EXPECT_TRUE(ProvenResets("boot-b", before.to_text()).events({}).empty());
}

TEST(ProvenResets, what_cannot_be_read_is_left_out) {
  for (const std::string_view text : {"", "boot-a", "boot-a ", "boot-a x", "boot-a =5",
                                      "boot-a x=", "boot-a x=y", "boot-ab 0000:1b:00.0=5"})
    EXPECT_TRUE(ProvenResets("boot-a", text).events({}).empty()) << text;
  EXPECT_EQ(ProvenResets("boot-a", "boot-a x=y  0000:1b:00.0=5 ").events({}).size(), 1U);
}

}  // namespace

}  // namespace autopilot::runtime
