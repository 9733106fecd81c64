// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"

// A change that learning suggests. Nothing changes before it is adopted.
namespace autopilot::learning {

enum class ProposalKind : std::uint8_t { baseline, threshold, check_role, signals };

// shadow: evaluated beside what is in use, without effect. canary: in use where it was approved. adopted: in
// use. reverted: `from` is in use again.
enum class ProposalState : std::uint8_t { shadow, canary, adopted, reverted };

// Records that a proposal is based on.
struct ProposalBasis {
  std::size_t records = 0;   // measurements, scores or labels
  std::size_t places = 0;    // nodes and cards
  std::size_t excluded = 0;  // places that do not count: open faults, probation
  WallTime first{}, last{};
};

// Findings that `from` and `to` give on the records of the last 30 days.
struct ProposalReplay {
  std::size_t evaluations = 0;
  std::size_t before = 0;
  std::size_t after = 0;
};
inline constexpr Duration kReplayed = std::chrono::days(30);

// How long a proposal stays in shadow.
inline constexpr Duration kShadow = std::chrono::days(7);

struct Proposal {
  std::string id;  // 16 digits; the same records give the same id
  ProposalKind kind = ProposalKind::baseline;
  std::string subject;   // "gbps of net.loopback on gpu=H100;driver=570"
  std::string sentence;  // what changes, for a person
  std::string from;      // value in use; empty: none
  std::string to;
  std::uint32_t from_version = 0;  // 0: none
  std::uint32_t to_version = 0;
  ProposalBasis basis;
  ProposalReplay replay;
  ProposalState state = ProposalState::shadow;
  WallTime created{};
  WallTime shadow_until{};
};

[[nodiscard]] std::string_view to_string(ProposalKind kind);
[[nodiscard]] std::string_view to_string(ProposalState state);

// Sets the id, from all but the state, and shadow_until. `created`: time of the records' evaluation.
[[nodiscard]] Proposal make_proposal(Proposal proposal, WallTime created);

// shadow -> canary after shadow_until, canary -> adopted, any but reverted -> reverted. `conflict`: another
// step, or too early; the text states the time.
[[nodiscard]] Status change_state(Proposal& proposal, ProposalState next, WallTime now);

}  // namespace autopilot::learning
