// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace autopilot::catalog {

// Where a fact comes from. own: our judgement, not measured; measured: by a command of this repository.
enum class EvidenceKind : std::uint8_t { vendor, peer, own, measured };

[[nodiscard]] std::string_view to_string(EvidenceKind kind);
[[nodiscard]] std::optional<EvidenceKind> parse_evidence_kind(std::string_view word);

struct Provenance {
  std::string source;
  std::string date;  // ISO, when the source was read
  EvidenceKind evidence = EvidenceKind::own;
};

}  // namespace autopilot::catalog
