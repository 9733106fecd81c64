// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

// What NCCL's RAS reports about the communicators of a job. Every number comes from the processes of the job.
namespace autopilot::host {

inline constexpr std::size_t kMaxRasBytes = std::size_t{8} << 20;  // of an answer
inline constexpr int kMaxRasRanks = 4096;                          // of a communicator
inline constexpr std::size_t kMaxRasCommunicators = 4096;
inline constexpr std::size_t kMaxRasMembers = 65536;  // ranks of all communicators together

// Where a rank runs, as NCCL states it.
struct RasPlace {
  std::string host;             // address of the interface for bootstrap; empty: unknown
  std::int64_t pid = 0;         // as the process itself sees it; 0: unknown
  std::optional<int> cuda_dev;  // index among the devices that the process sees
  std::optional<int> nvml_dev;  // index on the node
};

struct RasRank {
  int rank = 0;  // in the communicator
  RasPlace place;
  std::optional<std::int64_t> started;  // collectives launched, of the kinds that the communicator's id means
};

// A rank without data.
struct RasMissingRank {
  int rank = 0;
  RasPlace place;
  bool is_unresponsive = false;  // its process did not answer; otherwise it has closed the communicator
  bool is_dead = false;          // RAS gave it up
};

struct RasCommunicator {
  // Unique in an answer and stable over answers. Text form: hash and kind of collective, because only kinds
  // with different counts are reported.
  std::string id;
  int size = 0;
  bool is_closing = false;     // a rank has finalized, destroyed or aborted it
  std::vector<RasRank> ranks;  // ascending; text form: only in communicators with different counts
  std::vector<RasMissingRank> missing;
};

enum class RasForm : std::uint8_t { text, json };

struct RasAnswer {
  RasForm form = RasForm::text;
  std::string nccl_version;  // empty: not stated
  std::vector<RasCommunicator> communicators;
};

// The answer to `verbose status`: JSON from NCCL 2.28 on, text before. Members and lines that are not known
// are ignored; commas that are missing in JSON (NCCL 2.28.9) are added. malformed: neither form. exhausted: a
// limit above.
[[nodiscard]] Result<RasAnswer> parse_ras_answer(std::string_view answer);

}  // namespace autopilot::host
