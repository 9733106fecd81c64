// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/files/fd.hpp"
#include "host/process/processes.hpp"
#include "tests/support/host/test_folder.hpp"

// For tests: a process that answers RAS clients on loopback, as a rank of a job does.
namespace autopilot::host {

class FakeRas {
 public:
  enum class Behaviour {
    json,           // NCCL from 2.28 on
    text,           // older: refuses to set a format
    never_answers,  // after the greeting
    never_ends,     // sends text for ever
    closes,         // before the answer
    speaks_http,    // another program has the port
    only_lives,     // no socket: refused
  };
  struct Options {
    Behaviour behaviour = Behaviour::json;
    bool has_own_network = false;  // a new network namespace, which needs root
    std::uint16_t port = 0;        // 0: any
  };

  explicit FakeRas(const std::string& answer, Options options = {Behaviour::json, false, 0}) {
    set_answer(answer);
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) std::abort();
    const Fd in(ends[0]);
    pid_ = ::fork();
    if (pid_ == 0) run(options, ends[1]);
    ::close(ends[1]);
    // The child is ready, or could not be.
    is_ready_ = ::read(in.get(), &port_, sizeof port_) == static_cast<ssize_t>(sizeof port_);
  }
  FakeRas(const FakeRas&) = delete;
  FakeRas& operator=(const FakeRas&) = delete;
  ~FakeRas() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  [[nodiscard]] bool is_ready() const { return is_ready_; }
  [[nodiscard]] std::int64_t pid() const { return pid_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::uint64_t started_ticks() const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const auto state = parse_task_state(text);
    return state ? state->started_ticks : 0;
  }
  // Takes effect with the next client.
  void set_answer(const std::string& answer) const {
    folder_.write("/new", answer);
    std::filesystem::rename(folder_ / "new", folder_ / "answer");
  }

 private:
  [[noreturn]] void run(const Options& options, int ready) const {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::signal(SIGPIPE, SIG_IGN);
    if (options.has_own_network && !make_network()) ::_exit(1);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(options.port);
    const int server = ::socket(AF_INET, SOCK_STREAM, 0);
    const int on = 1;
    ::setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(server, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) ::_exit(1);
    socklen_t size = sizeof address;
    ::getsockname(server, reinterpret_cast<sockaddr*>(&address), &size);
    const bool listens = options.behaviour != Behaviour::only_lives;
    if (listens && ::listen(server, 16) != 0) ::_exit(1);
    const std::uint16_t port = ntohs(address.sin_port);
    if (::write(ready, &port, sizeof port) < 0) ::_exit(1);
    ::close(ready);
    while (true) {
      if (!listens) ::pause();
      const int client = ::accept(server, nullptr, nullptr);
      if (client < 0) continue;
      talk(client, options.behaviour);
      ::close(client);
    }
  }

  static bool make_network() {
    if (::unshare(CLONE_NEWNET) != 0) return false;
    const int any = ::socket(AF_INET, SOCK_DGRAM, 0);
    ifreq request{};
    std::memcpy(request.ifr_name, "lo", 3);
    request.ifr_flags = IFF_UP;
    const bool is_up = ::ioctl(any, SIOCSIFFLAGS, &request) == 0;
    ::close(any);
    return is_up;
  }

  void talk(int client, Behaviour behaviour) const {
    if (behaviour == Behaviour::speaks_http) {
      send_text(client, "HTTP/1.1 400 Bad Request\r\n\r\n");
      return;
    }
    std::string received;
    std::array<char, 512> buffer;
    while (true) {
      const ssize_t got = ::read(client, buffer.data(), buffer.size());
      if (got <= 0) return;
      received.append(buffer.data(), static_cast<std::size_t>(got));
      for (std::size_t end = 0; (end = received.find('\n')) != std::string::npos; received.erase(0, end + 1))
        if (!reply(client, received.substr(0, end), behaviour)) return;
    }
  }

  // False: the conversation is over.
  bool reply(int client, const std::string& line, Behaviour behaviour) const {
    if (line.starts_with("CLIENT PROTOCOL")) return send_text(client, "SERVER PROTOCOL 2\n");
    if (line.starts_with("TIMEOUT")) return send_text(client, "OK\n");
    if (line.starts_with("SET FORMAT"))
      return send_text(client,
                       behaviour == Behaviour::text ? "ERROR: Unknown command SET FORMAT json\n" : "OK\n");
    if (line != "VERBOSE STATUS") return send_text(client, "ERROR: Unknown command " + line + "\n");
    if (behaviour == Behaviour::never_answers)
      while (true)
        ::pause();
    while (behaviour == Behaviour::never_ends)
      if (!send_text(client, std::string(65536, 'x'))) return false;
    if (behaviour != Behaviour::closes) send_text(client, answer());
    return false;
  }

  [[nodiscard]] std::string answer() const {
    std::ifstream file(folder_ / "answer", std::ios::binary);
    return {(std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>()};
  }

  static bool send_text(int client, std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = ::write(client, text.data(), text.size());
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  const TestFolder folder_;
  pid_t pid_ = -1;
  std::uint16_t port_ = 0;
  bool is_ready_ = false;
};

}  // namespace autopilot::host
