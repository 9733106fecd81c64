// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "collect/seen_jobs.hpp"
#include "core/result.hpp"
#include "host/process/process_reader.hpp"

namespace autopilot::collect {

// What sources need of the initial environment of a rank's process. Nothing else of it is kept. Texts are as
// the job wrote them, and empty where the variable is not set.
struct RankEnvironment {
  std::string ras_address;           // NCCL_RAS_ADDR
  bool is_ras_disabled = false;      // NCCL_RAS_ENABLE=0
  std::string dump_prefix;           // TORCH_FR_DUMP_TEMP_FILE, or TORCH_NCCL_DEBUG_INFO_TEMP_FILE
  std::string trigger_prefix;        // TORCH_FR_DEBUG_INFO_PIPE_FILE, or TORCH_NCCL_DEBUG_INFO_PIPE_FILE
  bool has_flight_recorder = false;  // TORCH_FR_BUFFER_SIZE, or TORCH_NCCL_TRACE_BUFFER_SIZE, above 0
  std::string cache_folder;          // XDG_CACHE_HOME, or .cache in HOME
};

// Must not block: sources call it while they are polled.
using EnvironmentOf = std::function<RankEnvironment(const RankProcess& process)>;

// From procfs, or from the reader if that is denied; null: there is none. May block if the process hangs:
// call it on a worker. denied: the agent runs neither as root nor as the user of the process. not_found: the
// process has ended. Further errors of ProcessReader.
[[nodiscard]] Result<RankEnvironment> read_rank_environment(const RankProcess& process,
                                                            const host::ProcessReader* reader = nullptr);

}  // namespace autopilot::collect
