// SPDX-License-Identifier: Apache-2.0
#include "host/dns/dns_message.hpp"

#include <optional>

namespace autopilot::host {
namespace {

// Flags of the second word of a message (RFC 1035, 4.1.1).
constexpr unsigned kIsAnswer = 0x8000;
constexpr unsigned kOperation = 0x7800;
constexpr unsigned kTruncated = 0x0200;
constexpr unsigned kRecursionDesired = 0x0100;
constexpr unsigned kCode = 0x000f;

constexpr unsigned kStatus = 0x1000;  // the operation 2

// The root, NS, IN.
constexpr std::string_view kRoot{"\0\0\2\0\1", 5};
// version.bind, TXT, CH.
constexpr std::string_view kVersion{"\7version\4bind\0\0\x10\0\3", 18};

constexpr std::size_t kHead = 12;

constexpr std::size_t kMaxName = 255;
constexpr unsigned kPointer = 0xc0;
// Type, class and time to live of a record.
constexpr std::size_t kRecordHead = 8;

void append_number(std::string& text, unsigned number) {
  text += static_cast<char>(number >> 8U & 0xffU);
  text += static_cast<char>(number & 0xffU);
}

// Walks over a packet; nothing or false where it ends too early.
class Reader {
 public:
  explicit Reader(std::string_view packet) : packet_(packet) {}

  [[nodiscard]] std::optional<unsigned> byte() {
    if (at_ == packet_.size()) return std::nullopt;
    return static_cast<unsigned char>(packet_[at_++]);
  }
  [[nodiscard]] std::optional<unsigned> number() {
    const auto high = byte();
    const auto low = byte();
    if (!high || !low) return std::nullopt;
    return *high << 8U | *low;
  }
  [[nodiscard]] bool skip(std::size_t bytes) {
    if (bytes > packet_.size() - at_) return false;
    at_ += bytes;
    return true;
  }
  [[nodiscard]] bool take(std::string_view expected) {
    if (!packet_.substr(at_).starts_with(expected)) return false;
    at_ += expected.size();
    return true;
  }
  // A pointer may only lead back, so that following it cannot loop.
  [[nodiscard]] bool skip_name() {
    const std::size_t begin = at_;
    while (at_ - begin < kMaxName) {
      const auto length = byte();
      if (!length) return false;
      if (*length == 0) return true;
      if ((*length & kPointer) == kPointer) {
        const auto low = byte();
        return low && ((*length & ~kPointer) << 8U | *low) < begin;
      }
      if ((*length & kPointer) != 0 || !skip(*length)) return false;
    }
    return false;
  }
  [[nodiscard]] bool skip_record() {
    if (!skip_name() || !skip(kRecordHead)) return false;
    const auto length = number();
    return length && skip(*length);
  }

 private:
  std::string_view packet_;
  std::size_t at_ = 0;
};

tl::unexpected<Error> malformed(const std::string& what) {
  return fail(Errc::malformed, "answer of a name server: " + what);
}

}  // namespace

std::string make_dns_question(DnsQuestion question, std::uint16_t id) {
  unsigned flags = 0;
  std::string_view asked;
  if (question == DnsQuestion::root) {
    flags = kRecursionDesired;
    asked = kRoot;
  } else if (question == DnsQuestion::version) {
    asked = kVersion;
  } else {
    flags = kStatus;
  }
  std::string packet;
  for (const unsigned number : {unsigned{id}, flags, asked.empty() ? 0U : 1U, 0U, 0U, 0U})
    append_number(packet, number);
  return packet.append(asked);
}

Result<DnsAnswer> parse_dns_head(std::string_view packet) {
  Reader reader(packet);
  const auto id = reader.number();
  const auto flags = reader.number();
  if (!id || !flags || packet.size() < kHead) return malformed("no whole header");
  if ((*flags & kIsAnswer) == 0) return malformed("it is none");
  return DnsAnswer{static_cast<std::uint16_t>(*id), static_cast<int>(*flags & kCode),
                   (*flags & kTruncated) != 0};
}

Result<DnsAnswer> parse_dns_answer(std::string_view packet) {
  const DnsAnswer answer = TRY(parse_dns_head(packet));
  Reader reader(packet);
  const auto id = reader.number();
  const auto flags = reader.number();
  const auto questions = reader.number();
  const auto answers = reader.number();
  const auto authorities = reader.number();
  const auto additional = reader.number();
  if (!id || !flags || !questions || !answers || !authorities || !additional)
    return malformed("no whole header");
  if ((*flags & kOperation) != 0) return malformed("it is to another operation");
  const bool leaves_question_out = *questions == 0 && answer.code != 0;
  if (!leaves_question_out && (*questions != 1 || !reader.take(kRoot)))
    return malformed("to another question");
  if (answer.is_truncated) return answer;
  for (unsigned left = *answers + *authorities + *additional; left > 0; --left)
    if (!reader.skip_record()) return malformed("it ends inside of a record");
  return answer;
}

}  // namespace autopilot::host
