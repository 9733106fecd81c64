// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/kmsg_source.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

#include "host/files/fd.hpp"
#include "host/kernel_log/kmsg_record.hpp"

namespace autopilot::host {
namespace {

// The kernel formats a record into 8 KiB; properties may make it longer in later kernels.
constexpr std::size_t kBufferBytes = 16384;
constexpr std::size_t kMaxBufferBytes = 262144;

int to_poll_timeout(Duration patience) {
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(patience).count();
  return static_cast<int>(std::clamp<std::int64_t>(milliseconds, 0, 3'600'000));
}

}  // namespace

Result<std::unique_ptr<KmsgSource>> KmsgSource::open(const std::string& path, const Clock& clock) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) {
    if (errno == EPERM || errno == EACCES) return fail(Errc::denied, path + ": needs CAP_SYSLOG");
    return fail_errno(errno, path);
  }
  return adopt(descriptor, path, clock);
}

Result<std::unique_ptr<KmsgSource>> KmsgSource::connect(const std::string& path, std::string witness,
                                                        const Clock& clock) {
  sockaddr_un address{};
  if (path.size() >= sizeof(address.sun_path))
    return fail(Errc::malformed, path + ": too long for the name of a socket");
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno(errno, "socket");
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return fail(Errc::unavailable, path + ": nobody feeds it");
  return adopt(socket.release(), std::move(witness), clock);
}

Result<std::unique_ptr<KmsgSource>> KmsgSource::adopt(int descriptor, std::string witness,
                                                      const Clock& clock) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags < 0 || ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) < 0) {
    const int error = errno;
    ::close(descriptor);
    return fail_errno(error, witness);
  }
  return with_read(descriptor, std::move(witness), clock,
                   [descriptor](char* buffer, std::size_t size) { return ::read(descriptor, buffer, size); });
}

Result<std::unique_ptr<KmsgSource>> KmsgSource::with_read(int descriptor, std::string witness,
                                                          const Clock& clock, Read read) {
  const int wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0) {
    const int error = errno;
    ::close(descriptor);
    return fail_errno(error, "eventfd");
  }
  return std::unique_ptr<KmsgSource>(
      new KmsgSource(descriptor, wake, std::move(witness), clock, std::move(read)));
}

KmsgSource::KmsgSource(int descriptor, int wake, std::string witness, const Clock& clock, Read read)
    : descriptor_(descriptor),
      wake_(wake),
      witness_(std::move(witness)),
      clock_(clock),
      read_(std::move(read)),
      buffer_(kBufferBytes) {}

KmsgSource::~KmsgSource() {
  ::close(descriptor_);
  ::close(wake_);
}

void KmsgSource::interrupt() {
  ::eventfd_write(wake_, 1);
}

Result<std::vector<SourcedRecord>> KmsgSource::next(Duration patience) {
  std::vector<SourcedRecord> batch;
  std::array<pollfd, 2> waits{{{descriptor_, POLLIN, 0}, {wake_, POLLIN, 0}}};
  const int ready = ::poll(waits.data(), waits.size(), to_poll_timeout(patience));
  if (ready < 0 && errno != EINTR) return fail_errno(errno, witness_);
  if (ready <= 0 || waits[0].revents == 0) return batch;
  const Instant now = clock_.now();
  while (batch.size() < kMaxBatch) {
    const auto outcome = read_one(batch, now);
    if (!outcome) {
      if (!batch.empty()) return batch;  // told again by the next call
      return fail(outcome.error());
    }
    if (*outcome == Outcome::nothing) break;
  }
  return batch;
}

Result<KmsgSource::Outcome> KmsgSource::read_one(std::vector<SourcedRecord>& batch, Instant now) {
  const ssize_t size = read_(buffer_.data(), buffer_.size());
  if (size > 0) {
    append(batch, std::string_view(buffer_.data(), static_cast<std::size_t>(size)), now);
    return Outcome::record;
  }
  if (size == 0) return fail(Errc::unavailable, witness_ + ": closed by the other end");
  switch (errno) {
    case EAGAIN:
      return Outcome::nothing;
    case EINTR:
      return Outcome::skipped;
    case EPIPE:  // overwritten before it was read; the next read gives the oldest that is left
      ++unnumbered_lost_;
      return Outcome::skipped;
    case EINVAL:  // longer than the buffer; the kernel may have stepped over it, then its number is missing
      if (buffer_.size() >= kMaxBufferBytes) return fail_errno(EINVAL, witness_);
      buffer_.resize(buffer_.size() * 4);
      return Outcome::skipped;
    default:
      return fail_errno(errno, witness_);
  }
}

void KmsgSource::append(std::vector<SourcedRecord>& batch, std::string_view raw, Instant now) {
  auto parsed = parse_kmsg_record(raw);
  if (!parsed) {
    ++unnumbered_lost_;
    return;
  }
  const std::uint64_t sequence = parsed->sequence;
  const std::uint64_t gap = sequence > expected_ ? sequence - expected_ : 0;
  batch.push_back({to_kernel_record(std::move(*parsed), now), std::max(gap, unnumbered_lost_)});
  expected_ = sequence + 1;
  unnumbered_lost_ = 0;
}

}  // namespace autopilot::host
