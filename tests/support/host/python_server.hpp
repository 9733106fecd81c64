// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "host/files/fd.hpp"

namespace autopilot::host {

// For tests: a Python program that prints its port, serves, and ends when its standard input closes.
class PythonServer {
 public:
  explicit PythonServer(std::string_view code) {
    int input[2];
    int output[2];
    if (::pipe(input) != 0 || ::pipe(output) != 0) std::abort();
    std::vector<std::string> words{"python3", "-c", std::string(code)};
    char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(input[0], 0);
      ::dup2(output[1], 1);
      for (const int fd : {input[0], input[1], output[0], output[1]})
        ::close(fd);
      ::execvp(arguments[0], arguments);
      ::_exit(127);
    }
    ::close(input[0]);
    ::close(output[1]);
    input_ = Fd(input[1]);
    const Fd printed(output[0]);
    std::string line;
    char c = 0;
    while (::read(printed.get(), &c, 1) == 1 && c != '\n')
      line += c;
    port_ = static_cast<std::uint16_t>(std::atoi(line.c_str()));
  }
  PythonServer(const PythonServer&) = delete;
  PythonServer& operator=(const PythonServer&) = delete;
  ~PythonServer() {
    input_.reset();
    ::waitpid(pid_, nullptr, 0);
  }

  // 0: there is no Python.
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  pid_t pid_ = 0;
  Fd input_;
  std::uint16_t port_ = 0;
};

}  // namespace autopilot::host
