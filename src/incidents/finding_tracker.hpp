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
#include "incidents/memory.hpp"
#include "incidents/passing_findings.hpp"
#include "incidents/placement.hpp"
#include "incidents/reset_witness.hpp"
#include "incidents/transition.hpp"

namespace autopilot::incidents {

// The catalog's facts about a reason; nothing for an unknown word, which then gets the cautious defaults of
// catalog::Reason.
using ReasonLookup = std::function<const catalog::Reason*(std::string_view)>;

// One finding as it survives a restart. `state` is opaque outside this folder; the fields are those of the
// journal's StoredFinding.
struct SavedFinding {
  std::string check;
  Finding finding;
  std::string boot_id;
  std::string state;
};
// The incident it belongs to; empty where its state cannot be read.
[[nodiscard]] std::string incident_of(const SavedFinding& saved);
// Its GPU was reset since it was told last.
void release(SavedFinding& saved);

// Turns what the judges say round by round into findings with hysteresis, memory and clear rules. Pure: no
// clock, no I/O; one owner.
//
// - A finding counts after Reason::raise_rounds rounds in a row; the same number is needed to get worse.
// - It goes away only when its clear rule fires; until then it is shown as held. Another card in its slot
//   ends it whatever its rule, and it follows its card (serial, else UUID) to another slot.
// - A GPU that a check does not list for a while, and then again, was reset, and so was one of which looks
//   prove it otherwise (see ResetWitness): all checks' findings about it learn so.
// - A round in which the check could not look at the subject counts for nothing: neither up nor down. It
//   could not look where it said `unknown` about the subject, its GPU or the host, or where a device that
//   used to answer it did not answer. A judge says unknown about a subject only if it saw nothing of
//   it, or with a reason whose Reason::hides tells which findings it could not look for.
// - Findings of health unknown or unsupported last exactly as long as they are said.
// - Injected findings are kept apart from real ones and end with the injection.
class FindingTracker {
 public:
  static constexpr std::size_t kMaxFindingsPerCheck = 1024;

  FindingTracker(ReasonLookup reasons, std::string boot_id);

  // One completed round: the judge's findings and what observe returned.
  std::vector<Transition> complete_round(std::string_view check, Instant now, const Findings& findings,
                                         const Observations& observations);
  // Somebody saw this GPU being reset (the kernel log, the driver, our own action). The host stands for all
  // of its GPUs and switches.
  std::vector<Transition> gpu_was_reset(const Subject& gpu);
  // The driver says that what its error of that code told about the GPU is over.
  std::vector<Transition> taken_back(const Subject& gpu, std::uint32_t code);
  // An operator has seen the finding of that incident. Clears it where that is its rule and the condition is
  // gone, or as soon as it is gone.
  std::vector<Transition> acknowledge(std::string_view incident);

  // Its findings belong to another incident from now on.
  void move_to_incident(std::string_view from, const std::string& to);
  // The number of an incident that is not of a finding.
  [[nodiscard]] std::string new_incident_id();

  // What counts now, in order of subject and reason.
  [[nodiscard]] Findings findings(std::string_view check) const;

  // Every raised degraded or failed finding. Those still on their way through hysteresis begin anew.
  [[nodiscard]] std::vector<SavedFinding> save() const;
  // A finding of an earlier boot waits for the first look of this boot. One whose state cannot be read keeps
  // its health, starts its clear rule anew and gets another incident. One that is raised already stays.
  void restore(const std::vector<SavedFinding>& saved, Instant now);
  // The finding of the same check, subject and reason is raised.
  [[nodiscard]] bool has(std::string_view check, const Finding& finding) const;

  // GPUs that complete_round found to have been reset, by looks alone, since the last call.
  [[nodiscard]] std::vector<Subject> take_seen_resets() { return std::exchange(seen_resets_, {}); }

  // Every raised degraded or failed finding as if it were raised now.
  [[nodiscard]] std::vector<Transition> raised() const;
  // The number of the next incident: must be saved and restored, so that ids stay unique.
  [[nodiscard]] std::uint64_t next_incident() const { return next_incident_; }
  void restore_next_incident(std::uint64_t number);

  // Findings not taken because a check had too many.
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
  // By check: the GPUs it has listed in this boot, true while they are gone.
  std::map<std::string, std::map<Subject, bool>, std::less<>> listed_gpus_;
  ResetWitness resets_;
  std::vector<Subject> seen_resets_;
  std::uint64_t next_incident_ = 1;
  std::size_t dropped_ = 0;
};

}  // namespace autopilot::incidents
