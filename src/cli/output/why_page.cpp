// SPDX-License-Identifier: Apache-2.0
#include "cli/output/why_page.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/output/layout.hpp"
#include "cli/output/phrases.hpp"
#include "core/text.hpp"
#include "incidents/evidence.hpp"

namespace autopilot::cli {
namespace {

using why::Certainty;
using why::Evidence;
using why::FoundCause;

constexpr std::size_t kWhyLabelWidth = 10;
constexpr std::size_t kClockBegin = 11;  // of "2026-01-15T08:00:30.000Z"
constexpr std::size_t kClockLength = 8;
constexpr std::size_t kDateLength = 10;
constexpr std::size_t kMostOthers = 4;
constexpr std::size_t kMostOrdered = 6;
constexpr std::size_t kMostSeen = 3;

using Lines = std::vector<std::string>;

// At most `most` lines; the last one ends with an ellipsis if the text is longer.
Lines cut_lines(Lines lines, std::size_t most) {
  if (lines.size() <= most) return lines;
  lines.resize(most);
  std::string& last = lines.back();
  if (last.size() > 4) last = std::string(cut_utf8(last, last.size() - 4));
  last += " ...";
  return lines;
}

// One paragraph beside its label.
Lines paragraph(std::string_view label, std::string_view text, std::size_t most, const TableStyle& style) {
  Lines lines;
  if (text.empty()) return lines;
  for (const std::string& line : cut_lines(wrapped(printable(text), style.width - kWhyLabelWidth), most))
    lines.push_back(padded(lines.empty() ? label : "", kWhyLabelWidth) + line);
  return lines;
}

void append(Lines& all, Lines more) {
  std::ranges::move(more, std::back_inserter(all));
}

std::string clock_text(WallTime time) {
  return format_time(time).substr(kClockBegin, kClockLength);
}

// "05:00:12", with the date if it is not that of `now`.
std::string time_text(WallTime time, WallTime now) {
  const std::string date = format_time(time).substr(0, kDateLength);
  const bool is_today = date == format_time(now).substr(0, kDateLength);
  return (is_today ? "" : date + " ") + clock_text(time);
}

std::string boot_text(const Evidence& evidence) {
  if (evidence.boots_ago == 0) return {};
  return evidence.boots_ago == 1 ? "previous boot" : std::to_string(evidence.boots_ago) + " boots ago";
}

std::string when_text(const Evidence& evidence, WallTime now) {
  const Finding& finding = evidence.finding;
  std::string text;
  if (finding.since == WallTime{}) {
    text = evidence.holds_now ? "now; since when is not known" : "the time is not known";
  } else {
    const WallTime last = std::max(finding.since, finding.last_seen);
    text = age_of(last, now) + " ago (" + time_text(last, now) + " UTC)";
    if (why::count_of(evidence) > 1)
      text +=
          ", " + std::to_string(why::count_of(evidence)) + " records since " + time_text(finding.since, now);
    if (evidence.holds_now) text += ", and it holds now";
  }
  if (const std::string boot = boot_text(evidence); !boot.empty()) text += ", in the " + boot;
  return text;
}

// A subject that the sentence does not name precedes it.
std::string what_text(const Evidence& evidence) {
  const std::string subject = subject_text(evidence.finding.subject);
  std::string text = evidence.finding.message;
  const std::string key = evidence.finding.subject.key;
  if (!subject.empty() && text.find(key) == std::string::npos) text = subject + ": " + text;
  const std::int64_t pid = why::pid_of(evidence);
  if (pid != 0 && text.find(std::to_string(pid)) == std::string::npos) {
    const std::string process = why::process_of(evidence);
    text += (text.ends_with('.') ? " Process: " : "; process: ") +
            (process.empty() ? std::string() : process + " ") + "(" + std::to_string(pid) + ")";
  }
  if (evidence.finding.injected) text += " [injected]";
  return text;
}

std::string certainty_text(const FoundCause& cause) {
  std::string text(to_string(cause.certainty));
  if (cause.end == FaultEnd::application) text += "; the program is at fault, not the machine";
  if (cause.end == FaultEnd::hardware) text += "; the hardware is at fault, not the program";
  return text;
}

// The sentence of joined records is that of the newest one.
std::string short_line(const Evidence& evidence, WallTime now) {
  const WallTime since = evidence.finding.since;
  if (since == WallTime{}) return "now  " + what_text(evidence);
  const WallTime last = why::last_of(evidence);
  const std::int64_t count = why::count_of(evidence);
  const std::string times =
      count > 1 ? std::to_string(count) + " times since " + time_text(since, last) + ": " : std::string();
  return time_text(last, now) + "  " + times + what_text(evidence);
}

// With the first time.
std::string order_line(const Evidence& evidence, WallTime now) {
  const WallTime since = evidence.finding.since;
  const std::int64_t count = why::count_of(evidence);
  const std::string times = count > 1 ? std::to_string(count) + " times until " +
                                            time_text(why::last_of(evidence), since) + ", last: "
                                      : std::string();
  return time_text(since, now) + "  " + times + what_text(evidence);
}

// A list with at most `most` lines, one for each text.
Lines list_of(std::string_view label, std::vector<std::string> texts, std::size_t most,
              const TableStyle& style) {
  Lines lines;
  if (most == 0) return lines;
  const bool is_cut = texts.size() > most;
  const std::size_t shown = is_cut ? most - 1 : texts.size();
  for (std::size_t i = 0; i < shown; ++i)
    append(lines, paragraph(lines.empty() ? label : "", texts[i], 1, style));
  if (is_cut)
    append(lines, paragraph(lines.empty() ? label : "",
                            std::to_string(texts.size() - shown) + " more: autopilot why -o json", 1, style));
  return lines;
}

Lines heading(const why::Report& report, const TableStyle& style) {
  std::string text = report.target.is_machine() ? report.node + ": what went wrong"
                                                : report.node + ": what ended or stops " + report.target_text;
  if (report.since != WallTime{}) text += ", since " + time_text(report.since, report.now) + " UTC";
  Lines lines = cut_lines(wrapped(printable(text), style.width - 10), 2);
  if (report.is_simulated) lines.front() += "  " + simulated_word(style);
  lines.emplace_back();
  return lines;
}

// What was to be done in an earlier boot need not be done now.
std::string advice_text(const FoundCause& cause, const catalog::Catalog& facts) {
  const std::string advice = advice_on(cause.main, facts);
  if (advice.empty() || !cause.still_holds) return advice;
  if (*cause.still_holds) return "Still reported now: " + advice;
  return "Not reported in this boot. If it returns: " + advice;
}

Lines cause_lines(const why::Report& report, const catalog::Catalog& facts, const TableStyle& style) {
  const FoundCause& cause = report.explanation.causes.front();
  const std::string next = next_command(cause.main, facts);
  Lines lines = paragraph("CAUSE", what_text(cause.main), 3, style);
  append(lines, paragraph("Certainty", certainty_text(cause), 1, style));
  append(lines, paragraph("When", when_text(cause.main, report.now), 2, style));
  append(lines, paragraph("Because", cause.grounds, 2, style));
  append(lines, paragraph("Do", advice_text(cause, facts), 3, style));
  append(lines, paragraph("Next", next, 1, style));
  return lines;
}

Lines no_cause_lines(const why::Report& report, const TableStyle& style) {
  const bool is_whole = std::ranges::all_of(report.sources, &std::string::empty, &why::Source::problem);
  const std::string what =
      report.target.is_machine()
          ? "No cause found: nothing that was read shows an error."
          : "No cause found: nothing that was read names " + report.target.text + " or a device it used.";
  Lines lines = paragraph("CAUSE", what, 2, style);
  if (!is_whole) append(lines, paragraph("", "Not everything could be read; see NOT READ.", 1, style));
  if (report.target.is_machine())
    append(lines, paragraph("Next", "autopilot why --since 7d", 1, style));
  else
    append(lines, paragraph("Next", "read the last lines that the program itself printed", 1, style));
  return lines;
}

std::vector<std::string> other_texts(const why::Report& report) {
  std::vector<std::string> texts;
  const auto& causes = report.explanation.causes;
  for (std::size_t i = 1; i < causes.size(); ++i)
    texts.push_back(std::string(to_string(causes[i].certainty)) + "  " +
                    short_line(causes[i].main, report.now));
  return texts;
}

using LineOf = std::string (*)(const Evidence& evidence, WallTime now);

std::vector<std::string> texts_of(const std::vector<Evidence>& evidence, WallTime now, LineOf line_of) {
  std::vector<std::string> texts;
  for (const Evidence& one : evidence)
    texts.push_back(line_of(one, now));
  return texts;
}

// Only if it shows more than the cause itself.
std::vector<std::string> order_texts(const why::Report& report) {
  if (report.explanation.order.size() < 2) return {};
  return texts_of(report.explanation.order, report.now, &order_line);
}

// What to do to read more, each once.
std::string remedies_of(const why::Report& report) {
  std::vector<std::string> remedies;
  for (const why::Source& source : report.sources)
    if (!source.remedy.empty() && std::ranges::find(remedies, source.remedy) == remedies.end())
      remedies.push_back(source.remedy);
  return remedies.empty() ? std::string() : "To read more, " + joined(remedies);
}

Lines source_lines(const why::Report& report, const TableStyle& style) {
  std::string read;
  std::vector<std::string> not_read;
  for (const why::Source& source : report.sources) {
    if (source.problem.empty())
      read += (read.empty() ? "" : ", ") + source.name +
              (source.detail.empty() ? "" : " (" + source.detail + ")");
    else
      not_read.push_back(source.name + ": " + source.problem);
  }
  Lines lines = paragraph("READ", read, 2, style);
  append(lines, list_of("NOT READ", std::move(not_read), 3, style));
  append(lines, paragraph("", remedies_of(report), 1, style));
  return lines;
}

// Shares the lines that the cause and the sources leave.
Lines middle_lines(const why::Report& report, std::size_t room, const TableStyle& style) {
  auto others = other_texts(report);
  auto order = order_texts(report);
  auto seen = texts_of(report.explanation.seen, report.now, &short_line);
  const std::size_t for_seen = std::min({seen.size(), kMostSeen, std::max<std::size_t>(1, room / 4)});
  const std::size_t left = room - std::min(room, for_seen);
  const std::size_t for_others = std::min({others.size(), kMostOthers, (left + 1) / 2});
  const std::size_t for_order = std::min({order.size(), kMostOrdered, left - for_others});
  Lines lines = list_of("ALSO", std::move(others), for_others, style);
  append(lines, list_of("IN ORDER", std::move(order), for_order, style));
  append(lines, list_of("SEEN", std::move(seen), for_seen, style));
  return lines;
}

}  // namespace

std::string render_why(const why::Report& report, const catalog::Catalog& facts, const TableStyle& style) {
  Lines lines = heading(report, style);
  append(lines, report.explanation.causes.empty() ? no_cause_lines(report, style)
                                                  : cause_lines(report, facts, style));
  const Lines sources = source_lines(report, style);
  const std::size_t used = lines.size() + sources.size();
  append(lines, middle_lines(report, kWhyPageLines - std::min(kWhyPageLines, used), style));
  append(lines, sources);
  std::string text;
  for (const std::string& line : lines)
    text += line + "\n";
  return text;
}

}  // namespace autopilot::cli
