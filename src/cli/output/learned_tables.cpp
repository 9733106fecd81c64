// SPDX-License-Identifier: Apache-2.0
#include "cli/output/learned_tables.hpp"

#include <algorithm>

#include "api/json.hpp"
#include "api/learned_versions.hpp"
#include "catalog/catalog.hpp"
#include "cli/output/report_numbers.hpp"

namespace autopilot::cli {
namespace {

using learning::ProposalState;
using learning::Version;

// Paragraphs, indented and wrapped.
class VersionPage {
 public:
  explicit VersionPage(const TableStyle& style) : width_(style.width) {}

  void title(const std::string& text) { add(text, 0); }
  void paragraph(const std::string& text) { add(text, 2); }
  // In one line, however long: a command that is broken cannot be pasted.
  void command_line(const std::string& text) { text_ += "  " + printable(text) + "\n"; }
  void gap() { text_ += "\n"; }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  void add(const std::string& text, std::size_t indent) {
    for (const std::string& line : wrapped(printable(text), width_ - indent))
      text_ += std::string(indent, ' ') + line + "\n";
  }

  std::size_t width_;
  std::string text_;
};

std::string kind_words(learning::ProposalKind kind) {
  if (kind == learning::ProposalKind::check_role) return "role of a check";
  if (kind == learning::ProposalKind::signals) return "weights of signals";
  return std::string(learning::to_string(kind));
}

std::string basis_words(const Version& version) {
  const learning::ProposalBasis& basis = version.proposal.basis;
  std::string text = "Based on " + counted_text(basis.records, "record") + " from " +
                     minute_text(basis.first) + " to " + minute_text(basis.last) + " UTC";
  if (basis.places > 0) text += ", of " + counted_text(basis.places, "place");
  if (basis.excluded > 0) text += "; " + counted_text(basis.excluded, "place") + " left out";
  return text + ".";
}

std::string replay_words(const learning::ProposalReplay& replay) {
  return counted_text(replay.evaluations, "evaluation") + ", " + counted_text(replay.before, "finding") +
         " before, " + std::to_string(replay.after) + " after.";
}

std::string role_note(const Version& version) {
  if (version.proposal.kind != learning::ProposalKind::check_role) return {};
  return "No agent applies a role by itself: this is a record for your configuration.";
}

std::string scope_note(const Version& version) {
  if (version.proposal.kind == learning::ProposalKind::baseline)
    return "Baselines are what the next proposals are compared with; no check reads them.";
  if (version.proposal.kind == learning::ProposalKind::signals)
    return "Used where jobs are evaluated: without effect in shadow; in the canary, if the evaluating "
           "agent is one of its nodes.";
  return role_note(version);
}

// What is not in the store has no command.
bool has_next(const ProposedView& view, const Version& version) {
  return view.is_saved || version.state().has_value();
}

void add_version(VersionPage& page, const VersionView& view, const std::string& next) {
  const Version& version = view.version;
  page.title(version.proposal.id + "  " + kind_words(version.proposal.kind) + ", " + state_words(version));
  page.paragraph(version.proposal.sentence + ".");
  page.paragraph(basis_words(version));
  page.paragraph("Last 30 days before " + minute_text(version.proposal.created) +
                 " UTC: " + replay_words(version.proposal.replay));
  if (view.evidence && version.state() && version.state() != ProposalState::reverted)
    page.paragraph("Since its last step: " + replay_words(*view.evidence));
  if (const std::string note = scope_note(version); !note.empty()) page.paragraph(note);
  if (!next.empty()) page.command_line("Next: " + next);
}

std::string nothing_proposed(const ProposedView& view) {
  if (!view.is_history_read) return "No proposal from the folders of --signals.";
  if (view.measurements + view.too_old == 0)
    return "No proposal: there is no measurement yet; see docs/validation.md.";
  std::string text = "No proposal from the records until " + minute_text(view.newest) + " UTC.";
  if (view.too_old > 0)
    text +=
        " --since leaves out " + counted_text(view.too_old, "older measurement") + "; choose an earlier one.";
  return text;
}

std::string step_words(const learning::AdoptionStep& step) {
  std::string text = minute_text(step.time) + " UTC: ";
  if (step.state == ProposalState::shadow) text += "into shadow";
  if (step.state == ProposalState::canary) text += "into the canary";
  if (step.state == ProposalState::adopted) text += "on all nodes";
  if (step.state == ProposalState::reverted) text += "reverted";
  text += ", by " + step.author;
  return step.note.empty() ? text : text + ": " + step.note;
}

void write_state(api::JsonWriter& json, const Version& version, const std::string& next) {
  const auto state = version.state();
  json.word("state", state ? learning::to_string(*state) : "proposed");
  if (state == ProposalState::shadow) json.time("shadowUntil", version.proposal.shadow_until);
  if (!next.empty()) json.word("next", next);
}

void write_view(api::JsonWriter& json, const VersionView& view, const std::string& next) {
  json.begin_object();
  api::write_version(json, view.version);
  if (view.evidence) {
    json.begin_object("evidence");
    json.count("evaluations", view.evidence->evaluations);
    json.count("before", view.evidence->before);
    json.count("after", view.evidence->after);
    json.end_object();
  }
  write_state(json, view.version, next);
  json.end_object();
}

}  // namespace

double value_before(const Version& version, std::span<const Version> versions) {
  const Version* used =
      learning::in_use(versions, learning::ProposalKind::threshold, version.proposal.subject, "");
  if (used != nullptr && used->proposal.id != version.proposal.id)
    return std::get<learning::LearnedThreshold>(used->learned).value;
  const auto& learned = std::get<learning::LearnedThreshold>(version.learned);
  const catalog::Threshold* threshold = catalog::builtin().threshold(learned.id);
  return threshold == nullptr ? learned.value : threshold->value;
}

std::string state_words(const Version& version) {
  const auto state = version.state();
  if (!state) return "proposed";
  const std::string since = " since " + minute_text(version.steps.back().time) + " UTC";
  if (*state == ProposalState::shadow)
    return "in shadow until " + minute_text(version.proposal.shadow_until) + " UTC";
  if (*state == ProposalState::canary) return "in the canary (1 of 10 nodes)" + since;
  if (*state == ProposalState::adopted) return "in use on all nodes" + since;
  return "reverted" + since;
}

std::string next_words(const Version& version, const std::string& store_words, WallTime now) {
  std::string adopt = "autopilot learn adopt " + version.proposal.id + store_words;
  std::string revert = "autopilot learn revert " + version.proposal.id + store_words;
  const auto state = version.state();
  if (!state || *state == ProposalState::reverted) return adopt;
  if (*state == ProposalState::adopted) return revert;
  const WallTime end = *state == ProposalState::shadow ? version.proposal.shadow_until
                                                       : version.steps.back().time + learning::kCanary;
  const std::string when = now < end ? "from " + minute_text(end) + " UTC on: " : "";
  return when + adopt + " (or: " + revert + ")";
}

std::string render_proposals(const ProposedView& view, const TableStyle& style) {
  VersionPage page(style);
  if (view.outcome.proposals.empty()) page.title(nothing_proposed(view));
  for (const Version& version : view.outcome.proposals) {
    add_version(page, {version, {}},
                has_next(view, version) ? next_words(version, view.store_words, view.now) : "");
    page.gap();
  }
  if (!view.outcome.refused.empty()) page.title("Nothing is learned for:");
  for (const learning::NotLearned& one : view.outcome.refused)
    page.paragraph(one.subject + ": " + one.why);
  if (!view.outcome.unchanged.empty())
    page.title("Unchanged, what is in use still fits: " + joined(view.outcome.unchanged));
  return page.take();
}

std::string proposals_json(const ProposedView& view) {
  api::JsonWriter json;
  json.begin_object();
  json.time("newestRecord", view.newest);
  json.flag("isSaved", view.is_saved);
  json.begin_list("proposals");
  for (const Version& version : view.outcome.proposals)
    write_view(json, {version, {}},
               has_next(view, version) ? next_words(version, view.store_words, view.now) : "");
  json.end_list();
  json.begin_list("refused");
  for (const learning::NotLearned& one : view.outcome.refused) {
    json.begin_object();
    json.word("subject", one.subject);
    json.word("why", one.why);
    json.end_object();
  }
  json.end_list();
  json.words("unchanged", view.outcome.unchanged);
  json.words("notes", view.notes);
  json.end_object();
  return json.take();
}

std::string render_versions(const VersionList& list, const TableStyle& style) {
  VersionPage page(style);
  if (list.versions.empty())
    page.title("Nothing is learned in " + list.folder + ". Begin with: autopilot learn propose");
  for (const VersionView& view : list.versions) {
    add_version(page, view, next_words(view.version, list.store_words, list.now));
    page.gap();
  }
  return page.take();
}

std::string versions_json(const VersionList& list) {
  api::JsonWriter json;
  json.begin_object();
  json.word("folder", list.folder);
  json.begin_list("versions");
  for (const VersionView& view : list.versions)
    write_view(json, view, next_words(view.version, list.store_words, list.now));
  json.end_list();
  json.end_object();
  return json.take();
}

std::string render_version(const VersionView& view, const VersionList& of, const TableStyle& style) {
  VersionPage page(style);
  add_version(page, view, next_words(view.version, of.store_words, of.now));
  for (const learning::AdoptionStep& step : view.version.steps)
    page.paragraph(step_words(step));
  return page.take();
}

}  // namespace autopilot::cli
