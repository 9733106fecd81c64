// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/text_forms.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/parse.hpp"
#include "host/kernel_log/kmsg_source.hpp"
#include "host/kernel_log/text_blocks.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kKernelTag = "kernel";

// The tag before a text in syslog: "tag[pid]: ".
struct Tag {
  std::string_view name;
  bool has_pid = false;
  std::string_view behind;  // the text after the tag
};

// A name with which the kernel's text may begin and that no program has.
bool is_subsystem(std::string_view name) {
  return name == "NVRM" || name.starts_with("nvidia-nvswitch");
}

std::optional<Tag> tag_at(std::string_view text) {
  constexpr std::size_t kMaxTag = 128;
  const auto colon = text.substr(0, kMaxTag).find_first_of(": ");
  if (colon == std::string_view::npos || colon == 0 || text[colon] != ':') return std::nullopt;
  Tag tag{text.substr(0, colon), false, text.substr(colon + 1)};
  // Old syslog daemons write no blank before the kernel's text.
  const bool is_kernels = tag.name == kKernelTag;
  if (!tag.behind.empty() && tag.behind.front() != ' ' && !is_kernels) return std::nullopt;
  if (tag.behind.starts_with(' ')) tag.behind.remove_prefix(1);
  const auto bracket = tag.name.find('[');
  if (bracket == 0) return std::nullopt;
  if (bracket != std::string_view::npos && tag.name.ends_with(']')) {
    tag.has_pid =
        parse_number<std::uint64_t>(tag.name.substr(bracket + 1, tag.name.size() - bracket - 2)).has_value();
    if (tag.has_pid) tag.name = tag.name.substr(0, bracket);
  }
  return tag;
}

// Kernel messages about a process begin with its name and id, like a row of the program itself.
bool is_about_process(std::string_view text) {
  constexpr std::array<std::string_view, 6> kBeginnings{
      "segfault at ", "bad frame ", "unhandled ", "potentially unexpected ", "trap ", "general protection"};
  return std::ranges::any_of(kBeginnings, [text](std::string_view one) { return text.starts_with(one); });
}

// RFC 5424 after the program name: "procid msgid [data] message"; the kernel has no procid.
bool take_structured_data(std::string_view& text, TextRow& row) {
  std::string_view rest = text;
  const auto procid_end = rest.find(' ');
  if (procid_end == std::string_view::npos) return false;
  const auto procid = rest.substr(0, procid_end);
  rest.remove_prefix(procid_end + 1);
  const auto id_end = rest.find(' ');
  if (id_end == std::string_view::npos) return false;
  rest.remove_prefix(id_end + 1);
  if (rest.starts_with("- ")) {
    rest.remove_prefix(2);
  } else if (rest.starts_with('[')) {
    const auto end = rest.find("] ");
    if (end == std::string_view::npos) return false;
    rest.remove_prefix(end + 2);
  } else {
    return false;
  }
  if (procid != "-") row.is_kernel = false;
  text = rest;
  return true;
}

std::string_view take_word(std::string_view& text) {
  const auto end = std::min(text.find(' '), text.size());
  const auto word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

// "host kernel - - - text"
bool take_rfc5424_writer(std::string_view& text, TextRow& row) {
  std::string_view rest = text;
  (void)take_word(rest);
  const auto program = take_word(rest);
  if (program.ends_with(':') || !take_structured_data(rest, row)) return false;
  row.is_kernel = row.is_kernel && program == kKernelTag;
  text = rest;
  return true;
}

// "kern.err " of busybox and OpenWrt. A program's tag may begin with the same words, so they do not prove
// that the kernel wrote the row.
void take_dotted_priority(std::string_view& text, TextRow& row) {
  std::string_view rest = text;
  const auto word = take_word(rest);
  const auto dot = word.find('.');
  TextRow named;
  if (dot == std::string_view::npos || word.ends_with(':')) return;
  if (!set_priority(word.substr(0, dot), word.substr(dot + 1), named)) return;
  row.priority = named.priority;
  if (named.facility != 0) row.facility = named.facility;
  text = rest;
}

void take_tag(const Tag& tag, std::string_view& text, TextRow& row) {
  constexpr std::string_view kAgain = "kernel: ";  // a collector adds its own tag
  row.is_kernel = tag.name == kKernelTag && !tag.has_pid;
  text = tag.behind;
  if (!row.is_kernel) return;
  if (text.starts_with(kAgain)) text.remove_prefix(kAgain.size());
  (void)take_seconds_since_boot(text, row);
}

// After a wall-clock timestamp: "host kernel: ", or without the host. False if no writer is named: such a row
// is not the kernel's unless its own timestamp or subsystem follows.
bool take_log_writer(std::string_view& text, TextRow& row) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  take_dotted_priority(text, row);
  auto tag = tag_at(text);
  std::string_view behind_host = text;
  if (!tag) {
    (void)take_word(behind_host);
    behind_host.remove_prefix(std::min(behind_host.find_first_not_of(' '), behind_host.size()));
    take_dotted_priority(behind_host, row);
    tag = tag_at(behind_host);
  }
  if (begins_with_level(text)) {
    row.is_kernel = false;
    return true;
  }
  if (tag && is_subsystem(tag->name)) return text.data() == behind_host.data();
  if (tag) {
    take_tag(*tag, text, row);
    return true;
  }
  if (take_seconds_since_boot(behind_host, row)) {
    text = behind_host;
    return true;
  }
  if (take_rfc5424_writer(text, row)) return true;
  row.is_kernel = false;
  return false;
}

// After a time since boot, or without one: the journal names host and program there, dmesg does not. True if
// a writer is named.
bool take_ring_writer(std::string_view& text, std::string_view known_host, TextRow& row) {
  // "[error] " of a program that prints such timestamps.
  if (!row.facility && text.starts_with('[') && begins_with_level(text)) {
    row.is_kernel = false;
    return true;
  }
  const auto own = tag_at(text);
  std::string_view rest = text;
  const auto host = own ? std::string_view{} : take_word(rest);
  const auto tag = own ? own : tag_at(rest);
  if (!tag) return false;
  const bool is_kernels = tag->name == kKernelTag && !tag->has_pid;
  const bool is_about_own_process = own && is_about_process(tag->behind);
  const bool is_of_host = !host.empty() && host == known_host;
  const bool is_programs = is_of_host || (tag->has_pid && !is_about_own_process);
  // A facility is stronger evidence than a tag.
  if (!is_kernels && (row.facility || !is_programs)) return false;
  row.host = host;
  take_tag(*tag, text, row);
  return true;
}

// "2750.000123: nvidia_dev_xid: Xid ..." after the flags of a row of /sys/kernel/tracing/trace:
// "kworker/0:1-123 [001] d..1. 2750.000123: ...".
std::optional<TextRow> parse_trace(std::string_view line) {
  const auto open = line.substr(0, 64).find(" [");
  if (open == std::string_view::npos || !looks_like(line.substr(open), " [000] ")) return std::nullopt;
  auto rest = trim(line.substr(open + 7));
  (void)take_word(rest);
  rest = trim(rest);
  const auto colon = rest.find(": ");
  if (colon == std::string_view::npos) return std::nullopt;
  TextRow row;
  row.form = TextRow::Form::trace;
  std::string time = "[" + std::string(rest.substr(0, colon)) + "]";
  std::string_view stamp = time;
  if (!take_seconds_since_boot(stamp, row)) return std::nullopt;
  row.text = rest.substr(colon + 2);
  return row;
}

std::optional<TextRow> parse_kmsg(std::string_view line) {
  if (line.empty() || line.front() < '0' || line.front() > '9') return std::nullopt;
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

// Removes consecutive timestamps: collectors and consoles add theirs before the kernel's. The last one
// determines whether a writer follows.
StampKind take_stamps(std::string_view& text, TextRow& row) {
  constexpr int kMost = 4;
  auto last = StampKind::none;
  for (int count = 0; count < kMost; ++count) {
    const auto kind = take_stamp(text, row);
    if (kind == StampKind::none) return last;
    last = kind;
  }
  return last;
}

// Parses a row with all prefixes of its text.
TextRow parse_stamped(std::string_view text, std::string_view host) {
  TextRow row;
  const bool is_talos = take_talos_priority(text, row);
  const bool has_priority = is_talos || take_priority(text, row);
  if (text.starts_with("1 ") && looks_like(text.substr(2), "0000-00-00T")) text.remove_prefix(2);  // RFC 5424
  const auto stamp = take_stamps(text, row);
  if (stamp == StampKind::log && !is_talos) {
    if (take_log_writer(text, row)) row.form = TextRow::Form::syslog;
  } else if (take_ring_writer(text, host, row)) {
    row.form = TextRow::Form::syslog;
  } else if (stamp != StampKind::none || has_priority) {
    row.form = TextRow::Form::dmesg;
  }
  row.text = text;
  return row;
}

bool begins_row(std::string_view text) {
  if (text.empty() || text.front() == ' ') return false;
  if (text.starts_with("{\"") || text.starts_with("kernel: ") || parse_kmsg(text)) return true;
  TextRow row;
  return take_talos_priority(text, row) || take_priority(text, row) ||
         take_stamp(text, row) != StampKind::none;
}

std::optional<TextRow> parse_uncarried(std::string_view line, std::string_view host) {
  for (const auto parse : {parse_kmsg, parse_trace})
    if (auto row = parse(line)) return row;
  if (!is_program_log(line)) return parse_stamped(line, host);
  TextRow row;
  row.form = TextRow::Form::program;
  row.is_kernel = false;
  row.text = line;
  return row;
}

std::optional<TextRow> parse_row_or_json(std::string_view line, std::string_view host) {
  if (!line.starts_with('{')) return parse_uncarried(line, host);
  auto json = parse_json_row(line);
  return json.is_object ? std::move(json.row) : parse_uncarried(line, host);
}

// Removes prefixes of carriers. Text that begins like a row has no carrier, except for the timestamp of a
// container's log.
Carrier take_carriers_of(std::string_view& text) {
  std::string_view rest = text;
  TextRow row;
  if (take_talos_priority(rest, row) || parse_kmsg(text)) return Carrier::none;
  if (text.starts_with('{') || is_program_log(text)) return Carrier::none;
  return take_carriers(text, begins_row);
}

}  // namespace

std::optional<TextRow> parse_text_row(std::string_view line, std::string_view host) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' '))
    line.remove_suffix(1);
  if (line.find_first_not_of(" \t") == std::string_view::npos) return std::nullopt;
  const auto carrier = take_carriers_of(line);
  auto row = parse_row_or_json(line, host);
  if (!row) return row;
  row->is_carried = row->is_carried || carrier != Carrier::none;
  if (carrier == Carrier::container && row->form == TextRow::Form::bare) {
    row->form = TextRow::Form::program;
    row->is_kernel = false;
  }
  return row;
}

}  // namespace autopilot::host
