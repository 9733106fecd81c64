// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/text_forms.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <utility>

#include "core/parse.hpp"
#include "host/kernel_log/kmsg_record.hpp"
#include "host/kernel_log/syslog_source.hpp"
#include "host/kernel_log/tree_kernel_log.hpp"

namespace autopilot::host {
namespace json = boost::json;
namespace {

constexpr std::uint64_t kMaxSeconds = 1'000'000'000;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Compares with a picture: '0' any digit, '_' a digit or a blank, 'A' any letter, anything else itself.
bool looks_like(std::string_view text, std::string_view picture) {
  if (text.size() < picture.size()) return false;
  for (std::size_t index = 0; index < picture.size(); ++index) {
    const char c = text[index];
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    switch (picture[index]) {
      case '0':
        if (!is_digit(c)) return false;
        break;
      case '_':
        if (!is_digit(c) && c != ' ') return false;
        break;
      case 'A':
        if (!is_letter) return false;
        break;
      default:
        if (c != picture[index]) return false;
    }
  }
  return true;
}

// "12.345678" or "12.345" as microseconds.
std::optional<std::uint64_t> seconds_since_boot(std::string_view text) {
  text = trim(text);
  const auto dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto fraction = text.substr(dot + 1);
  if (fraction.empty() || fraction.size() > 9) return std::nullopt;
  const auto seconds = parse_number<std::uint64_t>(text.substr(0, dot));
  auto rest = parse_number<std::uint64_t>(fraction);
  if (!seconds || !rest || *seconds > kMaxSeconds) return std::nullopt;
  for (auto digits = fraction.size(); digits < 6; ++digits)
    *rest *= 10;
  for (auto digits = fraction.size(); digits > 6; --digits)
    *rest /= 10;
  return *seconds * 1'000'000 + *rest;
}

// Takes the caller off the front: "[   T1234]" or "[    C3]", which the kernel writes right behind the time
// and dmesg after a blank. Blanks that are not followed by one stay.
void take_caller(std::string_view& text) {
  std::string_view rest = text;
  if (rest.starts_with(' ')) rest.remove_prefix(1);
  if (!rest.starts_with('[')) return;
  const auto end = rest.substr(0, 24).find(']');
  if (end == std::string_view::npos) return;
  const auto caller = trim(rest.substr(1, end - 1));
  if (caller.size() < 2 || (caller.front() != 'T' && caller.front() != 'C')) return;
  if (!std::ranges::all_of(caller.substr(1), is_digit)) return;
  text = rest.substr(end + 1);
}

// Takes what stands between the time and the text: a caller, where there is one, and one blank.
void take_behind_time(std::string_view& text) {
  take_caller(text);
  if (text.starts_with(' ')) text.remove_prefix(1);
}

// Takes "[  12.345678] " and the caller behind it off the front; dmesg -d has a distance in it as well:
// "[  12.345678 <    0.000012>] ".
std::optional<std::uint64_t> take_bracket_time(std::string_view& text) {
  if (!text.starts_with('[')) return std::nullopt;
  const auto close = text.substr(0, 40).find(']');
  if (close == std::string_view::npos) return std::nullopt;
  const auto inner = text.substr(1, close - 1);
  const auto time = seconds_since_boot(inner.ends_with('>') ? inner.substr(0, inner.find(" <")) : inner);
  if (!time) return std::nullopt;
  text.remove_prefix(close + 1);
  take_behind_time(text);
  return time;
}

// Takes "host tag[pid]: " off the front and says whether the tag is the kernel's.
bool take_host_and_tag(std::string_view& text, TextRow& row) {
  std::string_view rest = text;
  const auto host_end = rest.find(' ');
  if (host_end == std::string_view::npos || host_end == 0) return false;
  rest.remove_prefix(host_end + 1);
  const auto tag_end = rest.substr(0, 128).find(": ");
  const bool is_empty = rest.ends_with(':') && rest.find(' ') == std::string_view::npos;
  if (tag_end == std::string_view::npos && !is_empty) return false;
  std::string_view tag = is_empty ? rest.substr(0, rest.size() - 1) : rest.substr(0, tag_end);
  rest.remove_prefix(is_empty ? rest.size() : tag_end + 2);
  if (const auto bracket = tag.find('['); bracket != std::string_view::npos) tag = tag.substr(0, bracket);
  if (tag.find(' ') != std::string_view::npos) return false;
  row.is_kernel = tag == "kernel";
  text = rest;
  return true;
}

void set_syslog_text(std::string_view text, TextRow& row) {
  row.form = TextRow::Form::syslog;
  if (take_host_and_tag(text, row)) {
    auto inner = text;
    if (const auto time = take_bracket_time(inner); time && row.is_kernel) {
      row.microseconds = time;
      text = inner;
    }
  }
  row.text = text;
}

// "2026-11-21T03:04:05.678901+0100", any separator of the fraction, as core reads it.
std::optional<WallTime> iso_time(std::string_view text) {
  std::string spelled(text);
  std::ranges::replace(spelled, ',', '.');
  const auto sign = spelled.find_last_of("+-");
  if (sign != std::string::npos && sign > 10 && spelled.size() - sign == 5) spelled.insert(sign + 3, ":");
  return parse_time(spelled);
}

std::optional<TextRow> parse_iso(std::string_view line) {
  if (!looks_like(line, "0000-00-00T00:00:00")) return std::nullopt;
  const auto end = line.substr(0, 48).find(' ');
  if (end == std::string_view::npos) return std::nullopt;
  TextRow row;
  const auto stamp = line.substr(0, end);
  row.wall = iso_time(stamp);
  if (stamp.find(',') != std::string_view::npos) {  // dmesg --time-format iso has no host
    row.form = TextRow::Form::dmesg;
    line.remove_prefix(end);
    take_behind_time(line);
    row.text = line;
  } else {
    set_syslog_text(line.substr(end + 1), row);
  }
  return row;
}

// "Nov 21 03:04:05 host kernel: ", with fraction, and with weekday, year and zone before it in other forms.
// No zone is known here, so no time is given.
std::optional<TextRow> parse_classic(std::string_view line) {
  std::size_t length = 0;
  if (looks_like(line, "AAA _0 00:00:00"))
    length = 15;
  else if (looks_like(line, "AAA 0000-00-00 00:00:00 "))  // journalctl short-full: a zone follows
    length = line.find(' ', 24);
  if (length == 0 || length >= line.size()) return std::nullopt;
  if (line[length] == '.') {
    ++length;
    while (length < line.size() && is_digit(line[length]))
      ++length;
  }
  if (length >= line.size() || line[length] != ' ') return std::nullopt;
  TextRow row;
  set_syslog_text(line.substr(length + 1), row);
  return row;
}

// RFC 5424 behind its priority: "1 TIME HOST APP PROCID MSGID [data] message".
std::optional<TextRow> parse_rfc5424(std::string_view line) {
  if (!looks_like(line, "1 0000-00-00T")) return std::nullopt;
  TextRow row;
  row.form = TextRow::Form::syslog;
  std::array<std::string_view, 6> fields;
  for (auto& field : fields) {
    const auto end = line.find(' ');
    if (end == std::string_view::npos) return std::nullopt;
    field = line.substr(0, end);
    line.remove_prefix(end + 1);
  }
  row.wall = iso_time(fields[1]);
  row.is_kernel = fields[3] == "kernel";
  if (line.starts_with("- ")) {
    line.remove_prefix(2);
  } else if (line.starts_with('[')) {
    const auto end = line.find("] ");
    if (end == std::string_view::npos) return std::nullopt;
    line.remove_prefix(end + 2);
  }
  row.text = line;
  return row;
}

// journalctl short-unix: "1763694245.678901 host kernel: text".
std::optional<TextRow> parse_unix(std::string_view line) {
  const auto end = line.substr(0, 24).find(' ');
  if (end == std::string_view::npos || !is_digit(line.front())) return std::nullopt;
  const auto stamp = line.substr(0, end);
  const auto dot = stamp.find('.');
  if (dot == std::string_view::npos || stamp.size() - dot != 7) return std::nullopt;
  const auto seconds = parse_number<std::uint32_t>(stamp.substr(0, dot));
  const auto micros = parse_number<std::uint32_t>(stamp.substr(dot + 1));
  if (!seconds || !micros) return std::nullopt;
  TextRow row;
  row.form = TextRow::Form::syslog;
  auto text = line.substr(end + 1);
  if (!take_host_and_tag(text, row)) return std::nullopt;
  row.wall = WallTime(std::chrono::seconds(*seconds) + std::chrono::microseconds(*micros));
  row.text = text;
  return row;
}

// A row of /sys/kernel/tracing/trace: "kworker/0:1-123 [001] d..1. 100.000000: nvidia_dev_xid: Xid ...".
std::optional<TextRow> parse_trace(std::string_view line) {
  const auto open = line.substr(0, 64).find(" [");
  if (open == std::string_view::npos || !looks_like(line.substr(open), " [000] ")) return std::nullopt;
  auto rest = trim(line.substr(open + 7));
  const auto flags = rest.find(' ');
  if (flags == std::string_view::npos) return std::nullopt;
  rest = trim(rest.substr(flags));
  const auto colon = rest.find(": ");
  if (colon == std::string_view::npos) return std::nullopt;
  TextRow row;
  row.form = TextRow::Form::trace;
  row.microseconds = seconds_since_boot(rest.substr(0, colon));
  if (!row.microseconds) return std::nullopt;
  row.text = rest.substr(colon + 2);
  return row;
}

// "<3>..." with a row of dmesg -r, a syslog line, or a bare message behind it.
std::optional<TextRow> parse_with_priority(std::string_view line) {
  if (!line.starts_with('<')) return std::nullopt;
  const auto close = line.substr(0, 8).find('>');
  if (close == std::string_view::npos) return std::nullopt;
  const auto number = parse_number<unsigned>(line.substr(1, close - 1));
  if (!number || *number > 0xffff) return std::nullopt;
  line.remove_prefix(close + 1);
  std::optional<TextRow> row = parse_rfc5424(line);
  if (!row) row = parse_iso(line);
  if (!row) row = parse_classic(line);
  if (!row) {
    row.emplace();
    row->form = TextRow::Form::dmesg;
    row->microseconds = take_bracket_time(line);
    row->text = line;
  }
  row->priority = static_cast<int>(*number & 7U);
  row->facility = static_cast<int>(*number >> 3U);
  return row;
}

std::optional<int> index_of(std::string_view word, const std::vector<std::string_view>& words) {
  const auto found = std::ranges::find(words, word);
  return found == words.end() ? std::nullopt : std::optional(static_cast<int>(found - words.begin()));
}

// dmesg -T: "[Sat Nov 21 03:04:05 2026] text", in a zone it does not name. False for anything else.
bool take_human_time(std::string_view& text) {
  constexpr std::string_view kPicture = "[AAA AAA _0 00:00:00 0000]";
  if (!looks_like(text, kPicture)) return false;
  text.remove_prefix(kPicture.size());
  take_behind_time(text);
  return true;
}

// dmesg -x: "kern  :err   : [   12.345678] text"
std::optional<TextRow> parse_decoded_dmesg(std::string_view line) {
  static const std::vector<std::string_view> kFacilities{
      "kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp"};
  static const std::vector<std::string_view> kLevels{"emerg", "alert",  "crit", "err",
                                                     "warn",  "notice", "info", "debug"};
  const auto first = line.substr(0, 12).find(':');
  if (first == std::string_view::npos) return std::nullopt;
  const auto second = line.substr(0, 24).find(": ", first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const auto facility = index_of(trim(line.substr(0, first)), kFacilities);
  const auto level = index_of(trim(line.substr(first + 1, second - first - 1)), kLevels);
  if (!facility || !level) return std::nullopt;
  line.remove_prefix(second + 2);
  TextRow row;
  row.form = TextRow::Form::dmesg;
  row.facility = *facility;
  row.priority = *level;
  if (!take_human_time(line)) row.microseconds = take_bracket_time(line);
  row.text = line;
  return row;
}

std::optional<TextRow> parse_bracket(std::string_view line) {
  if (!line.starts_with('[')) return std::nullopt;
  TextRow row;
  row.form = TextRow::Form::dmesg;
  if (take_human_time(line)) {
    row.text = line;
    return row;
  }
  const auto close = line.substr(0, 40).find(']');
  row.microseconds = take_bracket_time(line);
  if (!row.microseconds) return std::nullopt;
  // journalctl short-monotonic has a host and a tag, and prints fewer blanks.
  if (auto rest = line; close < 40 && take_host_and_tag(rest, row)) {
    const auto kernel = line.find(" kernel: ");
    if (kernel != std::string_view::npos && line.find(' ') == kernel) {
      row.form = TextRow::Form::syslog;
      row.text = rest;
      return row;
    }
    row.is_kernel = true;
  }
  row.text = line;
  return row;
}

// A number of the journal: JSON text of digits.
std::optional<std::uint64_t> journal_number(const json::object& entry, std::string_view name) {
  const auto* value = entry.if_contains(name);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return parse_number<std::uint64_t>(std::string_view(value->get_string()));
}

std::string_view journal_word(const json::object& entry, std::string_view name) {
  const auto* value = entry.if_contains(name);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : std::string_view{};
}

// The journal writes text that is no UTF-8 as a list of bytes.
std::optional<std::string> journal_message(const json::object& entry) {
  const auto* message = entry.if_contains("MESSAGE");
  if (message == nullptr) return std::nullopt;
  if (message->is_string()) return std::string(std::string_view(message->get_string()));
  if (!message->is_array()) return std::nullopt;
  std::string text;
  for (const auto& item : message->get_array()) {
    if (item.is_string()) {  // one of several messages of one entry
      text += (text.empty() ? "" : "\n") + std::string(std::string_view(item.get_string()));
      continue;
    }
    const auto* byte = item.if_int64();
    if (byte == nullptr || *byte < 0 || *byte > 255) return std::nullopt;
    text += static_cast<char>(static_cast<unsigned char>(*byte));
  }
  return text;
}

std::optional<TextRow> parse_journal_entry(const json::object& entry) {
  auto message = journal_message(entry);
  if (!message) return std::nullopt;
  TextRow row;
  row.form = TextRow::Form::journal_json;
  row.text = std::move(*message);
  row.priority = static_cast<int>(journal_number(entry, "PRIORITY").value_or(6) & 7U);
  // The journal sets the transport itself; what user space wrote to the kernel log has another facility. An
  // entry of that transport without one (an old journal, or an export of some fields) proves neither.
  const auto facility = journal_number(entry, "SYSLOG_FACILITY");
  row.is_kernel = journal_word(entry, "_TRANSPORT") == "kernel";
  if (facility) row.facility = static_cast<int>(std::min<std::uint64_t>(*facility, 0xffff));
  if (!row.is_kernel) row.facility = std::max(1, row.facility.value_or(1));
  if (const auto wall = journal_number(entry, "__REALTIME_TIMESTAMP");
      wall && *wall < (std::uint64_t{1} << 53U))
    row.wall = WallTime(std::chrono::microseconds(*wall));
  auto boot = journal_number(entry, "_SOURCE_MONOTONIC_TIMESTAMP");
  if (!boot) boot = journal_number(entry, "__MONOTONIC_TIMESTAMP");
  if (boot && *boot < kMaxSeconds * 1'000'000) row.microseconds = boot;
  return row;
}

std::optional<TextRow> parse_json_line(std::string_view line, bool& is_json) {
  json::error_code error;
  const json::value value = json::parse(line, error);
  is_json = !error && value.is_object();
  if (!is_json) return std::nullopt;
  if (value.get_object().contains("MESSAGE") || value.get_object().contains("__REALTIME_TIMESTAMP"))
    return parse_journal_entry(value.get_object());
  auto parsed = parse_tree_log_line(line);
  if (!parsed || !std::holds_alternative<TreeLogLine>(*parsed)) return std::nullopt;
  auto& tree = std::get<TreeLogLine>(*parsed);
  TextRow row;
  row.form = TextRow::Form::tree;
  row.facility = tree.facility;
  row.priority = tree.priority;
  row.microseconds = tree.microseconds;
  row.injected = tree.injected;
  row.text = std::move(tree.text);
  return row;
}

std::optional<TextRow> parse_kmsg(std::string_view line) {
  if (line.empty() || !is_digit(line.front())) return std::nullopt;
  auto record = parse_kmsg_record(line);
  if (!record) return std::nullopt;
  TextRow row;
  row.form = TextRow::Form::kmsg;
  row.facility = record->facility;
  row.priority = record->priority;
  row.microseconds = record->microseconds;
  row.injected = record->injected;
  row.text = std::move(record->text);
  return row;
}

}  // namespace

std::optional<TextRow> parse_text_row(std::string_view line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' '))
    line.remove_suffix(1);
  if (line.find_first_not_of(" \t") == std::string_view::npos) return std::nullopt;
  if (line.starts_with('{')) {
    bool is_json = false;
    auto row = parse_json_line(line, is_json);
    if (is_json) return row;
  }
  for (const auto parse : {parse_kmsg, parse_with_priority, parse_bracket, parse_iso, parse_classic,
                           parse_unix, parse_decoded_dmesg, parse_trace})
    if (auto row = parse(line)) return row;
  TextRow row;
  row.text = line;
  return row;
}

}  // namespace autopilot::host
