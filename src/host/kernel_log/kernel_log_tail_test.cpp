// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/kernel_log_tail.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <mutex>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "host/clock/system_clock.hpp"
#include "host/files/fd.hpp"
#include "host/kernel_log/kmsg_source.hpp"
#include "tests/support/host/test_clock.hpp"

namespace autopilot::host {
namespace {

using namespace std::chrono_literals;

MonoTime tail_deadline() {
  return std::chrono::steady_clock::now() + 20s;
}

// Reads until `done` says so or the deadline passes.
template <class Done>
Result<KernelRecords> read_until(const KernelLog& log, std::uint64_t from, Done done) {
  const MonoTime deadline = tail_deadline();
  for (;;) {
    auto records = log.read(from, deadline);
    if ((records && done(*records)) || std::chrono::steady_clock::now() > deadline) return records;
    std::this_thread::sleep_for(1ms);
  }
}

// The far end of a socket that stands for /dev/kmsg.
class Feeder {
 public:
  [[nodiscard]] KernelLogTail::Open opener(const Clock& clock) {
    return [this, &clock]() -> Result<std::unique_ptr<RecordSource>> {
      int ends[2];
      if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return fail_errno(errno, "pair");
      {
        const std::lock_guard lock(mutex_);
        far_ = Fd(ends[1]);
        for (const auto& text : backlog_)
          send_now(text);
        ++opened_;
      }
      return std::unique_ptr<RecordSource>(TRY(KmsgSource::adopt(ends[0], "feeder", clock)));
    };
  }
  void send(const std::string& record) {
    const std::lock_guard lock(mutex_);
    backlog_.push_back(record);
    send_now(record);
  }
  void hang_up() {
    const std::lock_guard lock(mutex_);
    far_.reset();
  }
  [[nodiscard]] int opened() {
    const std::lock_guard lock(mutex_);
    return opened_;
  }

 private:
  void send_now(const std::string& record) {
    if (!far_) return;
    EXPECT_EQ(::send(far_.get(), record.data(), record.size(), MSG_NOSIGNAL), ssize_t(record.size()));
  }
  std::mutex mutex_;
  Fd far_;
  std::vector<std::string> backlog_;
  int opened_ = 0;
};

std::string tail_line(std::uint64_t sequence, const std::string& text = "text") {
  return "3," + std::to_string(sequence) + ",5,-;" + text;
}

TEST(KernelLogTail, gives_what_is_there_and_then_what_comes) {
  const FixedClock clock;
  Feeder feeder;
  KernelLogTail tail(feeder.opener(clock));
  const auto empty = tail.read(0, tail_deadline());
  ASSERT_TRUE(empty) << empty.error().what;
  EXPECT_EQ(empty->witness, "feeder");
  for (std::uint64_t sequence = 0; sequence < 5; ++sequence)
    feeder.send(tail_line(sequence));
  const auto all = read_until(tail, 0, [](const auto& records) { return records.next == 5; });
  ASSERT_TRUE(all);
  EXPECT_EQ(all->records.size(), 5U);
  EXPECT_EQ(tail.read(3, tail_deadline())->records.size(), 2U);
  EXPECT_EQ(tail.counts().read, 5U);
}

TEST(KernelLogTail, goes_on_where_it_was_when_the_source_comes_back) {
  const FixedClock clock;
  Feeder feeder;
  KernelLogTail tail(feeder.opener(clock), {.first_retry = 1ms, .longest_retry = 1ms});
  ASSERT_TRUE(tail.read(0, tail_deadline()));
  feeder.send(tail_line(0));
  feeder.send(tail_line(1));
  ASSERT_TRUE(read_until(tail, 0, [](const auto& records) { return records.next == 2; }));
  feeder.hang_up();
  const MonoTime deadline = tail_deadline();
  while (feeder.opened() < 2 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(1ms);
  feeder.send(tail_line(7));
  const auto all = read_until(tail, 0, [](const auto& records) { return records.next == 8; });
  ASSERT_TRUE(all);
  EXPECT_EQ(all->records.size(), 3U);
  EXPECT_EQ(all->lost, 5U);
  EXPECT_EQ(tail.losses().lost, 5U);
}

TEST(KernelLogTail, says_why_there_is_no_source_and_looks_again) {
  const FixedClock clock;
  Feeder feeder;
  std::atomic<bool> is_denied{true};
  const auto opener = feeder.opener(clock);
  KernelLogTail tail(
      [&]() -> Result<std::unique_ptr<RecordSource>> {
        if (is_denied) return fail(Errc::denied, "/dev/kmsg: needs CAP_SYSLOG");
        return opener();
      },
      {.first_retry = 1ms, .longest_retry = 1ms});
  const auto denied = tail.read(0, tail_deadline());
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().code, Errc::denied);
  is_denied = false;
  EXPECT_TRUE(read_until(tail, 0, [](const auto&) { return true; }));
}

TEST(KernelLogTail, takes_the_word_injected_only_where_the_operator_allows_it) {
  const FixedClock clock;
  for (const bool is_allowed : {false, true}) {
    Feeder feeder;
    KernelLogTail tail(feeder.opener(clock), {.trusts_injected = is_allowed});
    ASSERT_TRUE(tail.read(0, tail_deadline()));
    feeder.send("12,0,5,-;autopilot-injected: NVRM: Xid");
    const auto all = read_until(tail, 0, [](const auto& records) { return records.next == 1; });
    ASSERT_TRUE(all);
    ASSERT_EQ(all->records.size(), 1U);
    EXPECT_EQ(all->records[0].injected, is_allowed);
    EXPECT_FALSE(all->records[0].from_kernel());
  }
}

TEST(KernelLogTail, tells_news_of_new_records_that_matter) {
  const FixedClock clock;
  Feeder feeder;
  std::atomic<int> told{0};
  KernelLogTail::Options options;
  options.news_in = [](const std::vector<SourcedRecord>& batch) {
    return std::ranges::any_of(batch, [](const auto& one) { return one.record.text.starts_with("NVRM"); })
               ? LogParts::gpu_driver
               : LogParts::none;
  };
  options.on_news = [&told](LogParts parts) {
    EXPECT_EQ(parts, LogParts::gpu_driver);
    ++told;
  };
  KernelLogTail tail(feeder.opener(clock), options);
  ASSERT_TRUE(tail.read(0, tail_deadline()));
  feeder.send(tail_line(0, "usb"));
  ASSERT_TRUE(read_until(tail, 0, [](const auto& records) { return records.next == 1; }));
  EXPECT_EQ(told, 0);
  feeder.send(tail_line(1, "NVRM: Xid"));
  const MonoTime deadline = tail_deadline();
  while (told == 0 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(1ms);
  EXPECT_EQ(told, 1);
}

// A source that gives three batches at once and then nothing.
class BurstSource final : public RecordSource {
 public:
  explicit BurstSource(std::atomic<int>& given) : given_(given) {}
  Result<std::vector<SourcedRecord>> next(Duration patience) override {
    if (!std::exchange(is_begun_, true)) return std::vector<SourcedRecord>{};
    if (given_ == 3) {
      std::unique_lock lock(mutex_);
      interrupted_.wait_for(lock, patience, [this] { return is_interrupted_; });
      return std::vector<SourcedRecord>{};
    }
    KernelRecord record;
    record.sequence = static_cast<std::uint64_t>(given_++);
    record.text = given_ == 1 ? "INFO: task dd:7 blocked for more than 120 seconds." : " schedule+0x1/0x2";
    std::vector<SourcedRecord> batch;
    batch.push_back({std::move(record), 0});
    return batch;
  }
  void interrupt() override {
    const std::lock_guard lock(mutex_);
    is_interrupted_ = true;
    interrupted_.notify_all();
  }
  [[nodiscard]] std::string witness() const override { return "burst"; }

 private:
  std::atomic<int>& given_;
  bool is_begun_ = false;
  std::mutex mutex_;
  std::condition_variable interrupted_;
  bool is_interrupted_ = false;
};

TEST(KernelLogTail, what_is_written_in_one_go_is_told_when_all_of_it_can_be_read) {
  std::atomic<int> given{0};
  std::atomic<int> told{0};
  std::atomic<int> given_when_told{0};
  KernelLogTail::Options options;
  options.news_in = [](const std::vector<SourcedRecord>& batch) {
    return std::ranges::any_of(batch, [](const auto& one) { return one.record.text.starts_with("INFO"); })
               ? LogParts::others
               : LogParts::none;
  };
  options.on_news = [&](LogParts) {
    given_when_told = given.load();
    ++told;
  };
  const KernelLogTail tail(
      [&given]() -> Result<std::unique_ptr<RecordSource>> { return std::make_unique<BurstSource>(given); },
      options);
  const MonoTime deadline = tail_deadline();
  while (told == 0 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(1ms);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(given_when_told, 3);
}

// A source that gives a million records, nine of ten overwritten, as fast as they are taken.
class StormSource final : public RecordSource {
 public:
  Result<std::vector<SourcedRecord>> next(Duration) override {
    std::vector<SourcedRecord> batch;
    while (batch.size() < kMaxBatch && sequence_ < 1'000'000) {
      KernelRecord record;
      record.sequence = sequence_;
      record.text = "NVRM: Xid (PCI:0000:3b:00): 45, pid=1234, name=python, Ch 00000010";
      batch.push_back({std::move(record), sequence_ == 0 ? 0U : 9U});
      sequence_ += 10;
    }
    if (batch.empty()) std::this_thread::sleep_for(1ms);
    return batch;
  }
  void interrupt() override {}
  [[nodiscard]] std::string witness() const override { return "storm"; }

 private:
  std::uint64_t sequence_ = 0;
};

TEST(KernelLogTail, counts_every_record_of_a_storm_as_read_or_lost) {
  KernelLogTail tail(
      []() -> Result<std::unique_ptr<RecordSource>> { return std::make_unique<StormSource>(); },
      {.limits = {.bytes = std::size_t{1} << 20, .records = 65536}});
  std::uint64_t from = 0;
  std::uint64_t seen = 0;
  std::uint64_t lost = 0;
  const MonoTime deadline = tail_deadline();
  while (from < 999'991 && std::chrono::steady_clock::now() < deadline) {
    const auto records = tail.read(from, deadline);
    ASSERT_TRUE(records);
    seen += records->records.size();
    lost += records->lost;
    from = records->next;
    std::this_thread::sleep_for(3ms);
  }
  EXPECT_EQ(seen + lost, 999'991U);
  EXPECT_EQ(tail.counts().read, 100'000U);
  EXPECT_GE(lost, 899'991U);
  EXPECT_EQ(tail.losses().lost, 899'991U) << "by the source";
  EXPECT_EQ(tail.losses().all(), lost) << "by the source and by the ring, each once";
}

TEST(KernelLogTail, follows_the_real_kernel_log) {
  const SystemClock clock;
  if (const auto source = open_kernel_log(clock); !source)
    GTEST_SKIP() << "the kernel log cannot be read here: " << source.error().what;
  const Fd writer(::open("/dev/kmsg", O_WRONLY | O_CLOEXEC));
  if (!writer) GTEST_SKIP() << "/dev/kmsg cannot be written here";
  KernelLogTail tail([&clock] { return open_kernel_log(clock); });
  const auto before = tail.read(0, tail_deadline());
  ASSERT_TRUE(before) << before.error().what;
  const std::string text = "autopilot tail test " + std::to_string(::getpid());
  // Without the newline the kernel keeps the record open for more.
  const std::string written = text + "\n";
  ASSERT_GT(::write(writer.get(), written.data(), written.size()), 0);
  const auto after = read_until(tail, before->next, [&text](const KernelRecords& records) {
    return std::any_of(records.records.begin(), records.records.end(),
                       [&text](const KernelRecord& record) { return record.text == text; });
  });
  ASSERT_TRUE(after);
  ASSERT_FALSE(after->records.empty());
  EXPECT_FALSE(after->records.back().from_kernel());
}

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
