// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "learning/baseline/baseline.hpp"
#include "learning/proposal.hpp"
#include "learning/signals/signal_cases.hpp"
#include "learning/values/check_value.hpp"

// What was learned, and the steps by which a person put it to use.
namespace autopilot::learning {

// A least value that replaces the catalog's on machines of one kind.
struct LearnedThreshold {
  std::string id;    // of the threshold in the catalog
  std::string kind;  // kind_text, at any level
  double value = 0;  // in the unit of the threshold

  bool operator==(const LearnedThreshold&) const = default;
};

struct LearnedRole {
  std::string check;
  CheckRole role = CheckRole::gating;

  bool operator==(const LearnedRole&) const = default;
};

using Learned = std::variant<Baseline, LearnedThreshold, LearnedRole, LearnedSignals>;

// A change of the state, and its author.
struct AdoptionStep {
  ProposalState state = ProposalState::shadow;
  WallTime time{};
  std::string author;
  std::string note;  // why a wait was skipped, or why it was reverted
};

// What is learned never changes; steps are only added.
struct Version {
  static constexpr std::size_t kMostSteps = 1000;

  Proposal proposal;  // `state` and `shadow_until` follow from the steps
  Learned learned;
  std::vector<AdoptionStep> steps;  // oldest first; empty: proposed, nothing else

  // nullopt: proposed, nothing else.
  [[nodiscard]] std::optional<ProposalState> state() const;
};

// Share of the nodes that use a version in its canary.
inline constexpr double kCanaryShare = 0.1;
// How long a canary lasts at least.
inline constexpr Duration kCanary = std::chrono::days(1);

// True if the node is one of the kCanaryShare of nodes: a stable hash of its name and of the version decides.
[[nodiscard]] bool is_canary_node(const Version& version, std::string_view node);

struct AdoptionRequest {
  WallTime now{};
  std::string author;
  std::string note;
  bool is_now = false;  // do not wait for the end of the shadow or of the canary; needs a note
};

// The next step: into shadow, then the canary, then all nodes. From `proposed` with is_now: into the canary.
// A version that was reverted begins again. `malformed`: is_now without a note. `conflict`: too early, in use
// by all nodes already, or `others` has a version of the same kind and subject in shadow or canary; the text
// states what to do. `exhausted`: kMostSteps.
[[nodiscard]] Status adopt(Version& version, std::span<const Version> others, const AdoptionRequest& request);

// Ends the use of the version at once; the version before is in use again. It always has room: of kMostSteps,
// the oldest is dropped. `conflict`: it is not in use.
[[nodiscard]] Status revert(Version& version, const AdoptionRequest& request);

// The version of the kind and subject that the node uses: one for all nodes, or in the canary of this node;
// of several the one with the largest `to_version`, then the one adopted last. Null: none. An empty node uses
// no canary.
[[nodiscard]] const Version* in_use(std::span<const Version> versions, ProposalKind kind,
                                    std::string_view subject, std::string_view node);

}  // namespace autopilot::learning
