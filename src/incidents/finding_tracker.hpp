// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catalog/catalog.hpp"
#include "core/clock.hpp"
#include "core/finding.hpp"
#include "core/observation.hpp"
#include "incidents/devices.hpp"
#include "incidents/finding_state.hpp"
#include "incidents/reset_witness.hpp"

namespace autopilot::incidents {

// Finds a reason in the catalog; null for an unknown id, which gets the cautious defaults of
// catalog::Reason.
using ReasonLookup = std::function<const catalog::Reason*(std::string_view)>;

// A finding in the journal. `state` is opaque outside this folder; the fields equal those of the journal's
// StoredFinding.
struct SavedFinding {
  std::string check;
  Finding finding;
  std::string boot_id;
  std::string state;
};
// Incident of the finding; empty if its state cannot be parsed.
[[nodiscard]] std::string incident_of(const SavedFinding& saved);
// Marks the finding as released: its GPU was reset after its last evidence.
void release(SavedFinding& saved);

// Turns the findings of each run into findings with hysteresis, memory and clear rules. Pure: no clock, no
// I/O; one owner.
//
// - A finding is raised after Reason::raise_rounds runs in a row; it gets worse after the same number.
// - It clears only when its clear rule fires; until then it is shown as held. Another card in its slot clears
//   it under any rule, and it follows its card (serial, else UUID) to another slot.
// - A GPU that disappears from the list of a check and returns was reset, and so was a GPU with other proof
//   (see ResetWitness). A reset applies to the findings of all checks about the GPU.
// - A run that could not check the subject changes no counter. The subject was not checked if the run reports
//   `unknown` for it, its GPU or the host, or if a device that used to answer did not answer. A judge reports
//   unknown only for a subject without any observation, or with a reason whose Reason::hides lists the
//   findings that could not be checked.
// - Findings of health unknown or unsupported last exactly as long as they are reported.
// - Injected findings are separate from real ones and end with the injection.
class FindingTracker {
 public:
  static constexpr std::size_t kMaxFindingsPerCheck = 1024;

  FindingTracker(ReasonLookup reasons, std::string boot_id);

  // Applies one completed run: the judge's findings and the observations.
  std::vector<Transition> complete_round(std::string_view check, Instant now, const Findings& findings,
                                         const Observations& observations);
  // The GPU was reset, according to the kernel log, the driver or our own action. The host means all of its
  // GPUs and switches.
  std::vector<Transition> gpu_was_reset(const Subject& gpu);
  // The driver retracted its error of that code for the GPU.
  std::vector<Transition> taken_back(const Subject& gpu, std::uint32_t code);
  // An operator acknowledged the incident. Clears its findings with the clear rule `acknowledged`, at once or
  // as soon as the condition is gone.
  std::vector<Transition> acknowledge(std::string_view incident);

  // Moves the findings of one incident to another.
  void move_to_incident(std::string_view from, const std::string& to);
  // Id for an incident without findings.
  [[nodiscard]] std::string new_incident_id();

  // The current findings of a check, sorted by subject and reason.
  [[nodiscard]] Findings findings(std::string_view check) const;

  // Every raised degraded or failed finding. Findings that are not raised yet start again after a restart.
  [[nodiscard]] std::vector<SavedFinding> save() const;
  // A finding of an earlier boot remains until the first run of this boot. A finding whose state cannot be
  // parsed keeps its health, restarts its clear rule and gets a new incident. An already raised finding is
  // not changed.
  void restore(const std::vector<SavedFinding>& saved, Instant now);
  // True if a finding of the same check, subject and reason is raised.
  [[nodiscard]] bool has(std::string_view check, const Finding& finding) const;

  // GPUs whose reset complete_round detected from observations, since the last call.
  [[nodiscard]] std::vector<Subject> take_seen_resets() { return std::exchange(seen_resets_, {}); }

  // A `raised` transition for every raised degraded or failed finding.
  [[nodiscard]] std::vector<Transition> raised() const;
  // Number of the next incident. Save and restore it, so that ids remain unique.
  [[nodiscard]] std::uint64_t next_incident() const { return next_incident_; }
  void restore_next_incident(std::uint64_t number);

  // Findings dropped because a check exceeded kMaxFindingsPerCheck.
  [[nodiscard]] std::size_t dropped() const { return dropped_ + passing_.dropped(); }

 private:
  using Key = FindingKey;
  struct Tracked {
    Finding finding;  // as shown
    std::string boot_id;
    Memory memory;
  };
  using Entries = std::map<Key, Tracked>;
  struct Round;

  [[nodiscard]] const catalog::Reason& facts(std::string_view reason) const;
  [[nodiscard]] std::pair<Entries::iterator, Entries::iterator> of_check(std::string_view check);
  [[nodiscard]] KeyedFindings incoming(std::string_view check, const Findings& findings) const;
  void follow_cards(std::vector<Transition>& transitions);
  void report(const Key& key, const Finding& finding, const Round& round,
              std::vector<Transition>& transitions);
  void raise_or_change(Tracked& tracked, const Key& key, const Finding& finding, WallTime now,
                       std::vector<Transition>& transitions);
  void not_reported(Entries::iterator entry, const Round& round, std::vector<Transition>& transitions);
  void note_return(const Key& key, Tracked& tracked, const Round& round);
  [[nodiscard]] std::vector<Subject> returned_gpus(std::string_view check, const Round& round);
  void note_resets(std::string_view check, const Round& round, const Observations& observations,
                   std::vector<Transition>& transitions);
  [[nodiscard]] std::vector<Transition> release(
      const std::function<bool(const Key&, const Tracked&)>& concerns);
  [[nodiscard]] bool may_clear(const Key& key, const Tracked& tracked, Instant now) const;
  void clear(Entries::iterator entry, catalog::ClearRule rule, std::vector<Transition>& transitions);

  ReasonLookup reasons_;
  std::string boot_id_;
  Entries entries_;
  PassingFindings passing_;
  Placement placement_;
  // By check: GPUs listed in this boot; true while a GPU is missing.
  std::map<std::string, std::map<Subject, bool>, std::less<>> listed_gpus_;
  ResetWitness resets_;
  std::vector<Subject> seen_resets_;
  std::uint64_t next_incident_ = 1;
  std::size_t dropped_ = 0;
};

}  // namespace autopilot::incidents
