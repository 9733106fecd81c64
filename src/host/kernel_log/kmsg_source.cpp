// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/kmsg_source.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

#include "core/parse.hpp"
#include "host/files/fd.hpp"

namespace autopilot::host {
namespace {

// About 143 years, which fits in Instant's nanoseconds with room for additions.
constexpr std::uint64_t kMaxRecordMicroseconds = std::uint64_t{1} << 52;

bool is_plain(char c) {
  return c >= ' ' && c <= '~' && c != '\\';
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// One byte of the text before the kernel escaped it.
struct Byte {
  unsigned char value = 0;
  std::size_t length = 1;  // its bytes in the raw text
};

Byte byte_at(std::string_view raw, std::size_t position) {
  if (raw[position] == '\\' && position + 3 < raw.size() && raw[position + 1] == 'x') {
    const int high = hex_digit(raw[position + 2]);
    const int low = hex_digit(raw[position + 3]);
    if (high >= 0 && low >= 0) return {static_cast<unsigned char>(high * 16 + low), 4};
  }
  return {static_cast<unsigned char>(raw[position]), 1};
}

std::size_t utf8_length(unsigned char first) {
  if (first >= 0xc2 && first <= 0xdf) return 2;
  if (first >= 0xe0 && first <= 0xef) return 3;
  if (first >= 0xf0 && first <= 0xf4) return 4;
  return 0;
}

bool is_second_byte_allowed(unsigned char first, unsigned char second) {
  switch (first) {
    case 0xe0:
      return second >= 0xa0;  // overlong
    case 0xed:
      return second <= 0x9f;  // surrogates
    case 0xf0:
      return second >= 0x90;  // overlong
    case 0xf4:
      return second <= 0x8f;  // past U+10FFFF
    default:
      return true;
  }
}

// The complete UTF-8 sequence at `position`, escaped or not; length 0 if there is none.
struct Sequence {
  std::array<char, 4> bytes{};
  std::size_t size = 0;
  std::size_t length = 0;
};

Sequence sequence_at(std::string_view raw, std::size_t position) {
  Sequence sequence;
  Byte byte = byte_at(raw, position);
  const unsigned char first = byte.value;
  const std::size_t wanted = utf8_length(first);
  std::size_t next = position;
  while (sequence.size < wanted) {
    if (next >= raw.size()) return {};
    byte = byte_at(raw, next);
    const bool is_continuation = byte.value >= 0x80 && byte.value <= 0xbf;
    if (sequence.size > 0 && !is_continuation) return {};
    if (sequence.size == 1 && !is_second_byte_allowed(first, byte.value)) return {};
    sequence.bytes[sequence.size++] = static_cast<char>(byte.value);
    next += byte.length;
  }
  sequence.length = next - position;
  return sequence;
}

void append_escaped(std::string& text, unsigned char value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  text += "\\x";
  text += kDigits[value >> 4];
  text += kDigits[value & 15];
}

}  // namespace

std::string clean_log_text(std::string_view raw, std::size_t limit) {
  if (raw.size() <= limit && std::all_of(raw.begin(), raw.end(), is_plain)) return std::string(raw);
  std::string text;
  text.reserve(std::min(raw.size(), limit));
  std::size_t position = 0;
  while (position < raw.size()) {
    const std::size_t before = text.size();
    const Byte byte = byte_at(raw, position);
    if (const Sequence sequence = sequence_at(raw, position); sequence.length > 0) {
      text.append(sequence.bytes.data(), sequence.size);
      position += sequence.length;
    } else {
      const bool stays = (byte.value >= ' ' && byte.value <= '~') || byte.value == '\n' || byte.value == '\t';
      if (stays)
        text += static_cast<char>(byte.value);
      else
        append_escaped(text, byte.value);
      position += byte.length;
    }
    if (text.size() > limit) {
      text.resize(before);
      break;
    }
  }
  return text;
}

Result<KmsgRecord> parse_kmsg_record(std::string_view record) {
  const auto malformed = [&] {
    return fail(Errc::malformed, "kernel log: no record header in \"" + clean_log_text(record, 60) + "\"");
  };
  // The header is short; a long text without a header is not searched to its end.
  const auto header_end = record.substr(0, 256).find(';');
  if (header_end == std::string_view::npos) return malformed();
  const std::string_view header = record.substr(0, header_end);
  std::array<std::string_view, 3> fields;
  std::size_t begin = 0;
  for (auto& field : fields) {
    const auto comma = header.find(',', begin);
    if (comma == std::string_view::npos) return malformed();
    field = header.substr(begin, comma - begin);
    begin = comma + 1;
  }
  const auto priority = parse_number<unsigned>(fields[0]);
  const auto sequence = parse_number<std::uint64_t>(fields[1]);
  const auto microseconds = parse_number<std::uint64_t>(fields[2]);
  if (!priority || !sequence || !microseconds || *priority > 0xffff || *microseconds > kMaxRecordMicroseconds)
    return malformed();

  KmsgRecord parsed;
  parsed.sequence = *sequence;
  parsed.microseconds = *microseconds;
  parsed.priority = static_cast<int>(*priority & 7U);
  parsed.facility = static_cast<int>(*priority >> 3U);
  std::string_view text = record.substr(header_end + 1);
  text = text.substr(0, text.find('\n'));
  // Only the kernel writes facility 0, so the mark counts only with other facilities.
  if (parsed.facility != 0 && text.starts_with(kInjectedPrefix)) {
    parsed.injected = true;
    text.remove_prefix(kInjectedPrefix.size());
  }
  parsed.text = clean_log_text(text);
  return parsed;
}

Instant instant_since_boot(std::uint64_t microseconds, Instant now) {
  const auto since_boot = std::chrono::microseconds(std::min(microseconds, kMaxRecordMicroseconds));
  const MonoTime mono = std::min(MonoTime(since_boot), now.mono);
  return {now.wall - (now.mono - mono), mono};
}

KernelRecord to_kernel_record(KmsgRecord record, Instant now) {
  KernelRecord result;
  result.sequence = record.sequence;
  result.time = instant_since_boot(record.microseconds, now);
  result.priority = record.priority;
  result.facility = record.facility;
  result.injected = record.injected;
  result.text = std::move(record.text);
  return result;
}

namespace {

// The kernel formats a record into 8 KiB; properties make it longer in newer kernels.
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
    return fail(Errc::malformed, path + ": too long for the path of a socket");
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno(errno, "socket");
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return fail(Errc::unavailable, path + ": connection refused, no kmsg feeder");
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
      if (!batch.empty()) return batch;  // the next call returns the error again
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
  if (size == 0) return fail(Errc::unavailable, witness_ + ": closed by the feeder");
  switch (errno) {
    case EAGAIN:
      return Outcome::nothing;
    case EINTR:
      return Outcome::skipped;
    case EPIPE:  // overwritten before it was read; the next read returns the oldest remaining record
      ++unnumbered_lost_;
      return Outcome::skipped;
    case EINVAL:  // longer than the buffer; if the kernel skipped it, the gap in the sequence counts it
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

Status inject_kernel_record(const std::string& text) {
  const Fd device(::open("/dev/kmsg", O_WRONLY | O_CLOEXEC));
  if (device.get() < 0) return fail_errno(errno, "/dev/kmsg");
  // One write is one record. Without a newline the kernel waits for a continuation and does not show the
  // record.
  const std::string record = std::string(kInjectedPrefix) + text + "\n";
  if (::write(device.get(), record.data(), record.size()) < 0) return fail_errno(errno, "/dev/kmsg");
  return {};
}

}  // namespace autopilot::host
