// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "tests/support/host/test_folder.hpp"

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

// Keys and certificates in a temporary folder, made by openssl: <name>.key and <name>.crt.
class TestCertificates {
 public:
  void make_authority(const std::string& name) const {
    run(new_one(name, {"-addext", "basicConstraints=critical,CA:TRUE"}));
  }
  // further: more arguments for `openssl req`.
  void make(const std::string& name, const std::string& authority,
            std::vector<std::string> further = {}) const {
    further.insert(further.end(), {"-CA", path(authority + ".crt"), "-CAkey", path(authority + ".key")});
    run(new_one(name, further));
  }
  // The serving certificate of a node's agent.
  void make_node(const std::string& node, const std::string& authority) const {
    make(node, authority, {"-addext", "subjectAltName=DNS:" + node});
  }
  // A certificate that expired: valid for one day, starting two days ago.
  void make_expired(const std::string& name, const std::string& authority) const {
    run({"openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
         "/CN=" + name, "-addext", "subjectAltName=DNS:" + name, "-out", path(name + ".csr"), "-keyout",
         path(name + ".key")});
    run({"openssl", "x509", "-req", "-days", "-1", "-in", path(name + ".csr"), "-copy_extensions", "copy",
         "-CA", path(authority + ".crt"), "-CAkey", path(authority + ".key"), "-out", path(name + ".crt")});
  }
  // Encrypts the key with a passphrase.
  void lock_key(const std::string& name) const {
    run({"openssl", "ec", "-aes128", "-passout", "pass:secret", "-in", path(name + ".key"), "-out",
         path(name + ".locked")});
    run({"mv", path(name + ".locked"), path(name + ".key")});
  }

  [[nodiscard]] std::string folder() const { return folder_.path(); }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ostringstream all;
    all << std::ifstream(path(name)).rdbuf();
    return all.str();
  }

 private:
  static void run(std::vector<std::string> words) { static_cast<void>(run_program(std::move(words))); }
  [[nodiscard]] std::vector<std::string> new_one(const std::string& name,
                                                 const std::vector<std::string>& further) const {
    std::vector<std::string> words{"openssl",
                                   "req",
                                   "-x509",
                                   "-new",
                                   "-newkey",
                                   "ec",
                                   "-pkeyopt",
                                   "ec_paramgen_curve:P-256",
                                   "-nodes",
                                   "-subj",
                                   "/CN=" + name,
                                   "-days",
                                   "1",
                                   "-out",
                                   path(name + ".crt"),
                                   "-keyout",
                                   path(name + ".key")};
    words.insert(words.end(), further.begin(), further.end());
    return words;
  }

  host::TestFolder folder_;
};

}  // namespace autopilot::net::testing
