// SPDX-License-Identifier: Apache-2.0
#include "cli/output/learned_tables.hpp"

#include <gtest/gtest.h>
#include <sstream>
#include <string>

#include "cli/explain_learned.hpp"

namespace autopilot::cli {
namespace {

using learning::ProposalState;

constexpr WallTime kShownAt{std::chrono::days(20'000)};
constexpr std::string_view kShownThreshold = "gpu.memory_bandwidth.peak_share";

learning::Version shown_version() {
  const std::string kind = "gpu=NVIDIA H100 80GB HBM3;driver=570;firmware=28;nics=ConnectX-7 x8";
  learning::Proposal draft{.kind = learning::ProposalKind::threshold,
                           .subject = std::string(kShownThreshold) + " on " + kind,
                           .sentence = "For " + std::string(kShownThreshold) + " on " + kind +
                                       ": at least 0.75 instead of 0.6\x1b[31m",
                           .from = "at least 0.6",
                           .to = "at least 0.75",
                           .basis = {600, 30, 2, kShownAt - std::chrono::days(20), kShownAt},
                           .replay = {600, 1, 3}};
  return {learning::make_proposal(std::move(draft), kShownAt),
          learning::LearnedThreshold{std::string(kShownThreshold), kind, 0.75},
          {}};
}

learning::Version stepped(ProposalState state) {
  learning::Version version = shown_version();
  version.steps = {{state, kShownAt, "ops", "why"}};
  version.proposal.shadow_until = kShownAt + learning::kShadow;
  return version;
}

TEST(LearnedTables, fit_the_terminal_and_hide_control_characters) {
  const VersionList list{
      {{shown_version(), {}}, {stepped(ProposalState::shadow), learning::ProposalReplay{9, 0, 1}}},
      "/var/lib/autopilot/learned",
      "",
      kShownAt};
  const std::string text = render_versions(list, {});
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("  Next: ")) EXPECT_LE(line.size(), 80U) << line;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("Since its last step: 9 evaluations, 0 findings before, 1 after."), std::string::npos);
}

TEST(LearnedTables, name_the_next_command_and_its_time) {
  const std::string id = shown_version().proposal.id;
  const auto next = [](const learning::Version& version, Duration later = {}) {
    return next_words(version, " --store x", kShownAt + later);
  };
  EXPECT_EQ(next(shown_version()), "autopilot learn adopt " + id + " --store x");
  EXPECT_EQ(next(stepped(ProposalState::adopted)), "autopilot learn revert " + id + " --store x");
  EXPECT_TRUE(next(stepped(ProposalState::shadow)).starts_with("from 2024-10-11 00:00 UTC on: "));
  EXPECT_TRUE(next(stepped(ProposalState::shadow), learning::kShadow).starts_with("autopilot learn adopt"));
  EXPECT_TRUE(next(stepped(ProposalState::canary)).starts_with("from 2024-10-05 00:00 UTC on: "));
}

TEST(LearnedTables, show_the_next_command_in_one_line_if_the_proposal_is_saved) {
  learning::LearnOutcome outcome;
  outcome.proposals = {shown_version()};
  const std::string words =
      " --store /a/very/long/folder/of/versions/that/does/not/fit/into/one/line/learned";
  ProposedView view{outcome, {}, {}, kShownAt, kShownAt, words, true};
  const std::string command = "  Next: autopilot learn adopt " + shown_version().proposal.id + words + "\n";
  EXPECT_NE(render_proposals(view, {}).find(command), std::string::npos) << render_proposals(view, {});
  view.is_saved = false;
  EXPECT_EQ(render_proposals(view, {}).find("Next:"), std::string::npos);
  EXPECT_EQ(proposals_json(view).find("\"next\""), std::string::npos);
}

TEST(LearnedTables, say_why_there_is_no_proposal) {
  const learning::LearnOutcome outcome;
  ProposedView view{outcome, {}, {}};
  EXPECT_NE(render_proposals(view, {}).find("no measurement yet; see docs/validation.md"), std::string::npos);
  view.too_old = 3;
  EXPECT_NE(render_proposals(view, {.width = 200}).find("leaves out 3 older"), std::string::npos);
}

TEST(LearnedTables, say_what_is_missing_in_folders_of_signals) {
  learning::LearnOutcome outcome;
  outcome.refused = {{"signals of findings about jobs", "margins of signals: there are scores of 4 nodes"}};
  outcome.unchanged = {"weights of signals"};
  const ProposedView view{.outcome = outcome, .versions = {}, .notes = {}, .is_history_read = false};
  const std::string text = render_proposals(view, {.width = 200});
  EXPECT_NE(text.find("No proposal from the folders of --signals."), std::string::npos) << text;
  EXPECT_NE(text.find("scores of 4 nodes"), std::string::npos) << text;
  EXPECT_NE(text.find("still fits: weights of signals"), std::string::npos) << text;
  EXPECT_EQ(text.find("measurement"), std::string::npos) << text;
}

TEST(LearnedTables, compare_with_the_version_in_use_or_the_catalog) {
  const learning::Version version = shown_version();
  EXPECT_EQ(value_before(version, {}), 0.6);
  learning::Version used = stepped(ProposalState::adopted);
  used.proposal.id = "0000000000000000";
  std::get<learning::LearnedThreshold>(used.learned).value = 0.7;
  EXPECT_EQ(value_before(version, std::vector{used}), 0.7);
  EXPECT_EQ(value_before(used, std::vector{used}), 0.6);
}

TEST(ExplainLearned, shows_what_is_tried_or_in_use) {
  EXPECT_TRUE(explain_learned(std::vector{shown_version(), stepped(ProposalState::reverted)}, kShownThreshold)
                  .empty());
  const auto paragraphs = explain_learned(std::vector{stepped(ProposalState::adopted)}, kShownThreshold);
  ASSERT_EQ(paragraphs.size(), 1U);
  EXPECT_TRUE(paragraphs[0].starts_with("at least 0.75 on ")) << paragraphs[0];
  EXPECT_NE(paragraphs[0].find(shown_version().proposal.id), std::string::npos);
  EXPECT_TRUE(explain_learned(std::vector{stepped(ProposalState::adopted)}, "gpu.ecc.retired_pages").empty());
}

}  // namespace
}  // namespace autopilot::cli
