// SPDX-License-Identifier: Apache-2.0
// What a process of a job answers in place of NCCL's RAS: parsed within the limits or refused, and mapped to
// ranks of the job without a rank that the job does not have.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "collect/ras/rank_map.hpp"
#include "core/result.hpp"
#include "host/nccl_ras/ras_answer.hpp"
#include "host/nccl_ras/ras_client.hpp"
#include "host/nccl_ras/ras_helper.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::ras_answer_fuzz {

int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)host::parse_ras_address(text);
  (void)host::parse_ras_target(text);
  const auto answer = host::parse_ras_answer(text);
  if (!answer) return 0;
  AUTOPILOT_ASSERT(answer->communicators.size() <= host::kMaxRasCommunicators);
  std::size_t members = 0;
  for (const host::RasCommunicator& communicator : answer->communicators) {
    members += communicator.ranks.size() + communicator.missing.size();
    for (const host::RasRank& rank : communicator.ranks)
      AUTOPILOT_ASSERT(rank.rank >= 0 && rank.rank < communicator.size && rank.started.value_or(0) >= 0);
  }
  AUTOPILOT_ASSERT(members <= host::kMaxRasMembers);
  const collect::JobPlaces job{.local = {{0, 100, {0}}, {1, 101, {1}}}, .world = 4};
  for (const jobs::Communicator& communicator : collect::map_answer(*answer, job).communicators) {
    AUTOPILOT_ASSERT(communicator.ranks.size() == communicator.started.size());
    AUTOPILOT_ASSERT(communicator.ranks.size() <= static_cast<std::size_t>(communicator.size));
    for (const int rank : communicator.ranks)
      AUTOPILOT_ASSERT(rank >= 0 && rank < 4);
  }
  return 0;
}

}  // namespace autopilot::ras_answer_fuzz
