// SPDX-License-Identifier: Apache-2.0
#include "portability/glibc.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace autopilot::portability {
namespace {

timespec after(clockid_t clock, std::chrono::milliseconds time) {
  timespec at{};
  ::clock_gettime(clock, &at);
  const auto nanoseconds = std::chrono::nanoseconds(time).count() + at.tv_nsec;
  return {at.tv_sec + nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
}

bool has_passed(clockid_t clock, const timespec& deadline) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return now.tv_sec > deadline.tv_sec || (now.tv_sec == deadline.tv_sec && now.tv_nsec >= deadline.tv_nsec);
}

void* function_of(const char* name) {
  return ::dlsym(RTLD_DEFAULT, name);
}

TEST(FindObject, what_it_finds_is_what_glibc_finds) {
  for (void* address :
       {reinterpret_cast<void*>(&has_passed), function_of("qsort"), function_of("dl_iterate_phdr")}) {
    dl_find_object ours{};
    dl_find_object theirs{};
    ASSERT_EQ(::_dl_find_object(address, &theirs), 0);
    ASSERT_EQ(find_object(address, &ours), 0);
    EXPECT_EQ(ours.dlfo_eh_frame, theirs.dlfo_eh_frame);
    EXPECT_EQ(ours.dlfo_map_start, theirs.dlfo_map_start);
    EXPECT_LE(address, ours.dlfo_map_end);
  }
}

TEST(FindObject, where_nothing_is_loaded_it_says_so) {
  dl_find_object found{};
  const auto on_the_heap = std::make_unique<int>(0);
  EXPECT_EQ(find_object(nullptr, &found), -1);
  EXPECT_EQ(find_object(on_the_heap.get(), &found), -1);
}

TEST(WaitByClock, a_deadline_passes_on_its_own_clock) {
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  ::pthread_mutex_lock(&mutex);
  for (const clockid_t clock : {CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_MONOTONIC}) {
    const timespec deadline = after(clock, std::chrono::milliseconds{20});
    int result = 0;
    while (result == 0)  // not signalled, but a wait may end early
      result = wait_by_clock(&condition, &mutex, clock, &deadline);
    EXPECT_EQ(result, ETIMEDOUT);
    EXPECT_TRUE(has_passed(clock, deadline));
  }
  ::pthread_mutex_unlock(&mutex);
}

TEST(WaitByClock, a_signal_ends_it_before) {
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  bool is_done = false;
  std::jthread other([&] {
    ::pthread_mutex_lock(&mutex);
    is_done = true;
    ::pthread_cond_signal(&condition);
    ::pthread_mutex_unlock(&mutex);
  });
  ::pthread_mutex_lock(&mutex);
  const timespec deadline = after(CLOCK_MONOTONIC, std::chrono::minutes{5});
  int result = 0;
  while (!is_done && result == 0)
    result = wait_by_clock(&condition, &mutex, CLOCK_MONOTONIC, &deadline);
  ::pthread_mutex_unlock(&mutex);
  EXPECT_EQ(result, 0);
}

TEST(RandomWord, words_differ) {
  std::set<unsigned int> words;
  for (int number = 0; number < 16; ++number)
    words.insert(random_word());
  EXPECT_GT(words.size(), 8u);
}

// Output of a child process that starts with these descriptors open, and closes all from `first` on.
std::string open_in_child(int first) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  EXPECT_EQ(add_close_from(&actions, first), 0);
  std::string shell = "/bin/sh";
  std::string option = "-c";
  std::string script = "for n in 40 41 42; do [ -e /proc/self/fd/$n ] && echo $n; done; true";
  std::array<char*, 4> arguments{shell.data(), option.data(), script.data(), nullptr};
  std::array<char*, 1> environment{nullptr};
  pid_t child = -1;
  EXPECT_EQ(::posix_spawn(&child, shell.c_str(), &actions, nullptr, arguments.data(), environment.data()), 0);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string text;
  std::array<char, 64> part{};
  for (ssize_t got = 0; (got = ::read(ends[0], part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<std::size_t>(got));
  ::close(ends[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return text;
}

TEST(AddCloseFrom, what_was_open_is_closed_in_the_child) {
  for (int number = 40; number <= 42; ++number)
    ASSERT_EQ(::dup2(STDERR_FILENO, number), number);
  EXPECT_EQ(open_in_child(100), "40\n41\n42\n");
  EXPECT_EQ(open_in_child(42), "40\n41\n");
  EXPECT_EQ(open_in_child(3), "");
  for (int number = 40; number <= 42; ++number)
    EXPECT_EQ(::close(number), 0);
}

TEST(DescribeSignal, every_number_is_called_as_glibc_calls_it) {
  for (int number = -1; number <= 70; ++number)
    EXPECT_STREQ(describe_signal(number), ::sigdescr_np(number)) << number;
}

TEST(ReadEntries, a_folder_is_read_as_glibc_reads_it) {
  const int folder = ::open("/usr", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_GE(folder, 0);
  std::array<char, 4096> ours{};
  std::array<char, 4096> theirs{};
  const ssize_t read = read_entries(folder, ours.data(), ours.size());
  EXPECT_GT(read, 0);
  EXPECT_EQ(read_entries(-1, theirs.data(), theirs.size()), -1);
  EXPECT_EQ(errno, EBADF);
  ::lseek(folder, 0, SEEK_SET);
  EXPECT_EQ(::getdents64(folder, theirs.data(), theirs.size()), read);
  EXPECT_EQ(ours, theirs);
  ::close(folder);
}

}  // namespace
}  // namespace autopilot::portability
