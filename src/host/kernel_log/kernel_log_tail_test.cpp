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
#include "host/kernel_log/test_clock.hpp"

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

}  // namespace
}  // namespace autopilot::host
