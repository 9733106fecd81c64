// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/readings.hpp"

#include <array>

#include "host/gpu/nvml_abi.h"

namespace autopilot::host {
namespace {

using enum GpuGroup;
using enum ReadingKind;
using namespace reading;

// clang-format off
constexpr auto kReadings = std::to_array<ReadingInfo>({
    {kMinor, identity, "", fact, false, "number of /dev/nvidiaN"},
    {kPersistence, identity, "", gauge, false, "persistence mode is on"},
    {kMig, identity, "", gauge, false, "the GPU is divided into instances"},
    {kRecoveryAction, identity, "", gauge, false, "what the driver wants done: 0 nothing, 1 GPU reset, 2 node reboot, 3 drain peer traffic, 4 drain and reset, 5 recover IMEX domain, 6 bus reset, 7 system reboot"},
    {kPerformanceState, identity, "", gauge, false, "P state: 0 is full speed"},

    {kRowRemapCorrectable, row_remap, "count", counter, false, "memory rows replaced after corrected errors"},
    {kRowRemapUncorrectable, row_remap, "count", counter, false, "memory rows replaced after uncorrectable errors"},
    {kRowRemapPending, row_remap, "", gauge, false, "a replacement waits for a reset of the GPU"},
    {kRowRemapFailed, row_remap, "", gauge, false, "a row could not be replaced"},
    {kRowRemapBanksMax, row_remap, "count", gauge, false, "memory banks with all spare rows left"},
    {kRowRemapBanksHigh, row_remap, "count", gauge, false, "memory banks with many spare rows left"},
    {kRowRemapBanksPartial, row_remap, "count", gauge, false, "memory banks with some spare rows left"},
    {kRowRemapBanksLow, row_remap, "count", gauge, false, "memory banks with one spare row left"},
    {kRowRemapBanksNone, row_remap, "count", gauge, false, "memory banks without a spare row"},
    {kRowRemapUnrepairable, row_remap, "", gauge, false, "the driver reports that the memory cannot be repaired"},
    {kRepairChannelPending, row_remap, "", gauge, false, "the repair of a memory channel waits for a reset"},
    {kRepairTpcPending, row_remap, "", gauge, false, "the repair of a processing cluster waits for a reset"},

    {kEccEnabled, ecc, "", gauge, false, "error correction is on"},
    {kEccVolatileCorrected, ecc, "count", counter, false, "corrected memory errors since the driver was loaded"},
    {kEccVolatileUncorrected, ecc, "count", counter, false, "uncorrected memory errors since the driver was loaded"},
    {kEccAggregateCorrected, ecc, "count", counter, false, "corrected memory errors over the life of the board"},
    {kEccAggregateUncorrected, ecc, "count", counter, false, "uncorrected memory errors over the life of the board"},
    {kEccDramVolatileUncorrected, ecc, "count", counter, false, "those of the device memory since the driver was loaded"},
    {kEccSramVolatileUncorrected, ecc, "count", counter, false, "those of the on-chip memory since the driver was loaded"},
    {kEccSramAggregateUncorrected, ecc, "count", counter, false, "those of the on-chip memory over the life of the board"},
    {kEccSramThresholdExceeded, ecc, "", gauge, false, "the driver's own limit of on-chip memory errors is exceeded"},
    {kRetiredPagesSingleBit, ecc, "count", counter, false, "memory pages retired after single-bit errors (before Ampere)"},
    {kRetiredPagesDoubleBit, ecc, "count", counter, false, "memory pages retired after double-bit errors (before Ampere)"},
    {kRetiredPagesPending, ecc, "", gauge, false, "a page retirement waits for a reset (before Ampere)"},
    {kEccVolatileDeferred, ecc, "count", counter, false, "uncorrectable memory errors that nothing has used yet, since the driver was loaded (AMD)"},
    {kBadPagesRetired, ecc, "count", counter, false, "memory pages out of use over the life of the board (AMD)"},
    {kBadPagesPending, ecc, "count", gauge, false, "bad memory pages that are still in use until the next reset (AMD)"},
    {kBadPagesFailed, ecc, "count", gauge, false, "bad memory pages that could not be taken out of use (AMD)"},

    {kClocksEventReasons, clocks, "", gauge, false, "bits of what holds the clocks back"},
    {kClocksSm, clocks, "megahertz", gauge, false, "clock of the multiprocessors"},
    {kClocksSmMax, clocks, "megahertz", fact, false, "highest clock of the multiprocessors"},
    {kClocksMemory, clocks, "megahertz", gauge, false, "clock of the device memory"},
    {kUtilization, clocks, "ratio", gauge, false, "share of time with a kernel running"},
    {kThrottlePowerCap, clocks, "nanoseconds", counter, false, "time held back by the power limit"},
    {kThrottleThermal, clocks, "nanoseconds", counter, false, "time held back by temperature"},
    {kThrottleSyncBoost, clocks, "nanoseconds", counter, false, "time held back by a sync boost group"},
    {kThrottleBoardLimit, clocks, "nanoseconds", counter, false, "time held back by the board's limit"},
    {kThrottleReliability, clocks, "nanoseconds", counter, false, "time held back by the voltage reliability limit"},
    {kThrottleSwThermal, clocks, "nanoseconds", counter, false, "time slowed by the driver because of temperature"},
    {kThrottleHwThermal, clocks, "nanoseconds", counter, false, "time slowed by the hardware because of temperature"},
    {kThrottleHwPowerBrake, clocks, "nanoseconds", counter, false, "time slowed by the external power brake signal"},

    {kTemperatureGpu, temperature, "celsius", gauge, false, "temperature of the chip"},
    {kTemperatureMemory, temperature, "celsius", gauge, false, "temperature of the device memory"},
    {kTemperatureMargin, temperature, "celsius", gauge, false, "distance to the nearest slowdown limit"},
    {kTemperatureShutdown, temperature, "celsius", fact, false, "the hardware switches off here"},
    {kTemperatureSlowdown, temperature, "celsius", fact, false, "the hardware slows down here"},
    {kTemperatureGpuMax, temperature, "celsius", fact, false, "highest operating temperature of the chip"},
    {kTemperatureMemoryMax, temperature, "celsius", fact, false, "highest operating temperature of the device memory"},

    {kPcieWidth, pcie, "lanes", gauge, false, "width of the link now"},
    {kPcieWidthMax, pcie, "lanes", fact, false, "width that GPU and system allow"},
    {kPcieGeneration, pcie, "", gauge, false, "generation of the link now; lower at idle by design"},
    {kPcieGenerationMax, pcie, "", fact, false, "generation that GPU and system allow"},
    {kPcieReplays, pcie, "count", counter, false, "packets sent again"},
    {kPcieReplayRollovers, pcie, "count", counter, false, "times a packet was sent again too often"},
    {kPcieRecoveries, pcie, "count", counter, false, "times the link went from full power to recovery"},
    {kPcieCorrectable, pcie, "count", counter, false, "correctable errors seen by the GPU"},
    {kPcieNonFatal, pcie, "count", counter, false, "non-fatal errors seen by the GPU"},
    {kPcieFatal, pcie, "count", counter, false, "fatal errors seen by the GPU"},
    {kPcieNaksReceived, pcie, "count", counter, false, "packets of the GPU that the other end refused"},
    {kPcieReceiverErrors, pcie, "count", counter, false, "errors of the receiver of the GPU"},
    {kPcieBadTlps, pcie, "count", counter, false, "packets that arrived damaged"},
    {kPcieNaksSent, pcie, "count", counter, false, "packets that the GPU refused"},
    {kPcieBadDllps, pcie, "count", counter, false, "packets of the link itself that arrived damaged"},
    {kPcieUnsupportedRequests, pcie, "count", counter, false, "requests that the GPU does not know"},
    {kPcieLcrcErrors, pcie, "count", counter, false, "packets with a wrong checksum of the link"},
    {kPcieLaneErrors, pcie, "count", counter, false, "errors of single lanes"},

    {kNvLinkCount, nvlink, "count", fact, false, "links the GPU has"},
    {kNvLinkActive, nvlink, "", gauge, true, "the link is up"},
    {kNvLinkVersion, nvlink, "", fact, true, "NVML's number of the link's version"},
    {kNvLinkRemote, nvlink, "", fact, true, "PCI address of the other end"},
    {kNvLinkReplays, nvlink, "count", counter, true, "packets sent again"},
    {kNvLinkRecoveries, nvlink, "count", counter, true, "times the link was trained again"},
    {kNvLinkCrcErrors, nvlink, "count", counter, true, "packets with a wrong checksum"},
    {kNvLinkReceiveErrors, nvlink, "count", counter, true, "packets received with an error (NVLink 5)"},
    {kNvLinkIntegrityErrors, nvlink, "count", counter, true, "local link integrity errors (NVLink 5)"},
    {kNvLinkRecoveriesFailed, nvlink, "count", counter, true, "recoveries that failed (NVLink 5)"},
    {kNvLinkCrcDataErrors, nvlink, "count", counter, true, "data packets with a wrong checksum (before NVLink 4)"},
    {kNvLinkSymbolBer, nvlink, "ratio", gauge, true, "symbols that stay wrong after correction, since the link came up (NVLink 5)"},

    {kPowerUsage, power, "watts", gauge, false, "power drawn by the board"},
    {kPowerLimit, power, "watts", gauge, false, "limit in force"},
    {kPowerLimitRequested, power, "watts", gauge, false, "limit that was set"},
    {kPowerLimitDefault, power, "watts", gauge, false, "limit as delivered"},

    {kProcesses, processes, "count", gauge, false, "processes with a compute or graphics context"},
    {kProcessPids, processes, "", gauge, false, "their numbers, as the driver knows them"},
    {kMemoryTotal, processes, "bytes", fact, false, "size of the device memory"},
    {kMemoryUsed, processes, "bytes", gauge, false, "device memory in use, without the reserve of the driver if it reports it"},

    {kFabricState, fabric, "", gauge, false, "registration with the NVLink fabric: 0 has none, 1 not started, 2 in progress, 3 completed"},
    {kFabricStatus, fabric, "", gauge, false, "NVML's code of the registration, once it is completed"},
    {kFabricHealthMask, fabric, "", gauge, false, "bits of the health of its place in the fabric; healthy is not zero"},
    {kFabricClique, fabric, "", gauge, false, "number of the group of GPUs that reach each other"},
    {kFabricCluster, fabric, "", gauge, false, "UUID of the fabric; all zero within one node"},

    {kInforomValid, inforom, "", gauge, false, "the checksums of the board's configuration memory are right"},
});
// clang-format on

}  // namespace

std::span<const ReadingInfo> gpu_readings() {
  return kReadings;
}

static_assert(clocks_reason::kHwSlowdown == nvml::kClocksReasonHwSlowdown &&
              clocks_reason::kSwThermal == nvml::kClocksReasonSwThermal &&
              clocks_reason::kHwThermal == nvml::kClocksReasonHwThermal &&
              clocks_reason::kHwPowerBrake == nvml::kClocksReasonHwPowerBrake);
static_assert(reading_code::kFunctionAbsent == nvml::kSymbolAbsent);
static_assert(static_cast<unsigned>(FabricState::in_progress) == nvml::kFabricInProgress &&
              static_cast<unsigned>(FabricState::completed) == nvml::kFabricCompleted);
static_assert(static_cast<unsigned>(RecoveryAction::drain_and_reset) == nvml::kRecoveryDrainAndReset &&
              static_cast<unsigned>(RecoveryAction::system_reboot) == nvml::kRecoverySystemReboot);

const ReadingInfo* find_reading(std::string_view name) {
  for (const ReadingInfo& info : kReadings)
    if (info.name == name) return &info;
  return nullptr;
}

bool comes_with(const ReadingInfo& reading, const std::set<GpuGroup>& groups) {
  // Clocks and PCIe links are slow by design on an idle GPU, and processes are judged by its utilization.
  if (reading.name == kPerformanceState && (groups.contains(clocks) || groups.contains(pcie))) return true;
  if (reading.name == kUtilization && groups.contains(processes)) return true;
  return groups.contains(reading.group);
}

std::string reading_code_word(int code) {
  switch (code) {
    case nvml::kSuccess:
      return "ok";
    case nvml::kNotSupported:
      return "not_supported";
    case reading_code::kFunctionAbsent:
    case nvml::kFunctionNotFound:
      return "function_absent";
    case reading_code::kUnreadable:
      return "unreadable";
    case nvml::kNoPermission:
      return "denied";
    case nvml::kTimeout:
      return "timed_out";
    case nvml::kGpuIsLost:
      return "gpu_lost";
    case nvml::kResetRequired:
      return "reset_required";
    default:
      return "nvml_" + std::to_string(code);
  }
}

}  // namespace autopilot::host
