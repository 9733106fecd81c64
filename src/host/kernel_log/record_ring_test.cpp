// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/record_ring.hpp"

#include <gtest/gtest.h>
#include <string>

namespace autopilot::host {
namespace {

KernelRecord record(std::uint64_t sequence, std::string text = "x") {
  KernelRecord made;
  made.sequence = sequence;
  made.text = std::move(text);
  return made;
}

TEST(RecordRing, gives_only_what_the_caller_has_not_seen) {
  RecordRing ring;
  for (std::uint64_t sequence = 500; sequence < 510; ++sequence)
    ring.add(record(sequence), 0);
  const auto all = ring.read(0);
  EXPECT_EQ(all.records.size(), 10U);
  EXPECT_EQ(all.next, 510U);
  EXPECT_EQ(all.lost, 0U);
  const auto some = ring.read(507);
  ASSERT_EQ(some.records.size(), 3U);
  EXPECT_EQ(some.records.front().sequence, 507U);
  const auto none = ring.read(510);
  EXPECT_TRUE(none.records.empty());
  EXPECT_EQ(none.next, 510U);
}

TEST(RecordRing, gives_only_what_is_wanted_and_does_not_call_the_rest_lost) {
  RecordRing ring;
  ring.add(record(1, "a"), 0);
  ring.add(record(2, "b"), 0);
  ring.add(record(7, "a"), 4);
  const auto wanted = ring.read(1, [](const KernelRecord& one) { return one.text == "a"; });
  ASSERT_EQ(wanted.records.size(), 2U);
  EXPECT_EQ(wanted.records.back().sequence, 7U);
  EXPECT_EQ(wanted.lost, 4U);
  EXPECT_EQ(wanted.next, 8U);
}

TEST(RecordRing, counts_what_was_lost_before_it_and_what_it_dropped_itself) {
  RecordRing ring({.bytes = std::size_t{1} << 20, .records = 100});
  std::uint64_t sequence = 1000;
  for (int i = 0; i < 150; ++i)
    ring.add(record(sequence++), 0);
  sequence += 850;  // the kernel overwrote these
  ring.add(record(sequence++), 850);
  const auto batch = ring.read(1000);
  EXPECT_EQ(batch.records.size(), 100U);
  EXPECT_EQ(batch.lost, 901U);  // 1001 sent, 100 here
  EXPECT_EQ(batch.records.size() + batch.lost, batch.next - 1000U);
  EXPECT_EQ(ring.read(0).lost, 901U);
}

TEST(RecordRing, counts_only_the_part_of_a_gap_that_the_caller_misses) {
  RecordRing ring;
  ring.add(record(5), 0);
  ring.add(record(20), 14);
  EXPECT_EQ(ring.read(5).lost, 14U);
  EXPECT_EQ(ring.read(10).lost, 10U);
  EXPECT_EQ(ring.read(20).lost, 0U);
}

TEST(RecordRing, counts_what_was_overwritten_while_nobody_read) {
  RecordRing ring({.bytes = std::size_t{1} << 20, .records = 2});
  ring.add(record(5000), 5000);
  EXPECT_EQ(ring.read(4000).lost, 1000U);
  EXPECT_EQ(ring.read(0).lost, 0U);
  EXPECT_EQ(ring.read(5000).lost, 0U);
  for (std::uint64_t sequence = 5001; sequence < 5010; ++sequence)
    ring.add(record(sequence), 0);
  EXPECT_EQ(ring.read(4000).lost, 1008U);
  EXPECT_EQ(ring.read(0).lost, 8U);
}

TEST(RecordRing, stays_within_its_bytes) {
  RecordRing ring({.bytes = 100'000, .records = 1'000'000});
  for (std::uint64_t sequence = 0; sequence < 10'000; ++sequence)
    ring.add(record(sequence, std::string(200, 'x')), 0);
  EXPECT_LE(ring.bytes(), 100'000U);
  EXPECT_GT(ring.size(), 200U);
  EXPECT_EQ(ring.read(0).records.back().sequence, 9999U);
  EXPECT_EQ(ring.read(1).lost + ring.size(), 9999U);
}

TEST(RecordRing, starts_again_when_the_position_belongs_to_another_log) {
  RecordRing ring;
  ring.add(record(3), 0);
  const auto batch = ring.read(1'000'000);
  EXPECT_EQ(batch.records.size(), 1U);
  EXPECT_EQ(batch.next, 4U);
}

TEST(RecordRing, keeps_numbers_growing) {
  RecordRing ring;
  ring.add(record(10), 0);
  ring.add(record(10), 0);
  ring.add(record(4), 0);
  const auto batch = ring.read(0);
  EXPECT_EQ(batch.records[1].sequence, 11U);
  EXPECT_EQ(batch.records[2].sequence, 12U);
}

}  // namespace
}  // namespace autopilot::host
