// SPDX-License-Identifier: Apache-2.0
#include "host/helpers/helper_server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <optional>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "core/parse.hpp"
#include "host/files/fd.hpp"
#include "host/helpers/message.hpp"
#include "host/process/own_process.hpp"

namespace autopilot::host {
namespace {

constexpr int kExitProtocol = 76;  // EX_PROTOCOL

// A parent-death signal is sent when the *thread* that started us ends; the socket closes when the process
// ends.
void end_with_agent(int fd) {
  std::thread([fd] {
    while (!poll_until(fd, POLLRDHUP, mono_now() + std::chrono::hours{1})) {
    }
    ::_exit(0);
  }).detach();
}

bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

// With the first byte of the frame.
bool send_with(int fd, std::string_view frame, const Fd& descriptor) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  char first = frame.front();
  iovec bytes{&first, sizeof first};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const int number = descriptor.get();
  std::memcpy(CMSG_DATA(header), &number, sizeof number);
  ssize_t sent = -1;
  do {
    sent = ::sendmsg(fd, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == 1 && send_all(fd, frame.substr(1));
}

HelperAnswer answer_to(const HelperRequest& request, const HelperMethods& methods) {
  const auto method = methods.find(request.method);
  if (method == methods.end())
    return {.id = request.id, .result = fail(Errc::unsupported, "helper has no method " + request.method)};
  return {.id = request.id, .result = method->second(request.params, mono_now() + request.timeout)};
}

Result<std::string> answer_frame(const HelperRequest& request, const HelperMethods& methods) {
  auto frame = encode_frame(encode_answer(answer_to(request, methods)));
  if (frame) return frame;
  return encode_frame(encode_answer({.id = request.id, .result = fail(frame.error())}));
}

// Answers every complete request that has arrived.
Status answer_all(int fd, FrameReader& reader, const HelperMethods& methods, Fd* descriptor) {
  while (true) {
    const auto body = TRY(reader.next());
    if (!body) return {};
    const HelperRequest request = TRY(decode_request(*body));
    const std::string frame = TRY(answer_frame(request, methods));
    const Fd passed = descriptor == nullptr ? Fd() : std::exchange(*descriptor, Fd());
    if (passed ? !send_with(fd, frame, passed) : !send_all(fd, frame))
      return fail_errno(errno, "answer to the agent");
  }
}

}  // namespace

int serve(int fd, const HelperMethods& methods, Fd* descriptor) {
  end_with_agent(fd);
  FrameReader reader;
  std::array<char, 16 * 1024> buffer{};
  unmap_own_code();
  while (true) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) return 0;
    if (got < 0) return kExitProtocol;
    reader.add({buffer.data(), static_cast<std::size_t>(got)});
    if (const Status status = answer_all(fd, reader, methods, descriptor); !status) {
      std::cerr << "autopilot helper: " << status.error().what << "\n";
      return kExitProtocol;
    }
  }
}

namespace {

constexpr int kExitUnavailable = 69;  // EX_UNAVAILABLE
constexpr int kBacklog = 16;
constexpr auto kEndPatience = std::chrono::milliseconds{500};

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  if (path.empty() || path.size() >= sizeof(address.sun_path))
    return fail(Errc::malformed, "'" + path + "': not the path of a socket");
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

Result<Fd> make_socket() {
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail_errno(errno, "open a Unix socket");
  return socket;
}

// The user of the process that called connect(2), or listen(2).
std::optional<uid_t> peer_of(int fd) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer.uid;
}

// Removes the socket of a killed helper; keeps anything else.
Status make_free(const std::string& path, const sockaddr_un& address) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return {};
    return fail_errno(errno, path);
  }
  if (!S_ISSOCK(info.st_mode)) return fail(Errc::conflict, path + " exists and is not a socket");
  const Fd probe = TRY(make_socket());
  if (::connect(probe.get(), generic(address), sizeof(address)) == 0 || errno != ECONNREFUSED)
    return fail(Errc::conflict, "another program listens on " + path);
  if (::unlink(path.c_str()) != 0) return fail_errno(errno, path);
  return {};
}

Result<Fd> listen_at(const HelperListening& listening) {
  const sockaddr_un address = TRY(address_of(listening.path));
  TRY_STATUS(make_free(listening.path, address));
  Fd socket = TRY(make_socket());
  // Other users may connect, and are then checked by their credentials.
  const mode_t before = ::umask(listening.allowed.empty() ? 0177 : 0111);
  const int bound = ::bind(socket.get(), generic(address), sizeof(address));
  const int error = errno;
  ::umask(before);
  if (bound != 0) return fail_errno(error, listening.path);
  if (::listen(socket.get(), kBacklog) != 0) return fail_errno(errno, listening.path);
  return socket;
}

// Best effort: the error is lost if the peer does not read it.
void turn_away(int fd, Errc code, const std::string& why) {
  const auto frame = encode_frame(encode_answer({.id = kConnectionErrorId, .result = fail(code, why)}));
  if (frame) static_cast<void>(::send(fd, frame->data(), frame->size(), MSG_NOSIGNAL | MSG_DONTWAIT));
}

class AgentListener {
 public:
  AgentListener(const HelperListening& listening, const std::function<int(int fd)>& serve)
      : listening_(listening), serve_(serve) {}

  Status run() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGTERM, SIGINT, SIGCHLD})
      sigaddset(&signals, number);
    if (::sigprocmask(SIG_BLOCK, &signals, nullptr) != 0) return fail_errno(errno, "sigprocmask");
    signals_ = Fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals_) return fail_errno(errno, "signalfd");
    socket_ = TRY(listen_at(listening_));
    TRY_STATUS(keep_capabilities(listening_.capabilities));
    std::cerr << listening_.name << ": listens on " << listening_.path << std::endl;
    while (!is_ending_) {
      std::array<pollfd, 2> waits{{{socket_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}}};
      if (!poll_until(waits, mono_now() + std::chrono::hours{1})) continue;
      if (waits[1].revents != 0) take_signals();
      if (waits[0].revents != 0 && !is_ending_) TRY_STATUS(take_agent());
    }
    ::unlink(listening_.path.c_str());
    return {};
  }

 private:
  void take_signals() {
    signalfd_siginfo signal{};
    while (::read(signals_.get(), &signal, sizeof(signal)) == static_cast<ssize_t>(sizeof(signal)))
      if (signal.ssi_signo != SIGCHLD) is_ending_ = true;
    // As the first process of a container this also reaps orphans of other processes.
    for (pid_t ended = 0; (ended = ::waitpid(-1, nullptr, WNOHANG)) > 0;)
      std::erase(agents_, ended);
  }

  Status take_agent() {
    const Fd agent(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!agent) {
      if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return {};
      return fail_errno(errno, listening_.path);
    }
    const auto peer = peer_of(agent.get());
    if (!peer || !is_allowed(*peer)) {
      turn_away(agent.get(), Errc::denied,
                listening_.name + ": user " + (peer ? std::to_string(*peer) : "unknown") +
                    " is not allowed here (--allow-uid)");
      return {};
    }
    if (!has_room()) {
      turn_away(agent.get(), Errc::exhausted,
                listening_.name + ": already serves the maximum number of agents");
      return {};
    }
    return start(agent.get());
  }

  [[nodiscard]] bool is_full() const { return agents_.size() >= HelperListening::kMaxAgents; }

  // The process of a connection that was closed takes a moment to end.
  bool has_room() {
    const MonoTime deadline = mono_now() + kEndPatience;
    while (is_full() && !is_ending_ && poll_until(signals_.get(), POLLIN, deadline))
      take_signals();
    return !is_full();
  }

  [[nodiscard]] bool is_allowed(uid_t peer) const {
    return peer == 0 || peer == ::geteuid() || std::ranges::count(listening_.allowed, peer) > 0;
  }

  Status start(int agent) {
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) return fail_errno(errno, "fork");
    if (child > 0) {
      agents_.push_back(child);
      return {};
    }
    // The child must not outlive the process whose settings allowed it.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(0);
    socket_.reset();
    signals_.reset();
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::_exit(serve_(agent));
  }

  const HelperListening& listening_;
  const std::function<int(int fd)>& serve_;
  Fd signals_;
  Fd socket_;
  std::vector<pid_t> agents_;
  bool is_ending_ = false;
};

}  // namespace

Result<Fd> connect_to_helper(const std::string& path) {
  const sockaddr_un address = TRY(address_of(path));
  Fd socket = TRY(make_socket());
  if (::connect(socket.get(), generic(address), sizeof(address)) != 0) {
    if (errno == EACCES || errno == EPERM)
      return fail(Errc::denied, path + ": this user may not write to the helper's socket");
    return fail(Errc::unavailable, path + ": no helper listens there (" + std::strerror(errno) + ")");
  }
  const auto peer = peer_of(socket.get());
  if (!peer || (*peer != 0 && *peer != ::geteuid()))
    return fail(Errc::denied, path + ": the listening process runs as neither root nor this user");
  return socket;
}

std::optional<HelperListening> parse_listening(std::string name, const std::vector<std::string>& arguments) {
  HelperListening listening{.name = std::move(name), .path = {}, .allowed = {}};
  for (std::size_t at = 0; at + 1 < arguments.size(); at += 2) {
    const std::string& value = arguments[at + 1];
    const auto uid = parse_number<uid_t>(value);
    if (arguments[at] == "--listen" && value.starts_with('/') && listening.path.empty())
      listening.path = value;
    else if (arguments[at] == "--allow-uid" && uid && listening.allowed.size() < HelperListening::kMaxAllowed)
      listening.allowed.push_back(*uid);
    else
      return std::nullopt;
  }
  if (arguments.size() % 2 != 0 || listening.path.empty()) return std::nullopt;
  return listening;
}

int listen_for_agents(const HelperListening& listening, const std::function<int(int fd)>& serve) {
  const Status status = AgentListener(listening, serve).run();
  if (status) return 0;
  std::cerr << listening.name << ": " << status.error().what << "\n";
  return kExitUnavailable;
}

}  // namespace autopilot::host
