// SPDX-License-Identifier: Apache-2.0
#include "cli/explain_learned.hpp"

#include <variant>

#include "agent/learned/version_store.hpp"
#include "cli/learned_store.hpp"
#include "cli/output/learned_tables.hpp"

namespace autopilot::cli {

std::vector<std::string> explain_learned(std::span<const learning::Version> versions,
                                         std::string_view threshold) {
  std::vector<std::string> paragraphs;
  for (const learning::Version& version : versions) {
    const auto* learned = std::get_if<learning::LearnedThreshold>(&version.learned);
    const auto state = version.state();
    if (learned == nullptr || learned->id != threshold || !state ||
        *state == learning::ProposalState::reverted)
      continue;
    paragraphs.push_back(version.proposal.to + " on " + learned->kind + ", version " + version.proposal.id +
                         ", " + state_words(version) + ". A value in the configuration comes first.");
  }
  return paragraphs;
}

std::vector<std::string> explain_learned_here(std::string_view threshold) {
  const auto files = resolved({});
  if (!files) return {"unknown: " + files.error().what};
  const auto stored = agent::VersionStore(files->store).read();
  if (!stored) return {"unknown: " + stored.error().what};
  auto paragraphs = explain_learned(stored->versions, threshold);
  for (const std::string& problem : stored->problems)
    paragraphs.push_back("unknown: " + problem);
  return paragraphs;
}

}  // namespace autopilot::cli
