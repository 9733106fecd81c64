// SPDX-License-Identifier: Apache-2.0
#include "learning/proposal.hpp"

#include <array>
#include <utility>

#include "core/stable_hash.hpp"

namespace autopilot::learning {

std::string_view to_string(ProposalKind kind) {
  constexpr std::array<std::string_view, 4> kWords{"baseline", "threshold", "check_role", "signals"};
  return kWords.at(static_cast<std::size_t>(kind));
}

std::string_view to_string(ProposalState state) {
  constexpr std::array<std::string_view, 4> kWords{"shadow", "canary", "adopted", "reverted"};
  return kWords.at(static_cast<std::size_t>(state));
}

Proposal make_proposal(Proposal proposal, WallTime created) {
  proposal.created = created;
  proposal.shadow_until = created + kShadow;
  StableHash hash;
  for (const std::string& part :
       {std::string(to_string(proposal.kind)), proposal.subject, proposal.from, proposal.to,
        std::to_string(proposal.from_version), std::to_string(proposal.to_version),
        std::to_string(proposal.basis.records), std::to_string(proposal.basis.places),
        std::to_string(proposal.basis.excluded), format_time(proposal.basis.first),
        format_time(proposal.basis.last), format_time(created)})
    hash.add_part(part);
  proposal.id = hash.hex();
  return proposal;
}

Status change_state(Proposal& proposal, ProposalState next, WallTime now) {
  const ProposalState current = proposal.state;
  const bool is_forward = (current == ProposalState::shadow && next == ProposalState::canary) ||
                          (current == ProposalState::canary && next == ProposalState::adopted);
  const bool is_back = next == ProposalState::reverted && current != ProposalState::reverted;
  if (!is_forward && !is_back)
    return fail(Errc::conflict, "proposal " + proposal.id + " is " + std::string(to_string(current)) +
                                    "; it cannot become " + std::string(to_string(next)));
  if (current == ProposalState::shadow && is_forward && now < proposal.shadow_until)
    return fail(Errc::conflict, "proposal " + proposal.id + " stays in shadow until " +
                                    format_time(proposal.shadow_until) + "; adopt it then");
  proposal.state = next;
  return {};
}

}  // namespace autopilot::learning
