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
  std::optional<WallTime> closed;  // when the close was noticed
  bool is_acknowledged = false;
  friend bool operator==(const EvictingIncident&, const EvictingIncident&) = default;
};

// Id for an eviction before this agent started, known only from the label on the node.
inline constexpr std::string_view kPredecessor = "predecessor";

// The published verdict (label gpuhealth), and the incidents that may keep it worse than the current verdict.
struct WrittenVerdict {
  Verdict word = Verdict::none;
  std::vector<EvictingIncident> evicting;  // incidents that still require EVICT
  std::string node_uid{};  // uid of the Node object that had a label; empty: no label seen yet
  friend bool operator==(const WrittenVerdict&, const WrittenVerdict&) = default;
};

struct WrittenVerdictInput {
  Verdict verdict = Verdict::none;      // current verdict of the node
  std::span<const Incident> incidents;  // open and recovering
  ReasonLookup reasons{};
  std::optional<WallTime> deep_test_passed;  // start of the last deep diagnostic, if it passed
  WallTime now{};
};

// The next published verdict. EVICT remains after the verdict gets better, until each evicting incident has
// closed and a deep diagnostic has passed after that, or a person has acknowledged the incident. EVICT from a
// deep diagnostic alone lasts as long as the verdict. Other verdicts are published unchanged. Times in the
// future end nothing early: a close in the future counts as now, and a diagnostic in the future does not
// count.
[[nodiscard]] WrittenVerdict next_written(const WrittenVerdict& before, const WrittenVerdictInput& input);

// Handles the label on the Node object of that uid; empty: no label. Removing an EVICT that waits only for a
// deep diagnostic acknowledges it. TESTING replaces EVICT and acknowledges nothing. A newly created Node
// object without a label acknowledges nothing. True: `written` changed.
[[nodiscard]] bool see_label(WrittenVerdict& written, std::string_view label, std::string_view node_uid);

// A sentence: why EVICT remains although the verdict may be better, and what ends it. Empty: no incident
// requires EVICT. label: name of the label, "autopilot.ibm.com/gpuhealth".
[[nodiscard]] std::string why_it_stays(std::span<const EvictingIncident> evicting, std::string_view node,
                                       std::string_view label);

// Most incidents in one text. Any one of them is enough for EVICT.
inline constexpr std::size_t kMaxEvictingKept = 32;
// One line for the journal. parse returns nullopt unless every word is present and valid.
[[nodiscard]] std::string to_text(const WrittenVerdict& written);
[[nodiscard]] std::optional<WrittenVerdict> parse_written_verdict(std::string_view text);

}  // namespace autopilot::incidents
