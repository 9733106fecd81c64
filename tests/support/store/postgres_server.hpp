// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "store/postgres.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::store::testing {

// A PostgreSQL server of Debian in a temporary folder, on a Unix socket; as root, it runs as another user.
class PostgresServer {
 public:
  // nullptr: PostgreSQL is not installed, or does not start.
  static std::unique_ptr<PostgresServer> start() {
    auto server = std::unique_ptr<PostgresServer>(new PostgresServer);
    if (server->programs_.empty() || !server->make_cluster()) return nullptr;
    server->run();
    return server->pid_ > 0 ? std::move(server) : nullptr;
  }
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;
  ~PostgresServer() {
    if (pid_ > 0) end(SIGQUIT);
  }

  [[nodiscard]] std::string place(const std::string& database = "postgres") const {
    return "host=" + folder_.path() + " user=autopilot dbname=" + database;
  }
  [[nodiscard]] pid_t pid() const { return pid_; }
  // With the processes that serve connections, which live on for a moment otherwise.
  void kill() {
    std::ifstream children("/proc/" + std::to_string(pid_) + "/task/" + std::to_string(pid_) + "/children");
    ::kill(pid_, SIGSTOP);
    for (pid_t child = 0; children >> child;)
      ::kill(child, SIGKILL);
    end(SIGKILL);
  }
  // A killed server can be started when its own processes have ended.
  void run() {
    for (int attempt = 0; attempt < 100 && pid_ <= 0; ++attempt) {
      pid_ = spawn({programs_ + "/postgres", "-D", folder_ / "data", "-k", folder_.path(), "-c",
                    "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=20"});
      if (!wait_until_ready()) pid_ = 0;
    }
  }
  // Runs a statement, for what a test prepares.
  [[nodiscard]] bool execute(const std::string& sql) const {
    auto connection = postgres::Connection::open(place(), {});
    return connection && connection->run(sql);
  }

 private:
  static constexpr uid_t kNobody = 65534;

  PostgresServer() {
    std::error_code ignored;
    for (const auto& version : std::filesystem::directory_iterator("/usr/lib/postgresql", ignored))
      if (std::filesystem::exists(version.path() / "bin/initdb"))
        programs_ = (version.path() / "bin").string();
    if (::geteuid() == 0) static_cast<void>(!::chown(folder_.path().c_str(), kNobody, kNobody));
  }
  [[nodiscard]] pid_t spawn(const std::vector<std::string>& command) const {
    const pid_t child = ::fork();
    if (child != 0) return child;
    if (::geteuid() == 0 && (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0)) ::_exit(126);
    ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
    if (::chdir(folder_.path().c_str()) != 0) ::_exit(126);
    static_cast<void>(!std::freopen((folder_ / "log").c_str(), "a", stdout));
    ::dup2(1, 2);
    std::vector<char*> arguments;
    for (const std::string& argument : command)
      arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    ::execv(arguments.front(), arguments.data());
    ::_exit(127);
  }
  bool make_cluster() {
    int status = 0;
    const pid_t child = spawn({programs_ + "/initdb", "-D", folder_ / "data", "-U", "autopilot", "-A",
                               "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"});
    return ::waitpid(child, &status, 0) == child && status == 0;
  }
  bool wait_until_ready() {
    for (int attempt = 0; attempt < 500; ++attempt) {
      if (postgres::Connection::open(place(), {})) return true;
      if (::waitpid(pid_, nullptr, WNOHANG) == pid_) break;
      std::this_thread::sleep_for(std::chrono::milliseconds{20});
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    return false;
  }
  void end(int signal) {
    ::kill(pid_, signal);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

  host::TestFolder folder_;
  std::string programs_;
  pid_t pid_ = 0;
};

}  // namespace autopilot::store::testing
