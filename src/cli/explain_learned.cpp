// SPDX-License-Identifier: Apache-2.0
#include "cli/explain_learned.hpp"

#include <variant>

#include "agent/learned/version_store.hpp"
#include "cli/learned_store.hpp"
#include "cli/output/learned_tables.hpp"
#include "cli/output/table.hpp"

namespace autopilot::cli {
namespace {

constexpr std::size_t kLearnedLabel = 16;
constexpr std::size_t kLearnedWidth = 80;

std::string learned_paragraph(const std::string& text) {
  std::string label = "Learned";
  std::string paragraph;
  for (const std::string& line : wrapped(printable(text), kLearnedWidth - kLearnedLabel)) {
    label.resize(kLearnedLabel, ' ');
    paragraph += label + line + "\n";
    label.clear();
  }
  return paragraph;
}

}  // namespace

std::string explain_learned(std::span<const learning::Version> versions, std::string_view threshold) {
  std::string text;
  for (const learning::Version& version : versions) {
    const auto* learned = std::get_if<learning::LearnedThreshold>(&version.learned);
    const auto state = version.state();
    if (learned == nullptr || learned->id != threshold || !state ||
        *state == learning::ProposalState::reverted)
      continue;
    text +=
        learned_paragraph(version.proposal.to + " on " + learned->kind + ", version " + version.proposal.id +
                          ", " + state_words(version) + ". A value in the configuration comes first.");
  }
  return text;
}

std::string explain_learned_here(std::string_view threshold) {
  const auto files = resolved({});
  if (!files) return learned_paragraph("unknown: " + files.error().what);
  const auto stored = agent::VersionStore(files->store).read();
  if (!stored) return learned_paragraph("unknown: " + stored.error().what);
  std::string text = explain_learned(stored->versions, threshold);
  for (const std::string& problem : stored->problems)
    text += learned_paragraph("unknown: " + problem);
  return text;
}

}  // namespace autopilot::cli
