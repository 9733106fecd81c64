// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

extern char** environ;

namespace autopilot::net::testing {

// An external program, started without a shell, that talks to the code under test. The destructor ends it.
// Its standard error is discarded.
class Program {
 public:
  // `input` is its complete standard input.
  explicit Program(std::vector<std::string> words, const std::string& input = "") {
    const int in = ::memfd_create("input", MFD_CLOEXEC);
    EXPECT_EQ(::write(in, input.data(), input.size()), static_cast<ssize_t>(input.size()));
    EXPECT_EQ(::lseek(in, 0, SEEK_SET), 0);
    std::array<int, 2> out{};
    EXPECT_EQ(::pipe2(out.data(), O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions{};
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    std::vector<char*> arguments;
    for (std::string& word : words)
      arguments.push_back(word.data());
    arguments.push_back(nullptr);
    if (::posix_spawnp(&pid_, arguments.front(), &actions, nullptr, arguments.data(), environ) != 0)
      pid_ = -1;
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(in);
    ::close(out[1]);
    output_ = ::fdopen(out[0], "r");
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    std::fclose(output_);
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  [[nodiscard]] bool has_started() const { return pid_ > 0; }
  // Waits for a line and returns it without the line end.
  [[nodiscard]] std::string read_line() {
    std::string line;
    for (int c = std::fgetc(output_); c != EOF && c != '\n'; c = std::fgetc(output_))
      line += static_cast<char>(c);
    return line;
  }
  [[nodiscard]] std::string read_to_end() {
    std::string text;
    for (int c = std::fgetc(output_); c != EOF; c = std::fgetc(output_))
      text += static_cast<char>(c);
    return text;
  }

 private:
  pid_t pid_ = -1;
  std::FILE* output_ = nullptr;
};

[[nodiscard]] inline bool has_program(const std::string& name) {
  return Program({name, "--version"}).has_started();
}

// Its standard output.
[[nodiscard]] inline std::string run_program(std::vector<std::string> words, const std::string& input = "") {
  return Program(std::move(words), input).read_to_end();
}

}  // namespace autopilot::net::testing
