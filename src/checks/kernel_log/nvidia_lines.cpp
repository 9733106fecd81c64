// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/nvidia_lines.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/parse.hpp"
#include "core/subject.hpp"

namespace autopilot::checks {
namespace {

constexpr std::string_view kRecoveryMark = "recovery action changed from ";
constexpr std::size_t kMaxProcessName = 15;  // the kernel's TASK_COMM_LEN without its NUL

// Removes the text up to `separator` from `text` and returns what was before it; nullopt without a separator.
std::optional<std::string_view> cut(std::string_view& text, std::string_view separator) {
  const auto at = text.find(separator);
  if (at == std::string_view::npos) return std::nullopt;
  const auto front = text.substr(0, at);
  text.remove_prefix(at + separator.size());
  return front;
}

std::string_view unquoted(std::string_view text) {
  if (text.size() >= 2 && text.front() == '\'' && text.back() == '\'') return text.substr(1, text.size() - 2);
  return text;
}

// The name of a process may contain commas and anything else. It is short, so its end is among the first
// characters. Of several possible ends the last before a capital letter counts, because a name may look like
// the begin of a message, and no known message has such a place so early.
std::size_t end_of_process_name(std::string_view text) {
  const auto first = text.find(", ");
  auto end = first;
  for (auto at = first; at <= kMaxProcessName; at = text.find(", ", at + 1)) {
    const auto rest = text.substr(at + 2);
    if (!rest.empty() && rest.front() >= 'A' && rest.front() <= 'Z') end = at;
  }
  return first <= kMaxProcessName ? end : std::string_view::npos;
}

std::string_view read_process(std::string_view body, DecodedRecord& decoded) {
  if (!body.starts_with("pid=")) return body;
  std::string_view rest = body.substr(4);
  const auto pid = cut(rest, ", ");
  if (!pid) return body;
  if (const auto number = parse_number<std::int64_t>(unquoted(*pid)); number && *number >= 0)
    decoded.pid = *number;
  if (!rest.starts_with("name=")) return rest;
  rest.remove_prefix(5);
  const auto end = end_of_process_name(rest);
  if (end == std::string_view::npos) return rest;
  const auto name = unquoted(rest.substr(0, end));
  if (name != "<unknown>") decoded.process = name;
  return rest.substr(end + 2);
}

// "... caused by previous Xid 79": only at the end, because a process may have any name.
std::string_view read_cause(std::string_view text, DecodedRecord& decoded) {
  constexpr std::string_view kMark = " caused by previous Xid ";
  const auto at = text.rfind(kMark);
  if (at == std::string_view::npos) return text;
  auto number = trim(text.substr(at + kMark.size()));
  if (number.ends_with('.')) number.remove_suffix(1);
  const auto code = parse_number<std::uint32_t>(number);
  if (!code) return text;
  decoded.caused_by = *code;
  auto front = text.substr(0, at);
  if (front.ends_with(',')) front.remove_suffix(1);
  return front;
}

std::optional<bool> yes_or_no(std::string_view text) {
  if (text.starts_with("Yes")) return true;
  if (text.starts_with("No")) return false;
  return std::nullopt;
}

// "... RST: No, D-RST: No" at the end.
void read_advice(std::string_view text, DecodedRecord& decoded) {
  constexpr std::string_view kDrain = "D-RST: ";
  const auto drain = text.rfind(kDrain);
  if (drain == std::string_view::npos) return;
  decoded.drain_reset_advised = yes_or_no(text.substr(drain + kDrain.size()));
  constexpr std::string_view kReset = "RST: ";
  const auto reset = text.substr(0, drain).rfind(kReset);
  if (reset != std::string_view::npos) decoded.reset_advised = yes_or_no(text.substr(reset + kReset.size()));
}

// "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"
void read_recovery(std::string_view text, DecodedRecord& decoded) {
  const auto at = text.rfind(kRecoveryMark);
  if (at == std::string_view::npos) return;
  std::string_view rest = text.substr(at + kRecoveryMark.size());
  const auto from = cut(rest, " ");
  const auto between = cut(rest, " to ");
  if (!from || !between) return;
  const auto to = cut(rest, " ");
  if (!to) return;  // the number may be cut
  decoded.recovery_from = parse_hex<int>(*from);
  decoded.recovery_to = parse_hex<int>(*to);
}

// Every message with numbers that matter ends with a parenthesis. A log forwarder that cuts it may append its
// own mark to the remaining numbers.
bool ends_as_whole(std::string_view text) {
  return text.ends_with(')') &&
         (text.find("(0x") == std::string_view::npos || text.rfind('(') == text.find("(0x"));
}

bool is_cut_recovery(std::string_view text, const DecodedRecord& decoded) {
  return !decoded.recovery_to && (!ends_as_whole(text) || text.find(kRecoveryMark) != std::string_view::npos);
}

std::optional<int> number_after(std::string_view text, std::string_view mark) {
  const auto at = text.rfind(mark);
  if (at == std::string_view::npos) return std::nullopt;
  const auto rest = text.substr(at + mark.size());
  const auto end = rest.find_first_not_of("0123456789");
  return parse_number<int>(rest.substr(0, end));
}

// "Graphics SM Warp Exception on (GPC 2, TPC 1, SM 0): ..."
void read_unit(std::string_view text, DecodedRecord& decoded) {
  const auto begin = text.rfind("(GPC ");
  if (begin == std::string_view::npos) return;
  const auto unit = text.substr(begin, text.find(')', begin) - begin);
  decoded.gpc = number_after(unit, "GPC ");
  decoded.tpc = number_after(unit, "TPC ");
  decoded.sm = number_after(unit, "SM ");
}

// The numbers in the last parentheses: "(0x1, 0x2)" or "(0x1 0x2)".
struct Registers {
  std::vector<std::uint32_t> values;
  std::string_view front;  // the text before them; the whole text if there are none
  bool is_whole = false;   // the closing parenthesis exists
};

// In a cut line the last number counts only with all of its eight digits.
bool may_be_cut(std::string_view word) {
  constexpr std::size_t kAllDigits = 10;
  return word.size() < kAllDigits;
}

Registers last_registers(std::string_view text) {
  constexpr std::size_t kMost = 16;
  Registers registers;
  registers.front = text;
  const auto begin = text.rfind('(');
  if (begin == std::string_view::npos) return registers;
  const auto end = std::min(text.find(')', begin), text.size());
  registers.is_whole = end < text.size();
  std::string_view inside = text.substr(begin + 1, end - begin - 1);
  while (!inside.empty() && registers.values.size() < kMost) {
    const auto stop = inside.find_first_of(", ");
    const auto word = inside.substr(0, stop);
    if (stop == std::string_view::npos && !registers.is_whole && may_be_cut(word)) break;
    if (!word.empty()) {
      const auto value = word.starts_with("0x") ? parse_hex<std::uint32_t>(word) : std::nullopt;
      if (!value && !registers.is_whole) break;
      if (!value) return {.front = text};
      registers.values.push_back(*value);
    }
    inside.remove_prefix(stop == std::string_view::npos ? inside.size() : stop + 1);
  }
  registers.front = trim(text.substr(0, begin));
  return registers;
}

std::optional<int> link_number(std::string_view word) {
  const auto number = parse_number<int>(word);
  return number && *number >= 0 ? number : std::nullopt;
}

// Xid 74: "NVLink: fatal error detected on link 14(0x.., ...)"
void read_nvlink(std::string_view text, DecodedRecord& decoded) {
  const Registers registers = last_registers(text);
  decoded.is_cut = !ends_as_whole(text);
  if (decoded.is_cut && registers.values.empty()) return;
  constexpr std::string_view kMark = "link ";
  const auto at = registers.front.rfind(kMark);
  if (at == std::string_view::npos) return;
  NvLinkDetail detail;
  detail.registers = registers.values;
  detail.link = link_number(registers.front.substr(at + kMark.size()));
  if (!detail.link) return;
  if (registers.front.find("fatal") != std::string_view::npos) detail.severity = "fatal";
  decoded.nvlink = std::move(detail);
}

// Xid 144 to 150: "RLW_SRC_TRACK Nonfatal XC1 i0 Link 10 (0xINTRINFO 0xSTATUS ...)". The first two numbers
// suffice, also in a cut line.
void read_nvlink5(std::string_view text, DecodedRecord& decoded) {
  Registers registers = last_registers(text);
  if (registers.values.size() < 2) {
    decoded.is_cut = !ends_as_whole(text);
    return;
  }
  NvLinkDetail detail;
  detail.registers = std::move(registers.values);
  auto words = split_words(registers.front);
  if (words.size() >= 2 && words[words.size() - 2] == "Link") {
    detail.link = link_number(words.back());
    words.resize(words.size() - 2);
  }
  bool is_injected = false;
  if (!words.empty() && words.back().size() == 2 && words.back().front() == 'i') {
    is_injected = words.back() == "i1";
    words.pop_back();
  }
  if (!words.empty() && words.back().starts_with("XC")) words.pop_back();
  if (!words.empty() && to_lower(words.back()).ends_with("fatal")) {
    detail.severity = words.back();
    words.pop_back();
  }
  for (const auto word : words)
    detail.unit += (detail.unit.empty() ? "" : " ") + std::string(word);
  detail.status = detail.registers[1];
  decoded.injected = decoded.injected || is_injected;
  decoded.nvlink = std::move(detail);
}

// Reads the text behind "<code>, " of an Xid line into `decoded`, whose code is set: pid, process, text, and
// details of certain codes. Skips missing or malformed parts.
void read_xid_body(std::string_view body, DecodedRecord& decoded) {
  const std::string_view text = read_cause(read_process(body, decoded), decoded);
  decoded.text = trim(text);
  read_advice(text, decoded);
  switch (decoded.code.value_or(0)) {
    case 13:
      read_unit(text, decoded);
      break;
    case 74:
      read_nvlink(text, decoded);
      break;
    case 144:
    case 145:
    case 146:
    case 147:
    case 148:
    case 149:
    case 150:
      read_nvlink5(text, decoded);
      break;
    case 154:
      read_recovery(text, decoded);
      decoded.is_cut = is_cut_recovery(text, decoded);
      break;
    default:
      break;
  }
}

constexpr std::string_view kDriver = "NVRM: ";
constexpr std::string_view kSwitch = "nvidia-nvswitch";
constexpr std::string_view kProbed = ": probe with driver nvidia ";
constexpr std::string_view kTrace = "nvidia_dev_xid: ";
constexpr std::string_view kSwitchTrace = "nvswitch_dev_sxid: ";

// Removes "<address>): <code>" from the front of the text behind "Xid (". False if it has another form.
bool read_address_and_code(std::string_view& rest, DecodedRecord& decoded) {
  const auto close = rest.substr(0, 64).find("): ");
  if (close == std::string_view::npos) return false;
  std::string_view inside = rest.substr(0, close);
  if (inside.starts_with("PCI:")) inside.remove_prefix(4);
  const auto words = split_words(inside);
  if (words.empty()) return false;
  auto address = canonical_pci_address(words.front());
  if (!address) return false;
  decoded.pci = std::move(*address);
  for (std::size_t index = 1; index < words.size(); ++index) {
    // printed with two decimal digits
    if (words[index].starts_with("GPU-I:")) decoded.gpu_instance = parse_number<int>(words[index].substr(6));
    if (words[index].starts_with("GPU-CI:"))
      decoded.compute_instance = parse_number<int>(words[index].substr(7));
  }
  rest.remove_prefix(close + 3);
  const auto end = rest.find_first_not_of("0123456789");
  const auto code = parse_number<std::uint32_t>(rest.substr(0, end));
  if (!code) return false;
  decoded.code = *code;
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end);
  if (!rest.empty() && rest.front() != ',' && rest.front() != ' ') return false;
  const auto body = rest.find_first_not_of(", ");
  rest = body == std::string_view::npos ? std::string_view{} : rest.substr(body);
  return true;
}

bool read_xid(std::string_view text, DecodedRecord& decoded) {
  if (!text.starts_with("Xid (")) return false;
  text.remove_prefix(5);
  if (!read_address_and_code(text, decoded)) return false;
  decoded.kind = "xid";
  decoded.rule = "xid." + std::to_string(decoded.code.value_or(0));
  read_xid_body(text, decoded);
  return true;
}

// "Severity 1 Engine instance 12 ...": 1 is Fatal; 0 means every other severity, including corrected.
std::string_view severity_of_detail(std::string_view text) {
  return text.starts_with("Severity 1 ") ? "Fatal" : "";
}

// "12028, Non-fatal, Link 32 egress non-posted PRIV error (First)"
bool read_sxid(std::string_view text, DecodedRecord& decoded) {
  if (!text.starts_with("SXid (")) return false;
  text.remove_prefix(6);
  if (!read_address_and_code(text, decoded)) return false;
  decoded.kind = "sxid";
  decoded.rule = "sxid." + std::to_string(decoded.code.value_or(0));
  for (const std::string_view word : {"Fatal", "Non-fatal", "Correctable"}) {
    if (word.starts_with(text)) decoded.is_cut = true;
    if (!text.starts_with(word) || !text.substr(word.size()).starts_with(",")) continue;
    decoded.severity = word;
    text = trim(text.substr(word.size() + 1));
    break;
  }
  decoded.is_detail = text.starts_with("Severity ") || text.starts_with("Data {");
  if (decoded.severity.empty()) decoded.severity = severity_of_detail(text);
  decoded.text = text;
  if (text.starts_with("Link ")) {
    const auto digits = text.substr(5, text.find_first_not_of("0123456789", 5) - 5);
    if (const auto link = parse_number<int>(digits)) {
      decoded.nvlink.emplace();
      decoded.nvlink->link = *link;
    }
  }
  return true;
}

bool read_switch_line(std::string_view text, DecodedRecord& decoded) {
  const auto colon = text.substr(0, 32).find(": ");
  return colon != std::string_view::npos && read_sxid(text.substr(colon + 2), decoded);
}

bool read_line(std::string_view text, DecodedRecord& decoded) {
  if (text.starts_with(kDriver)) {
    text.remove_prefix(kDriver.size());
    return read_xid(text, decoded);
  }
  if (text.starts_with(kSwitch)) return read_switch_line(text, decoded);
  // The driver's trace events, as tracefs prints them.
  if (text.starts_with(kTrace)) return read_xid(text.substr(kTrace.size()), decoded);
  if (text.starts_with(kSwitchTrace)) return read_sxid(text.substr(kSwitchTrace.size()), decoded);
  return read_xid(text, decoded) || read_sxid(text, decoded);
}

}  // namespace

bool may_be_nvidia(std::string_view text) {
  if (text.empty()) return false;
  switch (text.front()) {
    case 'N':
      return text.starts_with(kDriver);
    case 'n':
      // "nvidia 0000:3b:00.0: AER: ..." is written by the kernel about the driver's device.
      if (text.starts_with("nvidia ")) return text.find(kProbed) != std::string_view::npos;
      return text.starts_with("nvidia") || text.starts_with("nvswitch_dev");
    case 'X':
      return text.starts_with("Xid (");
    case 'S':
      return text.starts_with("SXid (");
    default:
      return false;
  }
}

std::optional<DecodedRecord> decode_nvidia(const host::KernelRecord& record) {
  if (!may_be_nvidia(record.text)) return std::nullopt;
  DecodedRecord decoded;
  decoded.injected = record.injected;
  decoded.from_kernel = record.from_kernel();
  decoded.from_user = record.facility != 0;
  decoded.line = record.sequence;
  if (!read_line(record.text, decoded)) return std::nullopt;
  return decoded;
}

}  // namespace autopilot::checks
