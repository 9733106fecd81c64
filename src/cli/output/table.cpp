// SPDX-License-Identifier: Apache-2.0
#include "cli/output/table.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "catalog/action_text.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/node_page.hpp"
#include "cli/output/phrases.hpp"
#include "core/parse.hpp"

namespace autopilot::cli {
namespace {

constexpr std::size_t kCheckColumn = 23;
constexpr std::size_t kHealthColumn = 13;

struct CodePoints {
  char32_t first;
  char32_t last;
};
// Control characters (U+009B starts an escape sequence), invisible characters, and changes of text direction.
constexpr std::array kNotShown{
    CodePoints{0x00, 0x1f},     CodePoints{0x7f, 0x9f},      CodePoints{0xad, 0xad},
    CodePoints{0x61c, 0x61c},   CodePoints{0x180e, 0x180e},  CodePoints{0x200b, 0x200f},
    CodePoints{0x2028, 0x202e}, CodePoints{0x2060, 0x206f},  CodePoints{0xfeff, 0xfeff},
    CodePoints{0xfff9, 0xfffb}, CodePoints{0xe0000, 0xe007f}};

// Length of the valid UTF-8 character that begins with this byte.
std::size_t length_of(char first) {
  const auto byte = static_cast<unsigned char>(first);
  if (byte < 0x80) return 1;
  if (byte < 0xe0) return 2;
  return byte < 0xf0 ? 3 : 4;
}

// character: one valid UTF-8 character.
char32_t code_point_of(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  char32_t point = character.size() == 1 ? first : first & (0x7fU >> character.size());
  for (const char next : character.substr(1))
    point = (point << 6U) | (static_cast<unsigned char>(next) & 0x3fU);
  return point;
}

bool is_shown(char32_t point) {
  return std::ranges::none_of(
      kNotShown, [point](const CodePoints& range) { return range.first <= point && point <= range.last; });
}

// Most messages contain their subject.
std::string with_subject(const Subject& subject, const std::string& message) {
  const std::string name = subject_text(subject);
  if (name.empty() || message.find(subject.key) != std::string::npos) return message;
  return name + ": " + message;
}

template <class Unit>
std::string age(WallTime then, WallTime now) {
  return format_duration(std::chrono::floor<Unit>(now - then));
}

// "for 3h, last seen 20s ago"; empty in the first minute.
std::string times_of(WallTime since, WallTime last_seen, WallTime now) {
  using std::chrono::minutes;
  if (since == WallTime{} || now <= since + minutes{1}) return {};
  std::string text = "for " + age<minutes>(since, now);
  if (last_seen != WallTime{} && last_seen <= now)
    text += ", last seen " +
            (now < last_seen + minutes{1} ? age<std::chrono::seconds>(last_seen, now)
                                          : age<minutes>(last_seen, now)) +
            " ago";
  return text;
}

// " (TIMES; clears WHEN)", without the empty parts.
std::string in_brackets(const std::string& times, const std::string& clears_when) {
  std::string text = times;
  if (!clears_when.empty()) text += (text.empty() ? "clears " : "; clears ") + clears_when;
  return text.empty() ? text : " (" + text + ")";
}

std::string line_of(const Finding& finding, WallTime now) {
  std::string text = with_subject(finding.subject, finding.message);
  if (finding.injected) text += " [injected]";
  if (finding.held) text += " [gone]";
  if (finding.health != Health::unknown)
    text += in_brackets(times_of(finding.since, finding.last_seen, now), finding.clears_when);
  catalog::append_action(text, to_string(finding.action));
  return text;
}

void append_row(std::string& out, std::string_view check, Health health,
                const std::vector<std::string>& texts, const TableStyle& style) {
  out += padded(check, kCheckColumn);
  out += painted(padded(to_string(health), kHealthColumn), color_of(health), style);
  const std::size_t indent = kCheckColumn + kHealthColumn;
  const std::size_t room = std::max<std::size_t>(style.width, 60) - indent;
  bool first = true;
  for (const auto& text : texts) {
    std::string_view mark = texts.size() > 1 ? "- " : "";
    for (const auto& line : wrapped(printable(text), room - mark.size())) {
      if (!first) out.append(indent, ' ');
      out.append(mark).append(line).append("\n");
      if (mark == "- ") mark = "  ";
      first = false;
    }
  }
  if (first) out += "\n";
  // Removes the trailing blanks of a row without text.
  if (const auto end = out.find_last_not_of(" \n");
      texts.empty() && !style.color && end != std::string::npos) {
    out.resize(end + 1);
    out += "\n";
  }
}

std::vector<std::string> texts_of(const CheckResult& result, WallTime now) {
  std::vector<std::string> texts;
  texts.reserve(result.findings.size());
  for (const Finding& finding : result.findings)
    texts.push_back(line_of(finding, now));
  return texts;
}

std::string consequences_of(const Incident& incident) {
  constexpr std::size_t shown = 3;
  std::vector<std::string> words;
  for (const IncidentMember& member : incident.members)
    if (member.sympathetic && words.size() < shown)
      words.push_back(with_subject(member.finding.subject, member.finding.message));
  const auto all =
      std::ranges::count(incident.members, true, &IncidentMember::sympathetic) + incident.further;
  const auto more = all - static_cast<std::int64_t>(words.size());
  std::string text;
  for (const auto& word : words)
    text += (text.empty() ? "secondary findings: " : "; ") + word;
  if (more > 0) text += " and " + std::to_string(more) + " more";
  return text;
}

std::string gpu_users_of(const Incident& incident) {
  constexpr std::size_t shown = 3;
  std::vector<std::string> words;
  for (const GpuUser& gpu_user : incident.gpu_users)
    if (words.size() < shown) words.push_back(to_string(gpu_user));
  if (words.empty()) return {};
  const std::size_t more = incident.gpu_users.size() - words.size();
  return "used by: " + joined(words) + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

WallTime last_seen(const Incident& incident) {
  WallTime latest{};
  for (const IncidentMember& member : incident.members)
    latest = std::max(latest, member.finding.last_seen);
  return latest;
}

// Clear condition of the cause; empty if it has cleared.
std::string clears_when(const Incident& incident) {
  const auto cause = std::ranges::find(incident.members, false, &IncidentMember::sympathetic);
  return cause == incident.members.end() || cause->cleared ? "" : cause->finding.clears_when;
}

std::vector<std::string> texts_of(const Incident& incident, WallTime now) {
  std::string first = with_subject(incident.blamed, incident.summary);
  if (incident.injected) first += " [injected]";
  first += " [" + std::string(to_string(incident.state)) + (incident.acknowledged ? ", acknowledged]" : "]");
  first += in_brackets(times_of(incident.opened, last_seen(incident), now), clears_when(incident));
  catalog::append_action(first, to_string(incident.action));
  std::vector<std::string> texts{std::move(first)};
  if (incident.end) texts.push_back(std::string(to_string(*incident.end)) + ": " + incident.because);
  if (auto text = consequences_of(incident); !text.empty()) texts.push_back(std::move(text));
  if (auto text = gpu_users_of(incident); !text.empty()) texts.push_back(std::move(text));
  return texts;
}

std::string headline(const NodeSnapshot& snapshot, const TableStyle& style) {
  std::string text = painted(printable(snapshot.node), "\033[1m", style) + "  ";
  text += painted(to_string(snapshot.health), color_of(snapshot.health), style);
  if (snapshot.verdict != Verdict::none) text += "  verdict " + std::string(to_string(snapshot.verdict));
  if (snapshot.simulated) text += "  " + simulated_word(style);
  return text + "  " + format_time(snapshot.time) + "\n";
}

// Kernel records that no check has read; the table may be incomplete.
std::string losses_of(const SelfStatus& self) {
  std::string text;
  if (self.kernel_records_lost > 0)
    text = std::to_string(self.kernel_records_lost) + " records were overwritten before they were read";
  if (self.kernel_records_missed > 0)
    text += (text.empty() ? "" : "; ") + std::to_string(self.kernel_records_missed) +
            " records exceeded the capacity of the checks";
  return text;
}

std::string coverage_lines(const NodeSnapshot& snapshot, std::size_t width) {
  const Coverage& coverage = snapshot.coverage;
  const auto not_started = std::ranges::count_if(snapshot.results, is_not_started);
  const auto unsupported =
      std::ranges::count(snapshot.results, Health::unsupported, &CheckResult::health) - not_started;
  std::string text = std::to_string(coverage.looked) + " of " + std::to_string(coverage.of) + " checks ran";
  const std::string others =
      without_result_text(static_cast<std::size_t>(unsupported), static_cast<std::size_t>(not_started));
  if (!others.empty()) text += " (" + others + ")";
  if (!coverage.missing_rights.empty()) text += "; missing permissions: " + joined(coverage.missing_rights);
  std::string lines;
  for (const std::string& line : wrapped(text, width))
    lines += line + "\n";
  return lines;
}

void append_note(std::string& out, std::string_view title, const std::string& text, const TableStyle& style) {
  if (text.empty()) return;
  out.append("\n").append(title);
  bool first = true;
  for (const auto& line : wrapped(printable(text), std::max<std::size_t>(style.width, 60) - title.size())) {
    if (!std::exchange(first, false)) out.append(title.size(), ' ');
    out.append(line).append("\n");
  }
}

}  // namespace

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words)
    text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string printable(std::string_view text) {
  const std::string valid = to_utf8(text);
  std::string_view rest = valid;
  std::string clean;
  clean.reserve(valid.size());
  while (!rest.empty()) {
    const std::string_view character = rest.substr(0, length_of(rest.front()));
    if (is_shown(code_point_of(character)))
      clean += character;
    else
      clean += '?';
    rest.remove_prefix(character.size());
  }
  return clean;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  for (std::string_view word : split_words(text)) {
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      lines.push_back(std::move(line));
      line.clear();
    }
    while (word.size() > width) {
      lines.emplace_back(word.substr(0, width));
      word.remove_prefix(width);
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string render_node(const NodeSnapshot& snapshot, const TableStyle& style) {
  std::string out = headline(snapshot, style);
  out += coverage_lines(snapshot, style.width);
  out += "\n" + padded("CHECK", kCheckColumn) + padded("HEALTH", kHealthColumn) + "MESSAGE\n";
  for (const CheckResult& result : snapshot.results)
    append_row(out, result.check, result.health, texts_of(result, snapshot.time), style);
  if (!snapshot.incidents.empty()) {
    out += "\nINCIDENTS\n";
    for (const Incident& incident : snapshot.incidents)
      append_row(out, incident.id, incident.health, texts_of(incident, snapshot.time), style);
  }
  append_note(out, "KERNEL LOG  ", losses_of(snapshot.self), style);
  append_note(out, "JOURNAL  ", snapshot.self.journal_problem, style);
  return out;
}

}  // namespace autopilot::cli
