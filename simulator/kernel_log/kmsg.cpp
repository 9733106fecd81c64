// SPDX-License-Identifier: Apache-2.0
#include "kernel_log/kmsg.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace autopilot::simulator {
namespace {

constexpr std::size_t kMaxRecord = 8192;  // of the kernel's device

// As the kernel writes it: bytes that are not printable, and the backslash, as \xNN.
std::string escaped(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f || c == '\\') {
      out += "\\x";
      out += digits[byte >> 4U];
      out += digits[byte & 15U];
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

void KmsgFeeder::write(int priority, std::uint64_t microseconds, std::string_view text) {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t sequence = first_ + records_.size();
  records_.push_back(std::to_string(priority) + "," + std::to_string(sequence) + "," +
                     std::to_string(microseconds) + ",-;" + escaped(text) + "\n");
  if (records_.size() <= capacity_) return;
  records_.pop_front();
  ++first_;
}

ssize_t KmsgFeeder::Reader::read(char* buffer, std::size_t size) {
  const std::scoped_lock lock(feeder_.mutex_);
  if (is_at_begin_) position_ = feeder_.first_;
  if (position_ < feeder_.first_) {
    position_ = feeder_.first_;
    errno = EPIPE;
    return -1;
  }
  if (position_ - feeder_.first_ >= feeder_.records_.size()) {
    errno = EAGAIN;
    return -1;
  }
  const std::string& record = feeder_.records_[position_ - feeder_.first_];
  if (record.size() > size) {
    errno = EINVAL;
    return -1;
  }
  record.copy(buffer, record.size());
  ++position_;
  is_at_begin_ = false;
  return static_cast<ssize_t>(record.size());
}

bool KmsgFeeder::pump(Reader& reader, int socket, std::size_t most) {
  std::array<char, kMaxRecord> buffer{};
  for (std::size_t sent = 0; sent < most; ++sent) {
    const ssize_t size = reader.read(buffer.data(), buffer.size());
    if (size < 0 && errno == EPIPE) continue;
    if (size < 0) return true;
    while (::send(socket, buffer.data(), static_cast<std::size_t>(size), MSG_NOSIGNAL) < 0)
      if (errno != EINTR) return false;
  }
  return true;
}

namespace {

constexpr int kStepMilliseconds =
    static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(KmsgServer::kStep).count());

Result<int> listen_at(const std::string& path) {
  sockaddr_un address{};
  if (path.size() >= sizeof(address.sun_path))
    return fail(Errc::malformed, path + ": the socket path is too long");
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) {
    if (!S_ISSOCK(status.st_mode)) return fail(Errc::conflict, path + ": exists and is not a socket");
    (void)::unlink(path.c_str());  // of a feeder that was killed
  }
  const int listener = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (listener < 0) return fail_errno(errno, "socket");
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(listener, 4) != 0) {
    const int error = errno;
    ::close(listener);
    return fail_errno(error, path);
  }
  return listener;
}

}  // namespace

Result<std::unique_ptr<KmsgServer>> KmsgServer::listen(const std::string& path, Options options) {
  const int news = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (news < 0) return fail_errno(errno, "eventfd");
  const auto listener = listen_at(path);
  if (!listener) {
    ::close(news);
    return fail(listener.error());
  }
  return std::unique_ptr<KmsgServer>(new KmsgServer(path, *listener, news, options));
}

KmsgServer::KmsgServer(std::string path, int listener, int news, Options options)
    : path_(std::move(path)),
      options_(options),
      listener_(listener),
      news_(news),
      feeder_(options.records),
      thread_([this] { run(); }) {}

KmsgServer::~KmsgServer() {
  {
    const std::scoped_lock lock(mutex_);
    is_stopping_ = true;
    if (reader_ >= 0) ::shutdown(reader_, SHUT_RDWR);
  }
  ::shutdown(listener_, SHUT_RDWR);
  ::eventfd_write(news_, 1);
  thread_.join();
  ::close(listener_);
  ::close(news_);
  ::unlink(path_.c_str());
}

void KmsgServer::write(int priority, std::uint64_t microseconds, std::string_view text) {
  feeder_.write(priority, microseconds, text);
  ::eventfd_write(news_, 1);
}

bool KmsgServer::is_stopping() const {
  const std::scoped_lock lock(mutex_);
  return is_stopping_;
}

void KmsgServer::run() {
  while (!is_stopping()) {
    const int reader = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (reader < 0) continue;
    {
      const std::scoped_lock lock(mutex_);
      reader_ = reader;
    }
    serve(reader);
    const std::scoped_lock lock(mutex_);
    reader_ = -1;
    ::close(reader);
  }
}

// Runs until the reader closes the connection.
void KmsgServer::serve(int reader) {
  KmsgFeeder::Reader position(feeder_);
  const bool is_slow = options_.records_per_step > 0;
  const std::size_t most = is_slow ? options_.records_per_step : std::numeric_limits<std::size_t>::max();
  while (!is_stopping() && KmsgFeeder::pump(position, reader, most)) {
    // A reader sends nothing: readable means that it has closed.
    std::array<pollfd, 2> waits{{{reader, POLLIN, 0}, {is_slow ? -1 : news_, POLLIN, 0}}};
    if (::poll(waits.data(), waits.size(), is_slow ? kStepMilliseconds : -1) < 0 && errno != EINTR) return;
    if (waits[0].revents != 0) return;
    eventfd_t ignored = 0;
    (void)::eventfd_read(news_, &ignored);
  }
}

}  // namespace autopilot::simulator
