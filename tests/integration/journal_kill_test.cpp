// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <chrono>
#include <filesystem>
#include <gtest/gtest.h>
#include <poll.h>
#include <random>
#include <signal.h>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "core/parse.hpp"
#include "tests/paths/paths.hpp"
#include "tests/support/host/test_folder.hpp"
#include "tests/support/store/journal_fixture.hpp"

namespace autopilot::store {
namespace {

// The journal's promise: what was acknowledged is there after kill -9 at any moment, whole and in order.
class JournalKillTest : public ::testing::Test {
 protected:
  static constexpr int kCycles = 300;
  // A journal is made anew now and then, so that its making is killed too.
  static constexpr int kCyclesPerJournal = 25;
  static constexpr int kPatienceMilliseconds = 20'000;

  [[nodiscard]] std::string path() const { return folder_ / (std::to_string(number_) + "/journal.db"); }

  void begin_new_journal() {
    ++number_;
    acknowledged_ = 0;
    verified_ = 0;
  }

  // Runs the hammer, kills it after the delay, from its start or from its first word, and takes in what it
  // acknowledged.
  void hammer(const char* how, bool from_first_word, std::chrono::microseconds delay) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_addclose(&actions, ends[0]);
    std::string program = paths::fake("journal_hammer");
    std::string file = path();
    std::string mode = how;
    std::string seed = std::to_string(random_());
    std::array<char*, 5> arguments{program.data(), file.data(), mode.data(), seed.data(), nullptr};
    pid_t child = 0;
    const int spawned = ::posix_spawn(&child, program.c_str(), &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    ASSERT_EQ(spawned, 0) << program;
    if (from_first_word) {
      pollfd word{ends[0], POLLIN, 0};
      EXPECT_EQ(::poll(&word, 1, kPatienceMilliseconds), 1) << "the hammer does not begin";
    }
    std::this_thread::sleep_for(delay);  // the moment of death, not a wait for something
    ::kill(child, SIGKILL);
    read_acknowledged(ends[0]);
    ::close(ends[0]);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status)) << "ended by itself";
  }

  void read_acknowledged(int fd) {
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t size = 0; (size = ::read(fd, buffer.data(), buffer.size())) > 0;)
      text.append(buffer.data(), static_cast<std::size_t>(size));
    EXPECT_TRUE(text.empty() || text.back() == '\n') << "half a line";
    for (const auto line : split(text, '\n')) {
      if (line.empty()) continue;
      const auto id = parse_number<std::uint64_t>(line);
      ASSERT_TRUE(id) << line;
      ASSERT_GE(*id, acknowledged_);
      acknowledged_ = *id;
      ++acknowledgements_;
    }
  }

  void verify(bool for_writing) {
    const auto journal = open(for_writing);
    if (!journal) return;
    const auto last = journal->last_event_id();
    ASSERT_TRUE(last) << last.error().what;
    ASSERT_GE(*last, acknowledged_) << "an acknowledged event is lost";
    EventQuery query;
    query.after_id = verified_;
    query.limit = Journal::kMaxRows;
    const auto events = journal->events(query);
    ASSERT_TRUE(events) << events.error().what;
    ASSERT_EQ(events->size(), *last - verified_);
    for (const auto& event : *events) {
      ASSERT_EQ(event.id, ++verified_) << "a gap";
      ASSERT_EQ(event.message, "event " + std::to_string(event.id) + std::string(event.id % 900, '.'));
    }
    if (*last == 0) return;
    EXPECT_EQ(journal->value("last").value(), std::to_string(*last)) << "half a batch";
    ASSERT_EQ(journal->findings().value().size(), 1U);
    EXPECT_EQ(journal->findings().value()[0].state, std::to_string(*last));
    EXPECT_EQ(journal->unreadable_rows(), 0U);
  }

  std::unique_ptr<Journal> open(bool for_writing) {
    if (for_writing) {
      auto opened = Journal::open(path(), testing::kNow);
      EXPECT_TRUE(opened) << opened.error().what;
      if (!opened) return nullptr;
      EXPECT_EQ(opened->moved_aside, "") << opened->reason;
      return std::move(opened->journal);
    }
    auto reader = Journal::open_read_only(path());
    if (reader) return std::move(*reader);
    EXPECT_EQ(reader.error().code, Errc::not_found) << reader.error().what;
    EXPECT_EQ(acknowledged_, 0U) << "acknowledged, and no journal";
    return nullptr;
  }

  void expect_nothing_set_aside() const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path()))
      EXPECT_EQ(entry.path().string().find(".unusable-"), std::string::npos) << entry.path();
  }

  host::TestFolder folder_;
  std::mt19937 random_ = testing::random_numbers(20260101);
  int number_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t verified_ = 0;
  int acknowledgements_ = 0;
};

TEST_F(JournalKillTest, nothing_acknowledged_is_lost) {
  std::uint64_t total = 0;
  for (int cycle = 0; cycle < kCycles; ++cycle) {
    if (cycle % kCyclesPerJournal == 0) begin_new_journal();
    const auto delay = std::chrono::microseconds{random_() % 80'000};
    hammer(cycle % 3 == 0 ? "writer" : "direct", cycle % 4 != 0, delay);
    verify(cycle % 5 == 0);
    if (HasFailure()) FAIL() << "cycle " << cycle << ", killed after " << delay.count() << " us";
    if (cycle % kCyclesPerJournal == kCyclesPerJournal - 1) total += verified_;
  }
  expect_nothing_set_aside();
  EXPECT_GT(acknowledgements_, kCycles / 2);
  std::printf("%d kills, %d acknowledgements, %llu events\n", kCycles, acknowledgements_,
              static_cast<unsigned long long>(total));
}

}  // namespace
}  // namespace autopilot::store
