// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "host/gpu/gpus.hpp"

namespace autopilot::host {

// gauge: a state now. counter: grows while the driver is loaded. fact: fixed while the driver is loaded; the
// helper reads it once per GPU and caches it.
enum class ReadingKind : std::uint8_t { gauge, counter, fact };

// One value that the driver can report about a GPU.
struct ReadingInfo {
  std::string_view name;
  GpuGroup group;
  std::string_view unit;  // "" for words, numbers without unit and flags (true, false)
  ReadingKind kind;
  bool per_link;  // one value for each NVLink
  std::string_view meaning;
};

// All readings, in the order of the groups. The helper, the checks, machine trees and the documentation use
// this list.
[[nodiscard]] std::span<const ReadingInfo> gpu_readings();
[[nodiscard]] const ReadingInfo* find_reading(std::string_view name);
// True if a report of `groups` contains the reading: it belongs to one of them, or the checks need it to
// judge one of them.
[[nodiscard]] bool comes_with(const ReadingInfo& reading, const std::set<GpuGroup>& groups);

// Values of GpuReading::code that NVML does not have.
namespace reading_code {
inline constexpr int kFunctionAbsent = -1;  // the library lacks the function
inline constexpr int kUnreadable = -2;      // the driver's file cannot be parsed
}  // namespace reading_code

// The word for a GpuReading::code: "ok", "not_supported", "function_absent", "unreadable", "denied",
// "timed_out", "gpu_lost", "reset_required", otherwise "nvml_<code>".
[[nodiscard]] std::string reading_code_word(int code);

// The reading processes.pids: process ids separated by spaces, at most the first 32.
template <class Pid>
[[nodiscard]] std::string pids_text(std::span<const Pid> pids) {
  constexpr std::size_t kMaxPids = 32;
  std::string text;
  for (const Pid pid : pids.first(std::min(pids.size(), kMaxPids)))
    text.append(text.empty() ? "" : " ").append(std::to_string(pid));
  return text;
}

// Bits of the reading clocks.event_reasons.
namespace clocks_reason {
inline constexpr std::uint64_t kApplicationClocks = 0x2;
inline constexpr std::uint64_t kSwPowerCap = 0x4;
inline constexpr std::uint64_t kHwSlowdown = 0x8;
inline constexpr std::uint64_t kSwThermal = 0x20;
inline constexpr std::uint64_t kHwThermal = 0x40;
inline constexpr std::uint64_t kHwPowerBrake = 0x80;
}  // namespace clocks_reason

// Values of the reading fabric.state.
enum class FabricState : std::uint8_t { not_supported, not_started, in_progress, completed };

// One field of the reading fabric.health_mask. 0: not reported. The meaning of other values differs between
// fields.
struct FabricPart {
  unsigned shift;
  unsigned mask;
  [[nodiscard]] constexpr unsigned of(std::uint64_t health_mask) const {
    return static_cast<unsigned>(health_mask >> shift) & mask;
  }
};
namespace fabric_mask {
// 1: true, there is a fault or a recovery in progress. 2: false, healthy.
inline constexpr FabricPart kBandwidthLow{0, 0x3};
inline constexpr FabricPart kRouteRecovery{2, 0x3};
inline constexpr FabricPart kRouteUnhealthy{4, 0x3};
inline constexpr FabricPart kAccessTimeoutRecovery{6, 0x3};
// 1: correct. Otherwise the wrong part: 2: system GUID, 3: chassis serial number, 4: no partition, 5: too few
// NVLinks, 6: firmware of the GPU, 7: location, 8: state of the GPU.
inline constexpr FabricPart kConfiguration{8, 0xf};
// 1: assigned, healthy. 2: not assigned.
inline constexpr FabricPart kPartitionAssigned{12, 0x3};
}  // namespace fabric_mask

// Values of the reading recovery_action.
enum class RecoveryAction : std::uint8_t {
  none,
  gpu_reset,
  node_reboot,
  drain_p2p,
  drain_and_reset,
  imex_domain,
  bus_reset,
  system_reboot
};

namespace reading {

// identity
inline constexpr std::string_view kMinor = "minor";
inline constexpr std::string_view kPersistence = "persistence";
inline constexpr std::string_view kMig = "mig";
inline constexpr std::string_view kRecoveryAction = "recovery_action";
inline constexpr std::string_view kPerformanceState = "performance_state";
// row_remap
inline constexpr std::string_view kRowRemapCorrectable = "row_remap.correctable";
inline constexpr std::string_view kRowRemapUncorrectable = "row_remap.uncorrectable";
inline constexpr std::string_view kRowRemapPending = "row_remap.pending";
inline constexpr std::string_view kRowRemapFailed = "row_remap.failed";
inline constexpr std::string_view kRowRemapBanksMax = "row_remap.banks_max";
inline constexpr std::string_view kRowRemapBanksHigh = "row_remap.banks_high";
inline constexpr std::string_view kRowRemapBanksPartial = "row_remap.banks_partial";
inline constexpr std::string_view kRowRemapBanksLow = "row_remap.banks_low";
inline constexpr std::string_view kRowRemapBanksNone = "row_remap.banks_none";
inline constexpr std::string_view kRowRemapUnrepairable = "row_remap.unrepairable";
inline constexpr std::string_view kRepairChannelPending = "repair.channel_pending";
inline constexpr std::string_view kRepairTpcPending = "repair.tpc_pending";
// ecc
inline constexpr std::string_view kEccEnabled = "ecc.enabled";
inline constexpr std::string_view kEccVolatileCorrected = "ecc.volatile_corrected";
inline constexpr std::string_view kEccVolatileUncorrected = "ecc.volatile_uncorrected";
inline constexpr std::string_view kEccAggregateCorrected = "ecc.aggregate_corrected";
inline constexpr std::string_view kEccAggregateUncorrected = "ecc.aggregate_uncorrected";
inline constexpr std::string_view kEccDramVolatileUncorrected = "ecc.dram_volatile_uncorrected";
inline constexpr std::string_view kEccSramVolatileUncorrected = "ecc.sram_volatile_uncorrected";
inline constexpr std::string_view kEccSramAggregateUncorrected = "ecc.sram_aggregate_uncorrected";
inline constexpr std::string_view kEccSramThresholdExceeded = "ecc.sram_threshold_exceeded";
inline constexpr std::string_view kRetiredPagesSingleBit = "retired_pages.single_bit";
inline constexpr std::string_view kRetiredPagesDoubleBit = "retired_pages.double_bit";
inline constexpr std::string_view kRetiredPagesPending = "retired_pages.pending";
inline constexpr std::string_view kEccVolatileDeferred = "ecc.volatile_deferred";
inline constexpr std::string_view kBadPagesRetired = "bad_pages.retired";
inline constexpr std::string_view kBadPagesPending = "bad_pages.pending";
inline constexpr std::string_view kBadPagesFailed = "bad_pages.failed";
// clocks
inline constexpr std::string_view kClocksEventReasons = "clocks.event_reasons";
inline constexpr std::string_view kClocksSm = "clocks.sm";
inline constexpr std::string_view kClocksSmMax = "clocks.sm_max";
inline constexpr std::string_view kClocksMemory = "clocks.memory";
inline constexpr std::string_view kUtilization = "utilization";
inline constexpr std::string_view kThrottlePowerCap = "throttle.power_cap";
inline constexpr std::string_view kThrottleThermal = "throttle.thermal";
inline constexpr std::string_view kThrottleSyncBoost = "throttle.sync_boost";
inline constexpr std::string_view kThrottleBoardLimit = "throttle.board_limit";
inline constexpr std::string_view kThrottleReliability = "throttle.reliability";
inline constexpr std::string_view kThrottleSwThermal = "throttle.sw_thermal";
inline constexpr std::string_view kThrottleHwThermal = "throttle.hw_thermal";
inline constexpr std::string_view kThrottleHwPowerBrake = "throttle.hw_power_brake";
// temperature
inline constexpr std::string_view kTemperatureGpu = "temperature.gpu";
inline constexpr std::string_view kTemperatureMemory = "temperature.memory";
inline constexpr std::string_view kTemperatureMargin = "temperature.margin";
inline constexpr std::string_view kTemperatureShutdown = "temperature.shutdown";
inline constexpr std::string_view kTemperatureSlowdown = "temperature.slowdown";
inline constexpr std::string_view kTemperatureGpuMax = "temperature.gpu_max";
inline constexpr std::string_view kTemperatureMemoryMax = "temperature.memory_max";
// pcie
inline constexpr std::string_view kPcieWidth = "pcie.width";
inline constexpr std::string_view kPcieWidthMax = "pcie.width_max";
inline constexpr std::string_view kPcieGeneration = "pcie.generation";
inline constexpr std::string_view kPcieGenerationMax = "pcie.generation_max";
inline constexpr std::string_view kPcieReplays = "pcie.replays";
inline constexpr std::string_view kPcieReplayRollovers = "pcie.replay_rollovers";
inline constexpr std::string_view kPcieRecoveries = "pcie.recoveries";
inline constexpr std::string_view kPcieCorrectable = "pcie.correctable";
inline constexpr std::string_view kPcieNonFatal = "pcie.nonfatal";
inline constexpr std::string_view kPcieFatal = "pcie.fatal";
inline constexpr std::string_view kPcieNaksReceived = "pcie.naks_received";
inline constexpr std::string_view kPcieReceiverErrors = "pcie.receiver_errors";
inline constexpr std::string_view kPcieBadTlps = "pcie.bad_tlps";
inline constexpr std::string_view kPcieNaksSent = "pcie.naks_sent";
inline constexpr std::string_view kPcieBadDllps = "pcie.bad_dllps";
inline constexpr std::string_view kPcieUnsupportedRequests = "pcie.unsupported_requests";
inline constexpr std::string_view kPcieLcrcErrors = "pcie.lcrc_errors";
inline constexpr std::string_view kPcieLaneErrors = "pcie.lane_errors";
// nvlink
inline constexpr std::string_view kNvLinkCount = "nvlink.count";
inline constexpr std::string_view kNvLinkActive = "nvlink.active";
inline constexpr std::string_view kNvLinkVersion = "nvlink.version";
inline constexpr std::string_view kNvLinkRemote = "nvlink.remote";
inline constexpr std::string_view kNvLinkReplays = "nvlink.replays";
inline constexpr std::string_view kNvLinkRecoveries = "nvlink.recoveries";
inline constexpr std::string_view kNvLinkCrcErrors = "nvlink.crc_errors";
inline constexpr std::string_view kNvLinkReceiveErrors = "nvlink.receive_errors";
inline constexpr std::string_view kNvLinkIntegrityErrors = "nvlink.integrity_errors";
inline constexpr std::string_view kNvLinkRecoveriesFailed = "nvlink.recoveries_failed";
inline constexpr std::string_view kNvLinkCrcDataErrors = "nvlink.crc_data_errors";
inline constexpr std::string_view kNvLinkSymbolBer = "nvlink.symbol_ber";
// power
inline constexpr std::string_view kPowerUsage = "power.usage";
inline constexpr std::string_view kPowerLimit = "power.limit";
inline constexpr std::string_view kPowerLimitRequested = "power.limit_requested";
inline constexpr std::string_view kPowerLimitDefault = "power.limit_default";
// processes
inline constexpr std::string_view kProcesses = "processes.count";
inline constexpr std::string_view kProcessPids = "processes.pids";
inline constexpr std::string_view kMemoryTotal = "memory.total";
inline constexpr std::string_view kMemoryUsed = "memory.used";
// fabric
inline constexpr std::string_view kFabricState = "fabric.state";
inline constexpr std::string_view kFabricStatus = "fabric.status";
inline constexpr std::string_view kFabricHealthMask = "fabric.health_mask";
inline constexpr std::string_view kFabricClique = "fabric.clique";
inline constexpr std::string_view kFabricCluster = "fabric.cluster";
// inforom
inline constexpr std::string_view kInforomValid = "inforom.valid";

}  // namespace reading
}  // namespace autopilot::host
