// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/kmsg_source.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "host/clock/system_clock.hpp"
#include "tests/support/host/test_clock.hpp"

namespace autopilot::host {
namespace {

using namespace std::chrono_literals;

TEST(KmsgRecord, splits_priority_sequence_time_and_text) {
  const auto record = parse_kmsg_record("3,1042,2750000123,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1\n");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->priority, 3);
  EXPECT_EQ(record->facility, 0);
  EXPECT_EQ(record->sequence, 1042U);
  EXPECT_EQ(record->microseconds, 2750000123U);
  EXPECT_EQ(record->text, "NVRM: Xid (PCI:0000:3b:00): 79, pid=1");
}

TEST(KmsgRecord, leaves_out_properties_and_ignores_further_header_fields) {
  const auto record =
      parse_kmsg_record("6,7,8,-,caller=T1;usb 1-1: new device\n SUBSYSTEM=usb\n DEVICE=c189:1\n");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->text, "usb 1-1: new device");
}

TEST(KmsgRecord, tells_what_user_space_wrote_by_its_facility) {
  const auto record = parse_kmsg_record("12,9,1,-;NVRM: Xid (PCI:0000:3b:00): 79, oops");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->facility, 1);
  EXPECT_EQ(record->priority, 4);
  EXPECT_FALSE(to_kernel_record(*record, {}).from_kernel());
}

TEST(KmsgRecord, marks_injected_records_only_where_user_space_wrote_them) {
  const auto injected = parse_kmsg_record("12,9,1,-;autopilot-injected: NVRM: Xid");
  ASSERT_TRUE(injected);
  EXPECT_TRUE(injected->injected);
  EXPECT_EQ(injected->text, "NVRM: Xid");
  const auto kernel = parse_kmsg_record("4,9,1,-;autopilot-injected: NVRM: Xid");
  ASSERT_TRUE(kernel);
  EXPECT_FALSE(kernel->injected);
}

TEST(KmsgRecord, undoes_escapes_of_newlines_and_characters) {
  const auto record = parse_kmsg_record(R"(3,1,1,-;first\x0aNVRM: second \x5cx \xc3\xa9)");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->text, "first\nNVRM: second \\x \xc3\xa9");
}

TEST(KmsgRecord, refuses_what_has_no_header) {
  for (const char* text :
       {"", ";", "1,2;x", "1,2,3;x", "a,2,3,-;x", "1,2,3x,-;x", "-1,2,3,-;x", "1,,3,-;x", "99999999,2,3,-;x",
        "1,99999999999999999999999,3,-;x", "1,2,18446744073709551615,-;x", "1,2,3,-"}) {
    const auto record = parse_kmsg_record(text);
    ASSERT_FALSE(record) << text;
    EXPECT_EQ(record.error().code, Errc::malformed);
  }
}

TEST(KmsgRecord, survives_ten_megabytes_and_binary) {
  constexpr std::size_t kTenMegabytes = 10'000'000;
  std::string line = "3,1,1,-;";
  line.resize(kTenMegabytes, 'x');
  const auto huge = parse_kmsg_record(line);
  ASSERT_TRUE(huge);
  EXPECT_EQ(huge->text.size(), KernelRecord::kMaxText);
  line.assign(kTenMegabytes, ',');
  EXPECT_FALSE(parse_kmsg_record(line));
  std::string binary = "3,1,1,-;";
  for (int value = 0; value < 256; ++value)
    if (value != '\n') binary += static_cast<char>(value);
  const auto record = parse_kmsg_record(binary);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->text.find('\0'), std::string::npos);
  EXPECT_NE(record->text.find("\\x00"), std::string::npos);
  EXPECT_NE(record->text.find("\\xff"), std::string::npos);
}

TEST(CleanLogText, keeps_escapes_that_would_give_control_or_broken_characters) {
  EXPECT_EQ(clean_log_text(R"(a\x1b[31mb)"), R"(a\x1b[31mb)");
  EXPECT_EQ(clean_log_text("a\x1b[31mb"), R"(a\x1b[31mb)");
  EXPECT_EQ(clean_log_text(R"(\xff)"), R"(\xff)");
  EXPECT_EQ(clean_log_text(R"(\xc3)"), R"(\xc3)");
  EXPECT_EQ(clean_log_text("\xed\xa0\x80"), R"(\xed\xa0\x80)");
  EXPECT_EQ(clean_log_text("\xc0\xaf"), R"(\xc0\xaf)");
  EXPECT_EQ(clean_log_text(R"(C:\new\x4)"), R"(C:\new\x4)");
}

TEST(CleanLogText, never_cuts_a_character_in_two) {
  EXPECT_EQ(clean_log_text("aa\xe2\x82\xac", 4), "aa");
  EXPECT_EQ(clean_log_text("aa\xe2\x82\xac", 5), "aa\xe2\x82\xac");
  EXPECT_EQ(clean_log_text("aaa", 2), "aa");
}

TEST(InstantSinceBoot, gives_both_clocks_and_no_future) {
  const Instant now{WallTime(1'000'000s), MonoTime(500s)};
  const Instant past = instant_since_boot(400'000'000, now);
  EXPECT_EQ(past.mono, MonoTime(400s));
  EXPECT_EQ(past.wall, WallTime(999'900s));
  const Instant future = instant_since_boot(600'000'000, now);
  EXPECT_EQ(future.mono, now.mono);
  EXPECT_EQ(future.wall, now.wall);
}

// A device that answers from a script: text, or an errno.
struct Answer {
  std::string text;
  int error = 0;
};

class ScriptedDevice {
 public:
  explicit ScriptedDevice(std::deque<Answer> answers) : answers_(std::move(answers)) {}
  [[nodiscard]] std::unique_ptr<KmsgSource> source(const Clock& clock) {
    const int always_ready = ::eventfd(1, EFD_CLOEXEC);
    auto made = KmsgSource::with_read(always_ready, "script", clock,
                                      [this](char* buffer, std::size_t size) { return read(buffer, size); });
    EXPECT_TRUE(made);
    return std::move(*made);
  }
  std::size_t largest_buffer = 0;

 private:
  ssize_t read(char* buffer, std::size_t size) {
    largest_buffer = std::max(largest_buffer, size);
    if (answers_.empty()) {
      errno = EAGAIN;
      return -1;
    }
    const Answer answer = answers_.front();
    if (answer.error != 0) {
      answers_.pop_front();
      errno = answer.error;
      return -1;
    }
    if (answer.text.size() > size) {
      errno = EINVAL;
      return -1;
    }
    answers_.pop_front();
    return static_cast<ssize_t>(answer.text.copy(buffer, size));
  }
  std::deque<Answer> answers_;
};

TEST(KmsgSource, gives_records_in_order_with_the_gaps_between_them) {
  const FixedClock clock;
  ScriptedDevice device({{"6,100,1,-;a"}, {"6,101,2,-;b"}, {"", EPIPE}, {"6,150,3,-;c"}, {"6,160,4,-;d"}});
  const auto source = device.source(clock);
  const auto batch = source->next(1s);
  ASSERT_TRUE(batch);
  ASSERT_EQ(batch->size(), 4U);
  EXPECT_EQ((*batch)[0].lost_before, 100U);
  EXPECT_EQ((*batch)[1].lost_before, 0U);
  EXPECT_EQ((*batch)[2].lost_before, 48U);
  EXPECT_EQ((*batch)[3].lost_before, 9U);
  EXPECT_EQ((*batch)[2].record.text, "c");
}

TEST(KmsgSource, counts_a_loss_that_leaves_no_gap) {
  const FixedClock clock;
  ScriptedDevice device({{"6,0,1,-;a"}, {"", EPIPE}, {"6,1,2,-;b"}, {"garbage"}, {"6,2,3,-;c"}});
  const auto batch = device.source(clock)->next(1s);
  ASSERT_TRUE(batch);
  ASSERT_EQ(batch->size(), 3U);
  EXPECT_EQ((*batch)[1].lost_before, 1U);
  EXPECT_EQ((*batch)[2].lost_before, 1U);
}

TEST(KmsgSource, grows_its_buffer_for_a_long_record_up_to_a_limit) {
  const FixedClock clock;
  ScriptedDevice device({{"6,0,1,-;" + std::string(30'000, 'x')}, {"6,1,2,-;b"}});
  const auto batch = device.source(clock)->next(1s);
  ASSERT_TRUE(batch);
  ASSERT_EQ(batch->size(), 2U);
  EXPECT_EQ((*batch)[0].record.text.size(), KernelRecord::kMaxText);

  ScriptedDevice endless({{"6,0,1,-;" + std::string(1'000'000, 'x')}});
  const auto refused = endless.source(clock)->next(1s);
  ASSERT_FALSE(refused);
  EXPECT_LE(endless.largest_buffer, 262144U);
}

TEST(KmsgSource, delivers_what_came_before_an_error_and_then_the_error) {
  const FixedClock clock;
  ScriptedDevice device({{"6,0,1,-;a"}, {"", EIO}, {"", EIO}});
  const auto source = device.source(clock);
  const auto batch = source->next(1s);
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->size(), 1U);
  EXPECT_FALSE(source->next(1s));
}

TEST(KmsgSource, limits_a_batch) {
  const FixedClock clock;
  std::deque<Answer> answers;
  for (std::size_t i = 0; i < RecordSource::kMaxBatch + 10; ++i)
    answers.push_back({"6," + std::to_string(i) + ",1,-;a"});
  ScriptedDevice device(std::move(answers));
  const auto source = device.source(clock);
  EXPECT_EQ(source->next(1s)->size(), RecordSource::kMaxBatch);
  EXPECT_EQ(source->next(1s)->size(), 10U);
}

TEST(KmsgSource, reads_a_feeder_socket_and_says_when_it_is_gone) {
  const FixedClock clock;
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  auto source = KmsgSource::adopt(ends[0], "feeder", clock);
  ASSERT_TRUE(source);
  const std::string text = "3,7,5000000,-;NVRM: Xid";
  ASSERT_EQ(::send(ends[1], text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  const auto batch = (*source)->next(1s);
  ASSERT_TRUE(batch);
  ASSERT_EQ(batch->size(), 1U);
  EXPECT_EQ(batch->front().record.sequence, 7U);
  ::close(ends[1]);
  const auto gone = (*source)->next(1s);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Errc::unavailable);
}

TEST(KmsgSource, returns_when_interrupted) {
  const FixedClock clock;
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  auto source = KmsgSource::adopt(ends[0], "feeder", clock);
  ASSERT_TRUE(source);
  std::thread other([&] { (*source)->interrupt(); });
  const auto batch = (*source)->next(1h);
  other.join();
  ASSERT_TRUE(batch);
  EXPECT_TRUE(batch->empty());
  ::close(ends[1]);
}

TEST(KmsgSource, names_the_device_that_is_not_there) {
  const FixedClock clock;
  const auto source = KmsgSource::open("/dev/no-such-kmsg", clock);
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().code, Errc::not_found);
}

// The kernel of the machine that runs the test.
TEST(KmsgSource, reads_the_real_kernel_log_and_knows_what_user_space_wrote) {
  const SystemClock clock;
  auto source = KmsgSource::open("/dev/kmsg", clock);
  if (!source) GTEST_SKIP() << "/dev/kmsg cannot be read here: " << source.error().what;
  const int writer = ::open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
  if (writer < 0) GTEST_SKIP() << "/dev/kmsg cannot be written here: " << std::strerror(errno);
  const std::string mark =
      "autopilot test " + std::to_string(::getpid()) + ": NVRM: Xid (PCI:0000:3b:00): 79";
  const std::string line = "<3>" + mark + "\n";  // facility 0 asked for
  ASSERT_EQ(::write(writer, line.data(), line.size()), static_cast<ssize_t>(line.size()));
  ::close(writer);

  std::size_t from_kernel = 0;
  const KernelRecord* written = nullptr;
  std::vector<SourcedRecord> all;
  for (;;) {
    auto batch = (*source)->next(0s);
    ASSERT_TRUE(batch) << batch.error().what;
    if (batch->empty()) break;
    for (auto& sourced : *batch)
      all.push_back(std::move(sourced));
  }
  for (const auto& [record, lost] : all) {
    if (record.from_kernel()) ++from_kernel;
    if (record.text == mark) written = &record;
  }
  EXPECT_GT(from_kernel, 0U);
  ASSERT_NE(written, nullptr);
  EXPECT_NE(written->facility, 0);
  EXPECT_FALSE(written->from_kernel());
  EXPECT_EQ(written->priority, 3);
}

}  // namespace
}  // namespace autopilot::host
