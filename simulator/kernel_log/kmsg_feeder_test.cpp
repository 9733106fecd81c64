// SPDX-License-Identifier: Apache-2.0
#include "kernel_log/kmsg_feeder.hpp"

#include <array>
#include <cerrno>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "host/clock/system_clock.hpp"
#include "host/kernel_log/kmsg_source.hpp"

namespace autopilot::simulator {
namespace {

using namespace std::chrono_literals;

std::string read_one(KmsgFeeder::Reader& reader) {
  std::array<char, 256> buffer{};
  const ssize_t size = reader.read(buffer.data(), buffer.size());
  return size < 0 ? std::string(errno == EPIPE    ? "EPIPE"
                                : errno == EAGAIN ? "EAGAIN"
                                                  : "EINVAL")
                  : std::string(buffer.data(), static_cast<std::size_t>(size));
}

TEST(KmsgFeeder, GivesOneRecordPerReadAndSaysWhatWasOverwritten) {
  KmsgFeeder feeder(2);
  KmsgFeeder::Reader reader(feeder);
  EXPECT_EQ(read_one(reader), "EAGAIN");
  feeder.write(4, 100, "one");
  EXPECT_EQ(read_one(reader), "4,0,100,-;one\n");
  for (const char* text : {"two", "three", "four\nlines"})
    feeder.write(4, 200, text);
  EXPECT_EQ(read_one(reader), "EPIPE");
  EXPECT_EQ(read_one(reader), "4,2,200,-;three\n");
  EXPECT_EQ(read_one(reader), "4,3,200,-;four\\x0alines\n");
  EXPECT_EQ(read_one(reader), "EAGAIN");
}

TEST(KmsgFeeder, SeeksAndRefusesATooSmallBuffer) {
  KmsgFeeder feeder(8);
  feeder.write(6, 1, "old");
  KmsgFeeder::Reader reader(feeder);
  reader.seek_to_end();
  EXPECT_EQ(read_one(reader), "EAGAIN");
  feeder.write(6, 2, "new");
  std::array<char, 4> small{};
  EXPECT_EQ(reader.read(small.data(), small.size()), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(read_one(reader), "6,1,2,-;new\n");
  reader.seek_to_begin();
  EXPECT_EQ(read_one(reader), "6,0,1,-;old\n");
}

// The reader of the agent counts what a slow socket lost, to the record.
TEST(KmsgFeeder, TheAgentsReaderGetsEveryRecordOrCountsItAsLost) {
  constexpr std::uint64_t kRecords = 20'000;
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()), 0);
  const host::SystemClock clock;
  auto source = host::KmsgSource::adopt(ends[1], "feeder", clock);
  ASSERT_TRUE(source) << source.error().what;
  KmsgFeeder feeder(256);
  std::thread writer([&] {
    KmsgFeeder::Reader reader(feeder);
    for (std::uint64_t i = 0; i < kRecords; ++i) {
      feeder.write(4, i, "NVRM: Xid (PCI:0000:1b:00): 13, record " + std::to_string(i));
      // Writes on while the socket is not asked: most of each burst is overwritten.
      if (i % 1000 == 999) {
        EXPECT_TRUE(KmsgFeeder::pump(reader, ends[0]));
      }
    }
  });
  std::uint64_t seen = 0;
  std::uint64_t lost = 0;
  while (seen + lost < kRecords) {
    const auto batch = (*source)->next(10s);
    ASSERT_TRUE(batch) << batch.error().what;
    ASSERT_FALSE(batch->empty()) << seen << " seen, " << lost << " lost";
    seen += batch->size();
    for (const host::SourcedRecord& record : *batch)
      lost += record.lost_before;
  }
  writer.join();
  ::close(ends[0]);
  EXPECT_EQ(seen + lost, kRecords);
  EXPECT_GT(lost, 0U);
}

}  // namespace
}  // namespace autopilot::simulator
