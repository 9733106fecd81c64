// SPDX-License-Identifier: Apache-2.0
#include "jobs/decision/alert_text.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "jobs/decision/advice.hpp"
#include "jobs/decision/alert.hpp"
#include "jobs/decision/decide.hpp"
#include "jobs/decision/last_words.hpp"

namespace autopilot::jobs {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kNameBytes = 120;
constexpr std::size_t kSentenceBytes = 220;
constexpr std::size_t kEvidenceBytes = 140;
constexpr std::size_t kEvidenceShown = 4;
constexpr std::size_t kRuledOutShown = 3;
constexpr std::size_t kRanksShown = 6;

std::string printed(const char* format, double value) {
  std::array<char, 48> text{};
  const int size = std::snprintf(text.data(), text.size(), format, value);
  return {text.data(), static_cast<std::size_t>(std::clamp(size, 0, 47))};
}

std::string percent(double share) {
  return printed("%.0f %%", 100 * share);
}

std::string to_the_second(WallTime time) {
  return format_time(time).substr(0, 19) + "Z";
}

std::string minutes_of(Duration duration) {
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(std::max(duration, Duration{0}));
  if (minutes < std::chrono::minutes(1)) return "less than 1 min";
  if (minutes < std::chrono::hours(2)) return std::to_string(minutes.count()) + " min";
  return printed("%.1f h", static_cast<double>(minutes.count()) / 60);
}

std::string job_name(const JobFinding& finding, const JobState& state) {
  return one_line(state.job.empty() ? finding.job : state.job, kNameBytes);
}

std::string culprit_name(const JobFinding& finding) {
  return one_line(to_string(finding.culprit), kNameBytes);
}

// 0: unknown.
double known_slowdown(const JobFinding& finding) {
  const double slowdown = finding.slowdown.value_or(0);
  return std::isfinite(slowdown) ? std::max(slowdown, 0.0) : 0;
}

std::string slower_by(const JobFinding& finding) {
  const double slowdown = known_slowdown(finding);
  return slowdown > 0 ? " by " + percent(slowdown) : std::string();
}

std::string ranks_text(const std::vector<int>& ranks) {
  if (ranks.empty()) return {};
  std::string text = ranks.size() == 1 ? ", rank " : ", ranks ";
  for (std::size_t i = 0; i < std::min(ranks.size(), kRanksShown); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  if (ranks.size() > kRanksShown) text += " and " + std::to_string(ranks.size() - kRanksShown) + " more";
  return text;
}

std::string effect_text(const JobFinding& finding, const JobState& state) {
  const std::string gpus = std::to_string(state.ranks);
  switch (finding.effect) {
    case Effect::none:
      return "Effect: the job is not slower.";
    case Effect::hang:
      return "Effect: no step ends; " + gpus + " GPU-hours are lost each hour.";
    case Effect::crash:
      return "Effect: the job ended; the work since its last checkpoint is lost.";
    case Effect::slow:
    case Effect::regression:
      break;
  }
  const double slowdown = known_slowdown(finding);
  if (slowdown == 0) return "Effect: steps are longer, by an unknown amount.";
  const double goodput = goodput_loss_of(slowdown);
  std::string text = "Effect: steps are " + percent(slowdown) + " longer";
  if (state.step_s && std::isfinite(*state.step_s)) text += ", now " + printed("%.2f s", *state.step_s);
  return text + ": -" + percent(goodput) + " goodput, " + printed("%.1f", goodput * state.ranks) +
         " GPU-hours each hour at " + gpus + " ranks.";
}

std::string hours_text(double value) {
  return std::isfinite(value) ? printed("%.2f h", value) : "unknown";
}

std::string disproof_of(const JobFinding& finding) {
  if (names_a_node(finding.culprit))
    return "It is wrong if " + culprit_name(finding) +
           " keeps pace with its peers again, or passes the test.";
  if (finding.culprit.kind == EntityKind::leaf) return "It is wrong if nodes of other leaves are as slow.";
  if (finding.effect == Effect::hang) return "It is wrong if a step ends.";
  return "It is wrong if a node differs from its peers of equal role.";
}

class Page {
 public:
  void line(std::string_view text, std::size_t indent = 2) {
    text_ += wrap(one_line(text, 400), kColumns, indent);
    text_ += '\n';
  }
  void raw(std::string_view text) { text_.append("  ").append(text).append("\n"); }
  [[nodiscard]] std::string take() {
    if (!text_.empty()) text_.pop_back();
    return std::move(text_);
  }

 private:
  std::string text_;
};

void add_evidence(Page& page, const JobFinding& finding) {
  if (finding.evidence.empty()) return;
  page.line("Evidence, with what it adds in log odds:");
  std::size_t shown = 0;
  for (const Evidence& evidence : finding.evidence) {
    if (shown == kEvidenceShown) break;
    ++shown;
    std::string text = one_line(evidence.text, kEvidenceBytes);
    if (text.empty()) text = one_line(evidence.signal, kEvidenceBytes);
    page.line("- " + std::string(to_string(evidence.family)) + printed(" %+.1f: ", evidence.log_odds) + text,
              4);
  }
  if (finding.evidence.size() > shown)
    page.line("- and " + std::to_string(finding.evidence.size() - shown) + " weaker");
}

void add_decision(Page& page, const JobFinding& finding, WallTime now) {
  const Decision& decision = finding.decision;
  page.line("Decision: " + std::string(advice_of(decision.choice)) +
            (decision.choice == Choice::keep_running ? "."
             : decision.is_recommendation            ? " (recommended, not done)."
                                                     : " (Autopilot acts)."));
  if (!decision.because.empty()) page.line(one_line(decision.because, kSentenceBytes) + ".");
  page.line("Expected loss: continue " + hours_text(decision.loss_continue) + ", swap " +
            hours_text(decision.loss_checkpoint) + ", stop now " + hours_text(decision.loss_now));
  page.line("Since checkpoint " + hours_text(decision.since_checkpoint) + ", to the next " +
            hours_text(decision.to_checkpoint) + ", restart " + hours_text(decision.restart) +
            ", goodput loss " + percent(decision.goodput_loss) + ", p " +
            printed("%.2f", decision.probability) + ", horizon " + hours_text(decision.horizon));
  if (decision.choice == Choice::swap_at_checkpoint && decision.to_checkpoint > 0 &&
      decision.to_checkpoint < 1e4) {
    const auto until =
        std::chrono::duration_cast<Duration>(std::chrono::duration<double>(3600 * decision.to_checkpoint));
    page.line("Act before the checkpoint at " + to_the_second(now + until) + ".");
  }
}

std::string joined(const std::vector<std::string>& texts, std::size_t shown) {
  std::string all;
  for (std::size_t i = 0; i < std::min(texts.size(), shown); ++i)
    all += (i == 0 ? "" : "; ") + one_line(texts[i], 60);
  if (texts.size() > shown) all += "; and " + std::to_string(texts.size() - shown) + " more";
  return all;
}

}  // namespace

bool is_safe_in_shell(std::string_view name) {
  const auto is_safe = [](char sign) {
    return (sign >= 'a' && sign <= 'z') || (sign >= 'A' && sign <= 'Z') || (sign >= '0' && sign <= '9') ||
           sign == '.' || sign == '-' || sign == '_';
  };
  return !name.empty() && name.front() != '-' && std::all_of(name.begin(), name.end(), is_safe);
}

std::string wrap(std::string_view text, std::size_t columns, std::size_t indent) {
  std::string wrapped;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (column > indent && column + 1 + word.size() > columns) {
      wrapped += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column > 0) {
      wrapped += ' ';
      ++column;
    }
    wrapped += word;
    column += word.size();
  }
  return wrapped;
}

std::string title_of(const JobFinding& finding, const JobState& state) {
  std::string job = job_name(finding, state);
  const std::string culprit = culprit_name(finding);
  const bool is_accused = finding.culprit.is_accused();
  switch (finding.effect) {
    case Effect::none:
      return culprit + " is suspect and does not slow " + job + " yet";
    case Effect::slow:
      if (is_accused || finding.culprit.kind == EntityKind::storage)
        return culprit + " slows " + job + slower_by(finding);
      return job + " got slower" + slower_by(finding) + "; no node is accused";
    case Effect::regression:
      return job + " got slower as a whole" + slower_by(finding);
    case Effect::hang:
      return job + " hangs" + (is_accused ? " because of " + culprit : "; the culprit is unknown");
    case Effect::crash:
      if (finding.culprit.kind == EntityKind::program) return job + " ended because of its program";
      return job + " ended" + (is_accused ? " because of " + culprit : "; no node is accused");
  }
  return job;
}

std::string body_of(const JobFinding& finding, const JobState& state, WallTime now) {
  Page page;
  page.line(title_of(finding, state) + ".", 0);
  if (!finding.summary.empty()) page.line(one_line(finding.summary, kSentenceBytes), 0);
  page.line("Since " + to_the_second(finding.onset) + " (" + minutes_of(now - finding.onset) +
            "), detected after " + minutes_of(finding.detected - finding.onset) + ".");
  page.line(effect_text(finding, state));
  page.line("Culprit: " + culprit_name(finding) + ranks_text(finding.ranks) + ", probability " +
            printed("%.2f", finding.probability) + ".");
  add_evidence(page, finding);
  if (!finding.ruled_out.empty()) page.line("Ruled out: " + joined(finding.ruled_out, kRuledOutShown));
  add_decision(page, finding, now);
  const auto commands = commands_of(finding, CommandPlace::cluster);
  if (!commands.empty()) page.line("Commands:");
  for (const std::string& command : commands)
    page.raw(command);
  page.line(disproof_of(finding));
  if (!state.not_seen.empty()) page.line("Not seen: " + joined(state.not_seen, kRuledOutShown));
  return page.take();
}

std::string end_of(const JobFinding& finding, const JobState& state, WallTime now) {
  Page page;
  const WallTime end = finding.resolved.value_or(now);
  page.line("Over: " + title_of(finding, state) + ".", 0);
  page.line("It lasted from " + to_the_second(finding.onset) + " to " + to_the_second(end) + " (" +
            minutes_of(end - finding.onset) + ").");
  const double lost = lost_gpu_hours(finding, state.ranks, now);
  const bool is_known = finding.effect == Effect::hang || finding.effect == Effect::crash ||
                        finding.effect == Effect::none || known_slowdown(finding) > 0;
  page.line(is_known ? "It cost " + printed("%.1f", lost) + " GPU-hours."
                     : std::string("What it cost is unknown: the slowdown was not measured."));
  if (names_a_node(finding.culprit) && is_safe_in_shell(finding.culprit.node))
    page.raw("kubectl uncordon " + finding.culprit.node +
             "   # if it was cordoned for this, and passes its test");
  return page.take();
}

}  // namespace autopilot::jobs
