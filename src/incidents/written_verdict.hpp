// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/incident.hpp"
#include "incidents/verdict.hpp"

namespace autopilot::incidents {

// An incident that took the node out of service.
struct EvictingIncident {
  std::string id;
  std::optional<WallTime> closed;  // when that was noticed
  bool is_acknowledged = false;
  friend bool operator==(const EvictingIncident&, const EvictingIncident&) = default;
};

// The id of what took a node out of service before anybody here watched it, by the label that was found
// there.
inline constexpr std::string_view kPredecessor = "predecessor";

// What others are told of the node (the label gpuhealth), and why it may be worse than the verdict.
struct WrittenVerdict {
  Verdict word = Verdict::none;
  std::vector<EvictingIncident> evicting;  // that still hold EVICT
  std::string node_uid{};                  // of the Node object that was seen with a label; empty: none yet
  friend bool operator==(const WrittenVerdict&, const WrittenVerdict&) = default;
};

struct WrittenVerdictInput {
  Verdict verdict = Verdict::none;      // of the node now
  std::span<const Incident> incidents;  // open and recovering
  ReasonLookup reasons{};
  std::optional<WallTime> deep_test_passed;  // when the last one of the whole node began, if it passed
  WallTime now{};
};

// EVICT stays when the verdict gets better, until each incident that evicted has closed and a deep test has
// passed after that, or a person has acknowledged it. What a deep test alone says is EVICT for as long as the
// verdict is. Everything else is written as it is. A clock that was ahead ends nothing early: what lies in
// the future closed now, and no test of the future counts.
[[nodiscard]] WrittenVerdict next_written(const WrittenVerdict& before, const WrittenVerdictInput& input);

// Whoever takes an EVICT away that stands only for want of a deep test has acknowledged it. `label`: what is
// seen to stand on the Node object of that uid; empty: none. TESTING is written in its place, and takes
// nothing away; an object that was made anew never had a label. True: something changed.
[[nodiscard]] bool see_label(WrittenVerdict& written, std::string_view label, std::string_view node_uid);

// Why EVICT stands though the verdict of the node may be better, and what ends it, in a sentence; empty: it
// does not stand for that. label: its name, "autopilot.ibm.com/gpuhealth".
[[nodiscard]] std::string why_it_stays(std::span<const EvictingIncident> evicting, std::string_view node,
                                       std::string_view label);

// Of a text at most; one that holds still holds EVICT, whichever are left out.
inline constexpr std::size_t kMaxEvictingKept = 32;
// One line for the journal; parse gives nothing unless every word of it is there and well-formed.
[[nodiscard]] std::string to_text(const WrittenVerdict& written);
[[nodiscard]] std::optional<WrittenVerdict> parse_written_verdict(std::string_view text);

}  // namespace autopilot::incidents
