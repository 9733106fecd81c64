// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"

// GET /v1/jobs/evidence of openapi.yaml: what an agent captured when a job was suspected to hang. Pure.
namespace autopilot::api {

// Of one answer with the text of an item; `offset` asks for what follows.
inline constexpr std::size_t kMostEvidenceBytes = std::size_t{4} << 20;

struct EvidenceItem {
  std::string name;         // "ras", "flight_recorder", "counters", ...: docs/evidence.md has them all
  std::string file;         // `item` of the request for its text; empty: there is none
  std::uint64_t bytes = 0;  // of the text
  double took_s = 0;
  std::string problem;  // why it is missing, or not complete; empty: it is complete
};

struct CapturedEvidence {
  std::string id;   // of the finding; "stalled-..." where there was none
  std::string job;  // key
  WallTime time{};
  std::vector<EvidenceItem> items;
};

struct EvidenceList {
  std::string folder;                      // on the machine; each id is a folder in it
  std::vector<CapturedEvidence> evidence;  // the newest first
};

[[nodiscard]] std::string to_json(const EvidenceList& list);
[[nodiscard]] Result<EvidenceList> parse_evidence_list(std::string_view json);

}  // namespace autopilot::api
