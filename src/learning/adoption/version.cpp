// SPDX-License-Identifier: Apache-2.0
#include "learning/adoption/version.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/stable_hash.hpp"

namespace autopilot::learning {
namespace {

bool is_same_subject(const Version& version, ProposalKind kind, std::string_view subject) {
  return version.proposal.kind == kind && version.proposal.subject == subject;
}

bool is_tried(const Version& version) {
  const auto state = version.state();
  return state == ProposalState::shadow || state == ProposalState::canary;
}

const Version* tried_instead(const Version& version, std::span<const Version> others) {
  const auto found = std::ranges::find_if(others, [&](const Version& other) {
    return other.proposal.id != version.proposal.id && is_tried(other) &&
           is_same_subject(other, version.proposal.kind, version.proposal.subject);
  });
  return found == others.end() ? nullptr : &*found;
}

void add_step(Version& version, ProposalState state, const AdoptionRequest& request) {
  version.steps.push_back({state, request.now, request.author, request.note});
  version.proposal.state = state;
  if (state == ProposalState::shadow) version.proposal.shadow_until = request.now + kShadow;
}

Status check_canary(const Version& version, const AdoptionRequest& request) {
  const WallTime end = version.steps.back().time + kCanary;
  if (request.is_now || request.now >= end) return {};
  return fail(Errc::conflict, "version " + version.proposal.id + " stays in the canary until " +
                                  format_time(end) + "; adopt it then, or with --now --reason TEXT");
}

Status check_shadow(Version& version, const AdoptionRequest& request) {
  if (request.is_now) version.proposal.shadow_until = std::min(version.proposal.shadow_until, request.now);
  if (request.now >= version.proposal.shadow_until) return {};
  return fail(Errc::conflict, "version " + version.proposal.id + " stays in shadow until " +
                                  format_time(version.proposal.shadow_until) +
                                  "; adopt it then, or with --now --reason TEXT");
}

// Of a version that is proposed or was reverted.
ProposalState first_state(const AdoptionRequest& request) {
  return request.is_now ? ProposalState::canary : ProposalState::shadow;
}

Result<ProposalState> next_state(Version& version, const AdoptionRequest& request) {
  const auto state = version.state();
  if (!state || state == ProposalState::reverted) return first_state(request);
  if (state == ProposalState::adopted)
    return fail(Errc::conflict, "version " + version.proposal.id + " is in use on all nodes already");
  if (state == ProposalState::canary) {
    TRY_STATUS(check_canary(version, request));
    return ProposalState::adopted;
  }
  TRY_STATUS(check_shadow(version, request));
  return ProposalState::canary;
}

Status check_request(const Version& version, const AdoptionRequest& request) {
  if (request.is_now && request.note.empty())
    return fail(Errc::malformed, "--now needs a reason, which is recorded: add --reason TEXT");
  if (version.steps.size() >= Version::kMostSteps)
    return fail(Errc::exhausted, "version " + version.proposal.id + " has " +
                                     std::to_string(Version::kMostSteps) +
                                     " steps; adopt another proposal for its subject");
  return {};
}

}  // namespace

std::optional<ProposalState> Version::state() const {
  return steps.empty() ? std::nullopt : std::optional(steps.back().state);
}

bool is_canary_node(const Version& version, std::string_view node) {
  constexpr std::uint64_t kParts = 10'000;
  if (node.empty()) return false;
  StableHash hash;
  hash.add_part(version.proposal.id);
  hash.add_part(node);
  // The low bits of FNV-1a depend on all of the text only after mixing.
  std::uint64_t mixed = hash.value();
  mixed = (mixed ^ (mixed >> 33U)) * 0xff51afd7ed558ccdU;
  mixed ^= mixed >> 33U;
  return static_cast<double>(mixed % kParts) < kCanaryShare * static_cast<double>(kParts);
}

Status adopt(Version& version, std::span<const Version> others, const AdoptionRequest& request) {
  TRY_STATUS(check_request(version, request));
  if (const Version* other = tried_instead(version, others))
    return fail(Errc::conflict, "version " + other->proposal.id + " for " + version.proposal.subject +
                                    " is in " + std::string(to_string(other->steps.back().state)) +
                                    "; adopt it, or revert it first: autopilot learn revert " +
                                    other->proposal.id);
  const ProposalState next = TRY(next_state(version, request));
  add_step(version, next, request);
  return {};
}

Status revert(Version& version, const AdoptionRequest& request) {
  const auto state = version.state();
  if (!state || state == ProposalState::reverted)
    return fail(Errc::conflict,
                "version " + version.proposal.id + " is not in use, in shadow or in a canary");
  if (version.steps.size() >= Version::kMostSteps) version.steps.erase(version.steps.begin());
  add_step(version, ProposalState::reverted, request);
  return {};
}

const Version* in_use(std::span<const Version> versions, ProposalKind kind, std::string_view subject,
                      std::string_view node) {
  const Version* found = nullptr;
  const auto rank = [](const Version& version) {
    return std::tuple(version.proposal.to_version, version.steps.back().time);
  };
  for (const Version& version : versions) {
    const auto state = version.state();
    const bool is_used =
        state == ProposalState::adopted || (state == ProposalState::canary && is_canary_node(version, node));
    if (!is_used || !is_same_subject(version, kind, subject)) continue;
    if (found == nullptr || rank(*found) < rank(version)) found = &version;
  }
  return found;
}

}  // namespace autopilot::learning
