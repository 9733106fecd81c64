// SPDX-License-Identifier: Apache-2.0
#include "kernel_log/kmsg_feeder.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>

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

std::uint64_t KmsgFeeder::next() const {
  const std::scoped_lock lock(mutex_);
  return first_ + records_.size();
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

void KmsgFeeder::Reader::seek_to_begin() {
  is_at_begin_ = true;
}

void KmsgFeeder::Reader::seek_to_end() {
  is_at_begin_ = false;
  position_ = feeder_.next();
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

}  // namespace autopilot::simulator
