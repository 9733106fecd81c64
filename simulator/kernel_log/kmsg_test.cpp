// SPDX-License-Identifier: Apache-2.0
#include "kernel_log/kmsg.hpp"

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
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

TEST(KmsgFeeder, ReturnsOneRecordPerReadAndReportsOverwrittenOnes) {
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

TEST(KmsgFeeder, RefusesATooSmallBufferAndKeepsTheRecord) {
  KmsgFeeder feeder(8);
  KmsgFeeder::Reader reader(feeder);
  EXPECT_EQ(read_one(reader), "EAGAIN");
  feeder.write(6, 2, "new");
  std::array<char, 4> small{};
  EXPECT_EQ(reader.read(small.data(), small.size()), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(read_one(reader), "6,0,2,-;new\n");
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
      // Continues to write while the socket is not read: most of each burst is overwritten.
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

class KmsgServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() / ("kmsg_server." + std::to_string(::getpid()));
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] std::string path() const { return directory_ / "kmsg.sock"; }
  [[nodiscard]] std::unique_ptr<host::KmsgSource> reader() const {
    auto source = host::KmsgSource::connect(path(), "/dev/kmsg", clock_);
    EXPECT_TRUE(source) << source.error().what;
    return source ? std::move(*source) : nullptr;
  }
  // The next `count` records, including lost ones.
  static std::vector<host::SourcedRecord> take(host::KmsgSource& source, std::uint64_t count) {
    std::vector<host::SourcedRecord> all;
    std::uint64_t seen = 0;
    while (seen < count) {
      auto batch = source.next(10s);
      if (!batch || batch->empty()) {
        ADD_FAILURE() << "after " << seen << " of " << count;
        break;
      }
      for (auto& one : *batch) {
        seen += 1 + one.lost_before;
        all.push_back(std::move(one));
      }
    }
    return all;
  }

  std::filesystem::path directory_;
  host::SystemClock clock_;
};

TEST_F(KmsgServerTest, a_reader_gets_existing_and_new_records) {
  const auto server = KmsgServer::listen(path(), {});
  ASSERT_TRUE(server) << server.error().what;
  (*server)->write(6, 100, "old");
  const auto source = reader();
  ASSERT_TRUE(source);
  ASSERT_EQ(take(*source, 1).at(0).record.text, "old");
  (*server)->write(4, 200, "new");
  const auto news = take(*source, 1);
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].record.text, "new");
  EXPECT_EQ(news[0].record.sequence, 1U);
  EXPECT_TRUE(news[0].record.from_kernel());
}

TEST_F(KmsgServerTest, the_next_reader_begins_at_the_oldest_record) {
  const auto server = KmsgServer::listen(path(), {});
  ASSERT_TRUE(server);
  (*server)->write(6, 100, "one");
  auto source = reader();
  ASSERT_TRUE(source);
  EXPECT_EQ(take(*source, 1).size(), 1U);
  source = reader();  // the one before hangs up
  ASSERT_TRUE(source);
  EXPECT_EQ(take(*source, 1).at(0).record.text, "one");
}

TEST_F(KmsgServerTest, a_slow_reader_loses_overwritten_records_and_can_count_them) {
  constexpr std::uint64_t kRecords = 2'000;
  const auto server = KmsgServer::listen(path(), {.records = 50, .records_per_step = 10});
  ASSERT_TRUE(server);
  const auto source = reader();
  ASSERT_TRUE(source);
  (*server)->write(6, 0, "first");
  ASSERT_EQ(take(*source, 1).size(), 1U);
  for (std::uint64_t i = 0; i < kRecords; ++i)
    (*server)->write(4, i, "storm");
  EXPECT_LT(take(*source, kRecords).size(), kRecords / 2);
}

TEST_F(KmsgServerTest, its_end_is_the_end_of_the_log_and_of_the_socket) {
  auto server = KmsgServer::listen(path(), {});
  ASSERT_TRUE(server);
  (*server)->write(6, 0, "last");
  const auto source = reader();
  ASSERT_TRUE(source);
  ASSERT_EQ(take(*source, 1).size(), 1U);
  server->reset();
  const auto end = source->next(10s);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, Errc::unavailable);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(KmsgServerTest, a_stale_socket_is_replaced_and_a_file_is_not) {
  { const auto first = KmsgServer::listen(path(), {}); }
  std::ofstream(path()) << "mine";
  const auto refused = KmsgServer::listen(path(), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::conflict);
  std::filesystem::remove(path());
  const auto one = KmsgServer::listen(path(), {});
  const auto another = KmsgServer::listen(path(), {});  // as after a kill: the name is still there
  ASSERT_TRUE(another) << another.error().what;
  EXPECT_TRUE(reader());
}

}  // namespace

}  // namespace autopilot::simulator
