// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/record_ring.hpp"

#include <algorithm>
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
  const auto wanted = ring.read(1, {.holds = [](const KernelRecord& one) { return one.text == "a"; }});
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
  const auto batch = ring.read(0);
  EXPECT_EQ(batch.records.size(), 100U);
  EXPECT_EQ(batch.lost, 901U);  // 1001 sent, 100 here
  EXPECT_EQ(ring.losses().lost, 850U);
  EXPECT_EQ(ring.losses().missed, 51U);
  EXPECT_EQ(ring.read(batch.next).lost, 0U);
}

TEST(RecordRing, what_was_missing_before_the_first_record_is_not_lost) {
  RecordRing ring;
  ring.add(record(5000), 5000);
  EXPECT_EQ(ring.read(0).lost, 0U);
  EXPECT_EQ(ring.losses().all(), 0U);
}

TEST(RecordRing, what_two_readers_miss_is_told_to_each_and_counted_once) {
  RecordRing ring({.bytes = std::size_t{1} << 20, .records = 10});
  const KernelLog::Wanted quick{.reader = "quick"};
  const KernelLog::Wanted slow{.reader = "slow"};
  std::uint64_t from_quick = ring.read(0, quick).next;
  const std::uint64_t from_slow = ring.read(0, slow).next;
  std::uint64_t sequence = 0;
  const auto write = [&](int count) {
    for (int i = 0; i < count; ++i)
      ring.add(record(sequence++), 0);
  };
  write(10);
  from_quick = ring.read(from_quick, quick).next;
  write(30);  // 10 of them fit: the quick one misses 20, the slow one 30
  const auto of_quick = ring.read(from_quick, quick);
  EXPECT_EQ(of_quick.records.size() + of_quick.lost, 30U);
  const auto of_slow = ring.read(from_slow, slow);
  EXPECT_EQ(of_slow.records.size() + of_slow.lost, 40U);
  EXPECT_EQ(ring.losses().missed, of_slow.lost);
}

TEST(RecordRing, what_was_read_before_a_restart_is_not_missed_after_it) {
  RecordRing ring({.bytes = std::size_t{1} << 20, .records = 100});
  for (std::uint64_t sequence = 0; sequence < 1000; ++sequence)
    ring.add(record(sequence, std::to_string(sequence)), 0);
  EXPECT_EQ(ring.losses().all(), 0U) << "nobody has missed anything yet";
  EXPECT_EQ(ring.read(1000, {.reader = "had all"}).lost, 0U);
  EXPECT_EQ(ring.losses().all(), 0U);
  EXPECT_EQ(ring.read(890, {.reader = "had most"}).lost, 10U);
  EXPECT_EQ(ring.losses().missed, 10U);
  EXPECT_EQ(ring.read(0, {.reader = "had none"}).lost, 900U);
  EXPECT_EQ(ring.losses().missed, 900U) << "each counts once";
}

TEST(RecordRing, what_the_kernel_lost_before_a_restart_is_not_missed_after_it) {
  RecordRing ring;
  ring.add(record(10), 0);
  ring.add(record(20), 9);
  EXPECT_EQ(ring.read(20, {.reader = "came later"}).lost, 0U);
  EXPECT_EQ(ring.read(0, {.reader = "new"}).lost, 9U);
}

TEST(RecordRing, nobody_misses_records_of_a_part_that_he_does_not_read) {
  RecordRing ring({.bytes = std::size_t{1} << 20, .records = 30}, [](const KernelRecord& one) {
    return one.text.starts_with("NVRM") ? LogParts::gpu_driver : LogParts::others;
  });
  const KernelLog::Wanted disks{.reader = "disks", .parts = LogParts::others};
  const std::uint64_t from = ring.read(0, disks).next;
  ring.add(record(0, "sda: error"), 0);
  for (std::uint64_t sequence = 1; sequence < 100; ++sequence)
    ring.add(record(sequence, "NVRM: Xid (PCI:0000:3b:00): 45, pid=1"), 0);
  const auto seen = ring.read(from, disks);
  ASSERT_EQ(seen.records.size(), 1U);
  EXPECT_EQ(seen.lost, 0U);
  EXPECT_EQ(ring.losses().all(), 0U);
}

TEST(RecordRing, a_storm_does_not_push_out_what_is_told_once) {
  RecordRing ring({.bytes = 100'000, .records = 65'536});
  std::uint64_t sequence = 0;
  for (int code = 60; code < 68; ++code) {
    for (int i = 0; i < 10'000; ++i)
      ring.add(record(sequence++, "NVRM: Xid (PCI:0000:3b:00): 45, pid=" + std::to_string(i)), 0);
    ring.add(record(sequence++, "NVRM: Xid (PCI:0000:3b:00): " + std::to_string(code) + ", pid=1"), 0);
  }
  const auto left = ring.read(0, {.holds = [](const KernelRecord& one) {
                                return !one.text.starts_with("NVRM: Xid (PCI:0000:3b:00): 45,");
                              }});
  EXPECT_EQ(left.records.size(), 8U);
  EXPECT_EQ(ring.losses().missed + ring.size(), sequence);
  const auto all = ring.read(0).records;
  EXPECT_EQ(all.back().text, "NVRM: Xid (PCI:0000:3b:00): 67, pid=1");
  EXPECT_TRUE(std::ranges::is_sorted(all, {}, &KernelRecord::sequence));
}

TEST(RecordRing, a_storm_that_all_have_does_not_stay) {
  RecordRing ring({.bytes = std::size_t{1} << 20, .records = 65'536}, [](const KernelRecord& one) {
    return one.text.starts_with("NVRM") ? LogParts::gpu_driver : LogParts::others;
  });
  const KernelLog::Wanted gpus{.reader = "gpus", .parts = LogParts::gpu_driver};
  const KernelLog::Wanted all{.reader = "all"};
  const KernelLog::Wanted disks{.reader = "disks", .parts = LogParts::others};
  for (const auto& reader : {gpus, all, disks})
    (void)ring.read(0, reader);
  for (std::uint64_t sequence = 0; sequence < 1000; ++sequence)
    ring.add(record(sequence, "NVRM: Xid (PCI:0000:3b:00): 45, pid=1"), 0);
  ASSERT_EQ(ring.read(0, gpus).records.size(), 1000U);
  ASSERT_EQ(ring.read(0, gpus).records.size(), 1000U) << "his first answer may not have come to him";
  ASSERT_EQ(ring.read(0, all).records.size(), 1000U);
  (void)ring.read(1000, gpus);
  EXPECT_EQ(ring.size(), 1000U);
  const auto last = ring.read(600, all);
  EXPECT_EQ(last.records.size(), 400U);
  EXPECT_EQ(ring.size(), RecordRing::kKeptOfKind + 400);
  (void)ring.read(1000, all);
  EXPECT_EQ(ring.size(), RecordRing::kKeptOfKind);
  EXPECT_EQ(ring.losses().all(), 0U);
  const auto late = ring.read(0, {.reader = "late"});
  EXPECT_EQ(late.records.size() + late.lost, 1000U) << "who comes late is told what he missed";
}

TEST(RecordRing, stays_within_its_bytes) {
  for (const bool are_alike : {true, false}) {
    RecordRing ring({.bytes = 100'000, .records = 1'000'000});
    for (std::uint64_t sequence = 0; sequence < 10'000; ++sequence)
      ring.add(record(sequence, (are_alike ? "" : std::to_string(sequence)) + std::string(200, 'x')), 0);
    EXPECT_LE(ring.bytes(), 100'000U);
    EXPECT_GT(ring.size(), 200U);
    EXPECT_EQ(ring.read(0).records.back().sequence, 9999U);
    EXPECT_EQ(ring.losses().missed + ring.size(), 10'000U);
  }
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
