// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/word_table.hpp"

// What a person has to know about a script before it runs in Kubernetes.
namespace autopilot::workloads::migrate {

enum class Severity : std::uint8_t {
  decision,  // the job does not run, or not as it did, before a person decides
  warning,   // the job runs; a difference is likely to be noticed
  note,      // a difference that needs no action
};

inline constexpr WordTable<Severity, 3> kSeverities{{
    {Severity::decision, "decision"},
    {Severity::warning, "warning"},
    {Severity::note, "note"},
}};

struct ScriptFinding {
  std::string id;  // "M-SITE-PATH"
  Severity severity = Severity::note;
  std::string what;        // what is found, and why it matters
  std::string cure;        // what to do now
  std::vector<int> lines;  // of the script, ascending; empty: of the command line or the whole job
};

// The findings of one migration. One finding for an id and a text: further lines are added to it.
class Findings {
 public:
  static constexpr std::size_t kMostLines = 20;  // kept for a finding; the first ones
  static constexpr std::size_t kMost = 500;      // findings; more are dropped and counted

  // line 0: the command line, or the whole job.
  void add(Severity severity, std::string_view id, int line, std::string what, std::string cure);
  [[nodiscard]] bool has(std::string_view id) const;
  [[nodiscard]] bool needs_decision() const;
  [[nodiscard]] std::size_t dropped() const { return dropped_; }
  // Decisions first, then warnings, then notes; within one severity in the order of adding.
  [[nodiscard]] std::vector<ScriptFinding> sorted() const;

 private:
  std::vector<ScriptFinding> all_;
  std::size_t dropped_ = 0;
};

}  // namespace autopilot::workloads::migrate
