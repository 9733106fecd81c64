// SPDX-License-Identifier: Apache-2.0
// The layout of the page of one machine.
#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

#include "cli/output/layout.hpp"
#include "cli/output/node_page.hpp"
#include "cli/output/page_gpus.hpp"
#include "cli/output/phrases.hpp"

namespace autopilot::cli {
namespace {

using PageLines = std::vector<std::string>;

constexpr std::string_view kDim = "\033[2m";
constexpr std::string_view kBold = "\033[1m";
constexpr std::size_t kLeastWidth = 40;
constexpr std::size_t kWideWidth = 60;    // from here, the health has a column of its own
constexpr std::size_t kHealthWidth = 10;  // of that column
constexpr std::size_t kMostGpuRows = 16;  // beyond, healthy GPUs are only counted

// How much of the page is folded, from nothing to everything that can be.
enum class Folding : unsigned char { none, gpus, gaps, further_problems, gpu_table, all_but_problems };
constexpr std::array kFoldings{Folding::none,      Folding::gpus,
                               Folding::gaps,      Folding::further_problems,
                               Folding::gpu_table, Folding::all_but_problems};

std::size_t page_width(const PageView& view) {
  return std::max(view.width, kLeastWidth);
}

TableStyle style_of(const PageView& view) {
  return {.color = view.color, .width = page_width(view)};
}

void append_lines(PageLines& all, PageLines more) {
  std::ranges::move(more, std::back_inserter(all));
}

// Lines beside the health: in a column of its own, or before the text if the page is narrow.
class HealthRow {
 public:
  HealthRow(std::string_view label, std::string_view color, const PageView& view)
      : label_(label), color_(color), view_(view), is_wide_(page_width(view) >= kWideWidth) {}

  [[nodiscard]] std::size_t room() const { return page_width(view_) - indent(); }

  void add(const std::string& text, std::string_view color = {}) {
    std::string whole = text;
    if (!is_wide_ && lines_.empty()) whole = label_ + ": " + whole;
    for (const std::string& line : wrapped(whole, room()))
      push(line, color);
  }
  // One line; what does not fit is cut.
  void add_cut(const std::string& text) {
    const bool has_label = !is_wide_ && lines_.empty();
    push(cut_text(has_label ? label_ + ": " + text : text, room()), {});
  }
  // Behind the last line if it fits there.
  void add_suffix(const std::string& text, std::string_view color) {
    if (!lines_.empty() && last_ + 2 + text.size() <= page_width(view_)) {
      lines_.back() += "  " + painted(text, color, style_of(view_));
      return;
    }
    add(text, color);
  }
  [[nodiscard]] PageLines take() { return std::move(lines_); }

 private:
  [[nodiscard]] std::size_t indent() const { return is_wide_ ? kHealthWidth : 2; }

  void push(const std::string& line, std::string_view color) {
    std::string before(indent(), ' ');
    std::string after = painted(line, color, style_of(view_));
    if (lines_.empty() && is_wide_) before = painted(padded(label_, kHealthWidth), color_, style_of(view_));
    if (lines_.empty() && !is_wide_ && line.starts_with(label_)) {
      before.clear();
      after = painted(label_, color_, style_of(view_)) + line.substr(label_.size());
    }
    last_ = indent() + line.size();
    lines_.push_back(before + after);
  }

  std::string label_;
  std::string_view color_;
  const PageView& view_;
  bool is_wide_;
  PageLines lines_;
  std::size_t last_ = 0;
};

HealthRow row_of(const PageProblem& problem, const PageView& view) {
  const bool is_notice = problem.health == Health::healthy;
  return {is_notice ? "notice" : to_string(problem.health), is_notice ? kDim : color_of(problem.health),
          view};
}

std::string with_full_stop(std::string text) {
  if (!text.empty() && std::string_view(".!?").find(text.back()) == std::string_view::npos) text += '.';
  return text;
}

// "open until the machine reboots"
std::string open_until(const std::string& clears_when) {
  constexpr std::string_view kWhen = "when ";
  if (clears_when.empty()) return "still open";
  if (clears_when.starts_with(kWhen)) return "open until " + clears_when.substr(kWhen.size());
  return "closes " + clears_when;
}

std::string times_of(const PageProblem& problem, WallTime now) {
  std::string text;
  // A run of checks without an agent has just seen everything for the first time.
  constexpr Duration kLeastAge = std::chrono::seconds{10};
  if (problem.since != WallTime{} && now - problem.since >= kLeastAge)
    text = " For " + age_of(problem.since, now) + ".";
  if (problem.gone)
    text += " Not seen since " + clock_of(*problem.gone, now) + "; " + open_until(problem.clears_when) + ".";
  return text;
}

// "(explain: xid 79; ack: dd90c519-1)"
std::string ids_of(const PageProblem& problem) {
  std::string text;
  if (!problem.explain.empty()) text = "explain: " + problem.explain;
  if (!problem.incident.empty()) text += (text.empty() ? "ack: " : "; ack: ") + problem.incident;
  return text.empty() ? text : "(" + text + ")";
}

PageLines problem_lines(const PageProblem& problem, const PageView& view) {
  HealthRow row = row_of(problem, view);
  row.add(printable(with_full_stop(problem.text) + times_of(problem, view.now)));
  for (const std::string& note : problem.notes)
    row.add(printable(note));
  if (!problem.advice.empty()) row.add(printable("What to do: " + problem.advice), kBold);
  if (!problem.command.empty()) row.add("Command: " + problem.command, kBold);
  if (const std::string ids = ids_of(problem); !ids.empty()) row.add_suffix(printable(ids), kDim);
  return row.take();
}

PageLines brief_lines(const PageProblem& problem, const PageView& view) {
  HealthRow row = row_of(problem, view);
  row.add_cut(printable(problem.brief));
  return row.take();
}

// "gpu.xid, host.kernel, and 4 more"
std::string first_of(const std::vector<std::string>& checks) {
  constexpr std::size_t kMostGapChecks = 8;
  if (checks.size() <= kMostGapChecks) return joined(checks);
  const std::vector<std::string> shown(checks.begin(), checks.begin() + kMostGapChecks);
  return joined(shown) + ", and " + std::to_string(checks.size() - kMostGapChecks) + " more";
}

PageLines gap_lines(const PageGap& gap, const PageView& view) {
  HealthRow row("unknown", color_of(Health::unknown), view);
  const std::string checks = first_of(gap.checks);
  row.add(printable(gap.is_permission ? gap.cause + ": " + checks + "; autopilot doctor shows how to get it"
                                      : checks + ": " + gap.cause));
  return row.take();
}

PageLines gaps_lines(const NodePage& page, const PageView& view, Folding folding) {
  PageLines lines;
  std::size_t folded = 0;
  for (const PageGap& gap : page.gaps) {
    if (folding < Folding::gaps || gap.is_required)
      append_lines(lines, gap_lines(gap, view));
    else
      folded += gap.checks.size();
  }
  if (folded == 0) return lines;
  HealthRow row("unknown", color_of(Health::unknown), view);
  row.add_cut(count_words(folded, "check", "checks") + " could not run (" + view.more + ")");
  append_lines(lines, row.take());
  return lines;
}

PageLines gpu_lines(const NodePage& page, const PageView& view, Folding folding) {
  if (page.gpus.empty()) return {};
  if (folding < Folding::gpus && page.gpus.size() <= kMostGpuRows)
    return gpu_table(page.gpus, style_of(view));
  std::vector<PageGpu> others;
  std::ranges::copy_if(page.gpus, std::back_inserter(others),
                       [](const PageGpu& gpu) { return gpu.health != Health::healthy; });
  PageLines lines;
  if (!others.empty() && folding < Folding::gpu_table) lines = gpu_table(others, style_of(view));
  if (const std::string text = healthy_gpus_text(page.gpus, !others.empty()); !text.empty())
    append_lines(lines, wrapped(text, page_width(view)));
  return lines;
}

PageLines fold_lines(const NodePage& page, const PageView& view) {
  std::string text;
  const std::size_t healthy = page.healthy.size();
  if (healthy > 0)
    text = (healthy <= kMostNamedChecks ? printable(joined(page.healthy))
                                        : count_words(healthy, "check", "checks")) +
           " ran and found nothing";
  if (const std::string others = without_result_text(page.unsupported, page.not_started); !others.empty())
    text += (text.empty() ? "Of the checks, " : "; ") + others;
  if (text.empty()) return {};
  const std::string hint = page.not_started > 0 ? "autopilot test; " + view.more : view.more;
  PageLines lines;
  for (const std::string& line : wrapped(text + " (" + hint + ")", page_width(view)))
    lines.push_back(painted(line, kDim, style_of(view)));
  return lines;
}

PageLines note_lines(const NodePage& page, const PageView& view) {
  PageLines lines;
  for (const PageNote& note : page.notes)
    append_lines(lines, wrapped(printable(note.title + (note.title.empty() ? "" : ": ") + note.text),
                                page_width(view)));
  return lines;
}

// Appends the section behind an empty line.
void append_section(PageLines& all, PageLines section) {
  if (section.empty()) return;
  all.emplace_back();
  append_lines(all, std::move(section));
}

// `shown`: how many problems; the others are counted.
PageLines problems_lines(const NodePage& page, const PageView& view, Folding folding, std::size_t shown) {
  PageLines lines;
  for (std::size_t i = 0; i < std::min(shown, page.problems.size()); ++i)
    append_lines(lines, i == 0 || folding < Folding::further_problems ? problem_lines(page.problems[i], view)
                                                                      : brief_lines(page.problems[i], view));
  if (shown < page.problems.size())
    lines.push_back(cut_text(
        count_words(page.problems.size() - shown, "more problem", "more problems") + " (" + view.more + ")",
        page_width(view)));
  return lines;
}

PageLines body_of(const NodePage& page, const PageView& view, Folding folding, std::size_t shown) {
  PageLines lines;
  append_section(lines, problems_lines(page, view, folding, shown));
  append_section(lines, gaps_lines(page, view, folding));
  if (folding == Folding::all_but_problems) return lines;
  append_section(lines, note_lines(page, view));
  append_section(lines, gpu_lines(page, view, folding));
  append_section(lines, fold_lines(page, view));
  return lines;
}

std::string age_text(const NodePage& page, WallTime now) {
  return page.checked ? "checked " + age_of(*page.checked, now) + " ago" : "not checked yet";
}

}  // namespace

std::vector<std::string> page_header(const NodePage& page, const PageView& view) {
  const std::string node = printable(page.node);
  const std::string health(to_string(page.health));
  std::string rest = health;
  if (!page.reason.empty()) rest += ": " + printable(page.reason);
  const std::string further = page.reason.empty() ? "" : further_problems(page);
  std::string tail;
  if (!page.verdict.empty())
    tail += (page.is_part ? "  whole machine: verdict " : "  verdict ") + page.verdict;
  if (page.is_simulated) tail += "  SIMULATED";
  tail += "  " + age_text(page, view.now);
  const std::size_t width = page_width(view);
  PageLines lines;
  const std::string first = cut_text(node, width - health.size() - 2) + "  ";
  if (first.size() + rest.size() + further.size() + tail.size() <= width) {
    lines.push_back(first + rest + further + tail);
  } else {
    const std::size_t taken = first.size() + further.size();
    lines.push_back(first + cut_text(rest, std::max(width, taken) - taken) + further);
    lines.push_back(cut_text(tail.substr(2), width));
  }
  if (!view.color) return lines;
  const TableStyle style = style_of(view);
  std::string& head = lines.front();
  head = painted(first.substr(0, first.size() - 2), kBold, style) + "  " +
         painted(health, color_of(page.health), style) + head.substr(first.size() + health.size());
  std::string& last = lines.back();
  if (const auto at = last.find("SIMULATED"); page.is_simulated && at != std::string::npos)
    last.replace(at, std::string_view("SIMULATED").size(), simulated_word(style));
  return lines;
}

std::vector<std::string> page_body(const NodePage& page, const PageView& view) {
  const std::size_t all = page.problems.size();
  if (!view.height) return body_of(page, view, Folding::none, all);
  const std::size_t header = page_header(page, view).size();
  const std::size_t room = std::max(*view.height, header + 1) - header;
  for (const Folding folding : kFoldings)
    if (PageLines lines = body_of(page, view, folding, all); lines.size() <= room) return lines;
  PageLines lines;
  for (std::size_t shown = all; shown > 0; --shown) {
    lines = body_of(page, view, Folding::all_but_problems, shown);
    if (lines.size() <= room) return lines;
  }
  // Not even one problem fits.
  lines.resize(std::min(lines.size(), room));
  if (!lines.empty()) lines.back() = "... (" + view.more + ")";
  return lines;
}

std::string render_page(const NodePage& page, const PageView& view) {
  PageLines lines = page_header(page, view);
  append_lines(lines, page_body(page, view));
  std::string text;
  for (const std::string& line : lines)
    text += line + "\n";
  return text;
}

}  // namespace autopilot::cli
