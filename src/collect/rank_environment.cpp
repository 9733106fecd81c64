// SPDX-License-Identifier: Apache-2.0
#include "collect/rank_environment.hpp"

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "core/parse.hpp"
#include "host/process/process_handle.hpp"

namespace autopilot::collect {
namespace {

using Variables = std::map<std::string, std::string, std::less<>>;

// The newer name first.
constexpr std::string_view kDump = "TORCH_FR_DUMP_TEMP_FILE";
constexpr std::string_view kOldDump = "TORCH_NCCL_DEBUG_INFO_TEMP_FILE";
constexpr std::string_view kTrigger = "TORCH_FR_DEBUG_INFO_PIPE_FILE";
constexpr std::string_view kOldTrigger = "TORCH_NCCL_DEBUG_INFO_PIPE_FILE";
constexpr std::string_view kBuffer = "TORCH_FR_BUFFER_SIZE";
constexpr std::string_view kOldBuffer = "TORCH_NCCL_TRACE_BUFFER_SIZE";
constexpr std::string_view kRasAddress = "NCCL_RAS_ADDR";
constexpr std::string_view kRasEnable = "NCCL_RAS_ENABLE";
constexpr std::string_view kCache = "XDG_CACHE_HOME";
constexpr std::string_view kHome = "HOME";
constexpr std::size_t kMaxValue = 4096;

std::string value_of(const Variables& variables, std::string_view name, std::string_view old_name) {
  auto found = variables.find(name);
  if (found == variables.end()) found = variables.find(old_name);
  if (found == variables.end() || found->second.size() > kMaxValue) return {};
  return found->second;
}

Result<Variables> read_variables(const RankProcess& process, const host::ProcessReader* reader) {
  const auto handle = TRY(host::ProcessHandle::open(process.pid, process.started_ticks));
  auto variables = handle.environment(
      {kDump, kOldDump, kTrigger, kOldTrigger, kBuffer, kOldBuffer, kRasAddress, kRasEnable, kCache, kHome});
  if (variables || variables.error().code != Errc::denied || reader == nullptr) return variables;
  return TRY(reader->facts(process.pid, process.started_ticks)).environment;
}

}  // namespace

Result<RankEnvironment> read_rank_environment(const RankProcess& process, const host::ProcessReader* reader) {
  const Variables variables = TRY(read_variables(process, reader));
  RankEnvironment environment;
  environment.ras_address = value_of(variables, kRasAddress, kRasAddress);
  environment.is_ras_disabled = value_of(variables, kRasEnable, kRasEnable) == "0";
  environment.dump_prefix = value_of(variables, kDump, kOldDump);
  environment.trigger_prefix = value_of(variables, kTrigger, kOldTrigger);
  environment.has_flight_recorder =
      parse_number<std::int64_t>(value_of(variables, kBuffer, kOldBuffer)).value_or(0) > 0;
  environment.cache_folder = value_of(variables, kCache, kCache);
  const std::string home = value_of(variables, kHome, kHome);
  if (environment.cache_folder.empty() && !home.empty()) environment.cache_folder = home + "/.cache";
  return environment;
}

}  // namespace autopilot::collect
