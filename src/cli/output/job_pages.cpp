// SPDX-License-Identifier: Apache-2.0
#include "cli/output/job_pages.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "cli/output/layout.hpp"
#include "jobs/decision/alert_text.hpp"

namespace autopilot::cli {
namespace {

constexpr std::size_t kLabelWidth = 11;

std::string decimals(double number, int digits) {
  std::array<char, 64> text{};
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed, digits);
  return error == std::errc{} ? std::string(text.data(), end) : "?";
}

std::string age_text(Duration age) {
  using namespace std::chrono;
  const auto held = duration_cast<seconds>(std::max(age, Duration{0}));
  if (held < 2min) return std::to_string(held.count()) + " s";
  if (held < 2h) return std::to_string(duration_cast<minutes>(held).count()) + " min";
  if (held < 48h) return decimals(static_cast<double>(held.count()) / 3600, 1) + " h";
  return std::to_string(duration_cast<days>(held).count()) + " d";
}

std::string moment_text(WallTime time, WallTime now) {
  return format_time(time).substr(0, 19) + "Z (" + age_text(now - time) + " ago)";
}

std::string hours_text_of(double hours) {
  return std::isfinite(hours) ? decimals(hours, 2) + " h" : "unknown";
}

std::string ranks_text_of(const std::vector<int>& ranks) {
  constexpr std::size_t shown = 8;
  if (ranks.empty()) return {};
  std::string text = ranks.size() == 1 ? ", rank " : ", ranks ";
  for (std::size_t at = 0; at < std::min(ranks.size(), shown); ++at)
    text += (at == 0 ? "" : ", ") + std::to_string(ranks[at]);
  return ranks.size() > shown ? text + " and " + std::to_string(ranks.size() - shown) + " more" : text;
}

std::string counted(int count, std::string_view one, std::string_view many) {
  return std::to_string(count) + " " + std::string(count == 1 ? one : many);
}

// Lines of a page, each section with a label and a limit.
class LabelledPage {
 public:
  explicit LabelledPage(const TableStyle& style) : style_(style) {}

  void line(std::string_view text, std::size_t most = 99, std::string_view color = {}) {
    for (const std::string& part : limited(text, style_.width, most))
      out_ += painted(part, color, style_) + "\n";
  }
  void section(std::string_view label, std::string_view text, std::size_t most = 99) {
    std::string before = padded(label, kLabelWidth);
    for (const std::string& part : limited(text, style_.width - kLabelWidth, most))
      out_ += std::exchange(before, std::string(kLabelWidth, ' ')) + part + "\n";
  }
  // Not wrapped: a command is copied whole.
  void command(std::string_view label, std::string_view text) {
    out_ += padded(label, kLabelWidth) + printable(text) + "\n";
  }
  void gap() { out_ += "\n"; }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  static std::vector<std::string> limited(std::string_view text, std::size_t width, std::size_t most) {
    std::vector<std::string> lines = wrapped(printable(text), width);
    if (lines.size() > most) {
      lines.resize(most);
      std::string& last = lines.back();
      if (last.size() + 4 > width) last.resize(width - 4);
      last += " ...";
    }
    return lines;
  }

  const TableStyle& style_;
  std::string out_;
};

std::string_view health_word(const jobs::JobReport& report) {
  return jobs::to_string(report.state.health);
}

std::string progress_text(const jobs::JobState& state, WallTime now) {
  if (state.progress_source.empty()) return "no source shows progress, so a hang cannot be recognised";
  std::string text = "by " + state.progress_source;
  if (state.step) text += ", step " + std::to_string(*state.step);
  if (state.step_s) text += ", " + decimals(*state.step_s, 2) + " s each";
  if (state.last_step) text += ", last progress " + age_text(now - *state.last_step) + " ago";
  return text;
}

std::string size_text(const jobs::JobState& state) {
  return counted(state.ranks, "rank", "ranks") + " on " + counted(state.nodes, "node", "nodes") +
         ", attempt " + std::to_string(state.attempt);
}

std::string outcome_text(const jobs::JobReport& report) {
  if (!report.outcome) return "for an unknown reason";
  switch (*report.outcome) {
    case jobs::Outcome::completed:
      return "complete";
    case jobs::Outcome::failed:
      return "with an error";
    case jobs::Outcome::stopped:
      return "because it was stopped";
    case jobs::Outcome::preempted:
      return "because it was preempted";
    case jobs::Outcome::unknown:
      break;
  }
  return "for an unknown reason";
}

std::string decision_text(const jobs::Decision& decision) {
  std::string text(jobs::advice_of(decision.choice));
  if (decision.choice != jobs::Choice::keep_running)
    text += decision.is_recommendation ? " (recommended, not done)" : " (Autopilot acts)";
  return decision.because.empty() ? text : text + ". " + decision.because;
}

std::string losses_text(const jobs::Decision& decision) {
  return "continue " + hours_text_of(decision.loss_continue) + ", swap at a checkpoint " +
         hours_text_of(decision.loss_checkpoint) + ", stop now " + hours_text_of(decision.loss_now);
}

std::string culprit_text(const jobs::JobFinding& finding) {
  return jobs::to_string(finding.culprit) + ranks_text_of(finding.ranks) +
         (finding.culprit.is_accused() ? ", probability " + decimals(finding.probability, 2) : "");
}

void add_evidence(LabelledPage& page, const std::vector<jobs::Evidence>& evidence, std::size_t most,
                  std::size_t lines_each) {
  std::string_view label = "Evidence";
  for (std::size_t at = 0; at < std::min(evidence.size(), most); ++at) {
    page.section(std::exchange(label, ""),
                 evidence[at].text.empty() ? evidence[at].signal : evidence[at].text, lines_each);
  }
  if (evidence.size() > most) page.section("", "and " + std::to_string(evidence.size() - most) + " more");
  if (evidence.empty()) page.section(label, "none names a culprit");
}

void add_checked(LabelledPage& page, const jobs::JobReport& report, const JobPageContext& context,
                 std::size_t most) {
  std::string read = context.sources.empty() ? "nothing" : joined(context.sources);
  page.section("Checked", read + "; " + size_text(report.state), 2);
  std::vector<std::string> missing = report.state.not_seen;
  missing.insert(missing.end(), context.not_seen.begin(), context.not_seen.end());
  for (std::size_t at = 0; at < std::min(missing.size(), most); ++at)
    page.section(at == 0 ? "Not seen" : "", missing[at], most == 1 ? 2 : 99);
  if (missing.size() > most)
    page.section("",
                 "and " + std::to_string(missing.size() - most) + " more: " + context.command +
                     " jobs show " + report.state.job,
                 1);
}

std::string_view color_of_report(const jobs::JobReport& report) {
  return color_of(health_of(report));
}

void add_failure(LabelledPage& page, const jobs::Failure& failure, std::size_t lines) {
  page.section("Failure", std::string(jobs::to_string(failure.kind)) + ": " + failure.sentence, lines);
  std::string place = jobs::to_string(failure.culprit);
  if (failure.rank) place += "; it began at rank " + std::to_string(*failure.rank);
  if (!failure.node.empty()) place += " on " + failure.node;
  page.section("Culprit", place, 2);
}

void why_of_finding(LabelledPage& page, const jobs::JobReport& report, const jobs::JobFinding& finding,
                    const JobPageContext& context) {
  page.line(jobs::title_of(finding, report.state), 2, color_of_report(report));
  page.line(finding.summary, 2);
  page.gap();
  page.section("Since",
               moment_text(finding.onset, context.now) + ", detected after " +
                   age_text(finding.detected - finding.onset),
               1);
  page.section("Culprit", culprit_text(finding), 1);
  add_evidence(page, finding.evidence, 2, 2);
  page.section("Decision", decision_text(finding.decision), 3);
  std::string_view label = "Do";
  for (const std::string& command : jobs::commands_of(finding, context.place))
    page.command(std::exchange(label, ""), command);
  page.command(label, context.command + " jobs ack " + finding.id + "   # no more messages about it");
}

void add_validation(LabelledPage& page, const JobPageContext& context, std::size_t most, std::size_t lines) {
  for (std::size_t at = 0; at < std::min(context.validation.size(), most); ++at)
    page.section(at == 0 ? "Afterwards" : "", context.validation[at], lines);
}

void why_of_end(LabelledPage& page, const jobs::JobReport& report, const JobPageContext& context) {
  page.line(report.state.job + " ended " + outcome_text(report), 2, color_of_report(report));
  page.gap();
  page.section("Ended", moment_text(*report.ended, context.now), 1);
  const bool has_failed = report.outcome != jobs::Outcome::completed && report.failure;
  if (has_failed) {
    add_failure(page, *report.failure, 3);
    add_evidence(page, report.failure->evidence, 2, 2);
    if (!report.failure->not_available.empty())
      page.section("Not read", joined(report.failure->not_available), 1);
  } else if (report.outcome != jobs::Outcome::completed) {
    page.section("Failure", "none was seen: no rank ended with an error that this program can read", 2);
  }
  const auto ended = std::ranges::find_if(report.findings, [](const jobs::JobFinding& finding) {
    return finding.resolved && finding.severity > jobs::Severity::info;
  });
  if (ended != report.findings.end())
    page.section("Before", jobs::title_of(*ended, report.state) + ": " + ended->summary, 3);
  add_validation(page, context, 1, 3);
}

void why_of_health(LabelledPage& page, const jobs::JobReport& report, const JobPageContext& context) {
  const jobs::JobState& state = report.state;
  switch (state.health) {
    case jobs::JobHealth::unknown:
      page.line(state.job + ": it is unknown whether the job makes progress", 2, color_of_report(report));
      break;
    case jobs::JobHealth::starting:
      page.line(state.job + " starts: no step has ended yet, and nothing is wrong so far", 2);
      break;
    case jobs::JobHealth::stalled:
      page.line(state.job + " makes no progress for longer than usual; a hang is not confirmed", 2,
                color_of_report(report));
      break;
    case jobs::JobHealth::running:
    case jobs::JobHealth::slow:
    case jobs::JobHealth::hung:
    case jobs::JobHealth::ended:
      page.line(state.job + " runs, and nothing is wrong", 2, color_of_report(report));
      break;
  }
  page.gap();
  page.section("Progress", progress_text(state, context.now), 2);
  page.section("Since", moment_text(report.started, context.now), 1);
}

void add_finding(LabelledPage& page, const jobs::JobFinding& finding, const jobs::JobReport& report,
                 const JobPageContext& context) {
  const bool is_over = finding.resolved.has_value();
  page.gap();
  page.line(jobs::title_of(finding, report.state), 3,
            is_over || finding.severity == jobs::Severity::info ? "" : color_of(Health::degraded));
  page.section("Finding", finding.id + ", " + std::string(jobs::to_string(finding.severity)) +
                              (is_over ? ", over since " + moment_text(*finding.resolved, context.now) : ""));
  page.section("Since", moment_text(finding.onset, context.now));
  page.section("Culprit", culprit_text(finding));
  page.section("What", finding.summary);
  if (is_over) return;
  add_evidence(page, finding.evidence, 8, 99);
  for (std::size_t at = 0; at < finding.ruled_out.size(); ++at)
    page.section(at == 0 ? "Ruled out" : "", finding.ruled_out[at]);
  page.section("Decision", decision_text(finding.decision));
  page.section("Loss", losses_text(finding.decision));
  std::string_view label = "Do";
  for (const std::string& command : jobs::commands_of(finding, context.place))
    page.command(std::exchange(label, ""), command);
}

std::string culprit_cell(const jobs::JobReport& report) {
  if (const jobs::JobFinding* finding = worst_finding(report)) return jobs::to_string(finding->culprit);
  if (report.ended && report.failure && report.outcome != jobs::Outcome::completed)
    return jobs::to_string(report.failure->culprit);
  return "-";
}

WallTime since_of(const jobs::JobReport& report) {
  if (report.ended) return *report.ended;
  const jobs::JobFinding* finding = worst_finding(report);
  return finding == nullptr ? report.started : finding->onset;
}

}  // namespace

const jobs::JobFinding* worst_finding(const jobs::JobReport& report) {
  const auto found = std::ranges::find_if(report.findings, [](const jobs::JobFinding& finding) {
    return !finding.resolved && finding.severity > jobs::Severity::info;
  });
  return found == report.findings.end() ? nullptr : &*found;
}

Health health_of(const jobs::JobReport& report) {
  switch (report.state.health) {
    case jobs::JobHealth::unknown:
      return Health::unknown;
    case jobs::JobHealth::hung:
      return Health::failed;
    case jobs::JobHealth::slow:
    case jobs::JobHealth::stalled:
      return Health::degraded;
    case jobs::JobHealth::ended:
      return report.outcome == jobs::Outcome::failed ? Health::failed : Health::healthy;
    case jobs::JobHealth::starting:
    case jobs::JobHealth::running:
      break;
  }
  const jobs::JobFinding* finding = worst_finding(report);
  if (finding == nullptr) return Health::healthy;
  return finding->effect == jobs::Effect::crash ? Health::failed : Health::degraded;
}

std::string render_job_list(const api::JobList& list, WallTime now, const TableStyle& style) {
  std::string out = simulated_line(list.is_simulated, style);
  std::vector<Row> rows;
  for (const jobs::JobReport& report : list.jobs) {
    const jobs::JobState& state = report.state;
    rows.push_back({{state.job},
                    {std::string(health_word(report)), color_of_report(report)},
                    {std::to_string(state.nodes)},
                    {std::to_string(state.ranks)},
                    {state.step ? std::to_string(*state.step) : "-"},
                    {state.step_s ? decimals(*state.step_s, 2) + " s" : "-"},
                    {age_text(now - since_of(report))},
                    {culprit_cell(report)}});
  }
  if (rows.empty())
    out += list.time == WallTime{} ? "The first search for jobs is not over yet.\n" : "No job runs here.\n";
  else
    out += render_columns({"JOB", "HEALTH", "NODES", "RANKS", "STEP", "STEP TIME", "SINCE", "CULPRIT"}, rows,
                          style);
  LabelledPage page(style);
  if (!list.sources.empty()) page.section("Read", joined(list.sources));
  for (std::size_t at = 0; at < list.not_seen.size(); ++at)
    page.section(at == 0 ? "Not seen" : "", list.not_seen[at]);
  const std::string read = page.take();
  return read.empty() ? out : out + "\n" + read;
}

std::string render_job_page(const jobs::JobReport& report, const JobPageContext& context,
                            const TableStyle& style) {
  LabelledPage page(style);
  const jobs::JobState& state = report.state;
  page.line(state.job + (state.name.empty() ? "" : "  " + state.name));
  std::string health(health_word(report));
  if (report.ended) health += " " + outcome_text(report);
  if (report.is_muted) health += ", muted";
  page.section("Health", health);
  page.section("Size", size_text(state));
  if (!report.owner.empty()) page.section("Owner", report.owner);
  page.section("Started", moment_text(report.started, context.now));
  if (report.ended) page.section("Ended", moment_text(*report.ended, context.now));
  page.section("Progress", progress_text(state, context.now));
  if (!report.nodes.empty()) {
    std::vector<std::string> nodes = report.nodes;
    constexpr std::size_t shown = 16;
    const std::size_t more = nodes.size() > shown ? nodes.size() - shown : 0;
    nodes.resize(nodes.size() - more);
    page.section("Nodes", joined(nodes) + (more > 0 ? " and " + std::to_string(more) + " more" : ""));
  }
  add_checked(page, report, context, 99);
  if (report.failure) {
    page.gap();
    add_failure(page, *report.failure, 99);
    add_evidence(page, report.failure->evidence, 8, 99);
    if (!report.failure->not_available.empty())
      page.section("Not read", joined(report.failure->not_available));
  }
  if (!context.validation.empty()) page.gap();
  add_validation(page, context, 99, 99);
  for (const jobs::JobFinding& finding : report.findings)
    add_finding(page, finding, report, context);
  if (report.findings.empty()) {
    page.gap();
    page.line("No finding.");
  }
  if (!context.evidence.empty()) page.gap();
  for (std::size_t at = 0; at < context.evidence.size(); ++at)
    page.section(at == 0 ? "Captured" : "", context.evidence[at]);
  if (!report.feedback.empty() || !report.acknowledged.empty()) page.gap();
  for (const jobs::Acknowledgement& held : report.acknowledged)
    page.section("Known to", held.by + ": " + held.finding);
  for (const jobs::Feedback& held : report.feedback)
    page.section("Feedback", std::string(api::to_string(held.verdict)) + " " + held.finding + " by " +
                                 held.by + (held.note.empty() ? "" : ": " + held.note));
  return page.take();
}

std::string render_job_why(const jobs::JobReport& report, const JobPageContext& context,
                           const TableStyle& style) {
  LabelledPage page(style);
  const jobs::JobFinding* finding = report.ended ? nullptr : worst_finding(report);
  if (finding != nullptr)
    why_of_finding(page, report, *finding, context);
  else if (report.ended)
    why_of_end(page, report, context);
  else
    why_of_health(page, report, context);
  add_checked(page, report, context, 1);
  return page.take();
}

}  // namespace autopilot::cli
