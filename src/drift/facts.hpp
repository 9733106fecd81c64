// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace autopilot::drift {

// One fact of a machine, such as the version of its driver.
struct Fact {
  std::string value;
  std::string source;  // where it was read: a file of the kernel, a library

  friend bool operator==(const Fact&, const Fact&) = default;
};

using Facts = std::map<std::string, Fact, std::less<>>;           // by key
using Reasons = std::map<std::string, std::string, std::less<>>;  // key -> why it could not be read

// What one machine is made of and how it is set, without anything that changes while it runs.
struct FactSet {
  static constexpr std::size_t kMaxFacts = 10'000;

  std::string node;
  std::string time;  // of the reading; empty: not stated
  Facts facts;
  Reasons missing;

  // The fact; kAbsent for a key of a family whose members are all known; empty: it could not be read.
  [[nodiscard]] std::optional<std::string> value_of(std::string_view key) const;
  // Why the fact, or its family, could not be read; empty: no reason is known.
  [[nodiscard]] std::string reason_of(std::string_view key) const;
};

// Value of a fact that the machine does not have: a kernel module that is not loaded, an argument that the
// kernel did not get.
inline constexpr std::string_view kAbsent = "absent";

// Facts with one meaning. A `*` in the key stands for a name without dots, and at the end of it for any name.
struct FactFamily {
  std::string_view key;  // "driver.nvidia", "gpu.*.vbios", "sysctl.*"
  std::string_view meaning;
  // All members are known if one of the family was read or none has a reason: others are kAbsent.
  bool is_open = false;
};
// In the order of the documentation.
[[nodiscard]] std::span<const FactFamily> fact_families();
// The family of a key, also of a key with a `*` in place of a name; null: no such fact exists.
[[nodiscard]] const FactFamily* family_of(std::string_view key);
// Whether the pattern, a key in which `*` stands for a name, selects the key.
[[nodiscard]] bool matches(std::string_view pattern, std::string_view key);

// Parses a snapshot, YAML or JSON: `node`, `time`, `facts` and `missing`. malformed: every problem as
// "<name>:<line>: ...".
[[nodiscard]] Result<FactSet> parse_facts(std::string_view text, std::string_view name);
// The snapshot as YAML, which parse_facts reads back as the same facts.
[[nodiscard]] std::string format_facts(const FactSet& facts);

}  // namespace autopilot::drift
