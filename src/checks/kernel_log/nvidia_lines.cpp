// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/nvidia_lines.hpp"

#include <string>
#include <utility>

#include "checks/kernel_log/xid_body.hpp"
#include "core/parse.hpp"
#include "core/subject.hpp"

namespace autopilot::checks {
namespace {

constexpr std::string_view kDriver = "NVRM: ";
constexpr std::string_view kSwitch = "nvidia-nvswitch";
constexpr std::string_view kProbed = ": probe with driver nvidia ";
constexpr std::string_view kTrace = "nvidia_dev_xid: ";
constexpr std::string_view kSwitchTrace = "nvswitch_dev_sxid: ";

// Takes "<address>): <code>" off the front of what follows "Xid (". False when it is not of that form.
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
    // Written with two decimal digits.
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

// "Severity 1 Engine instance 12 ...": the driver's number of Fatal. 0 is that of all others, corrected ones
// among them.
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
      // "nvidia 0000:3b:00.0: AER: ..." is the kernel's, about the device that the driver has.
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
