// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/kmsg_record.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::host {
namespace {

// 285 years: what fits in Instant's nanoseconds with room to add.
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

// One byte of the text as it was before the kernel escaped it.
struct Byte {
  unsigned char value = 0;
  std::size_t length = 1;  // bytes of the raw text it stands for
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

// A whole UTF-8 sequence that begins at `position`, escaped or not; length 0 when there is none.
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
  // The header is short; a text without one must not be searched to its end.
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
  // The kernel gives facility 0 to nobody else, so the mark only counts in what user space wrote.
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

}  // namespace autopilot::host
