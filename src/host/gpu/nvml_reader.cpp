// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/nvml_reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "host/gpu/readings.hpp"

namespace autopilot::host {
namespace {

using namespace reading;

// NVML accepts any number of fields; a limit keeps a single call short.
constexpr std::size_t kFieldsPerCall = 128;

// 0 and 1 are flags; the driver may return other numbers.
Value flag_value(std::int64_t number) {
  if (number == 0 || number == 1) return number == 1;
  return number;
}

double bit_error_rate(std::int64_t code) {
  const auto bits = static_cast<std::uint64_t>(code);
  const auto mantissa = static_cast<double>((bits >> nvml::kBerMantissaShift) & nvml::kBerMantissaMask);
  return mantissa * std::pow(10.0, -static_cast<double>(bits & nvml::kBerExponentMask));
}

Value scaled_value_of(const nvml::FieldValue& field, double scale) {
  if (scale == NvmlReader::kAsFlag) return flag_value(field_integer(field));
  if (scale == NvmlReader::kAsBitErrorRate) return bit_error_rate(field_integer(field));
  if (field.valueType == nvml::kValueDouble) return field.value.dVal * scale;
  if (scale == 1) return field_integer(field);
  return static_cast<double>(field_integer(field)) * scale;
}

std::string uuid_text(std::span<const unsigned char> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[bytes[i] >> 4U];
    text += kDigits[bytes[i] & 0xfU];
  }
  return text;
}

// The answer does not change while the driver is loaded.
bool is_lasting(nvml::Return code) {
  return code == nvml::kSuccess || code == nvml::kNotSupported || code == nvml::kSymbolAbsent ||
         code == nvml::kFunctionNotFound;
}

}  // namespace

std::vector<GpuReading> NvmlReader::read(const std::vector<GpuGroup>& groups) {
  const std::set<GpuGroup> wanted(groups.begin(), groups.end());
  if (comes_with(*find_reading(kPerformanceState), wanted)) read_performance_state();
  if (comes_with(*find_reading(kUtilization), wanted)) read_utilization();
  for (const GpuGroup group : wanted) {
    if (gone()) break;
    switch (group) {
      case GpuGroup::identity:
        read_identity();
        break;
      case GpuGroup::row_remap:
        read_row_remap();
        break;
      case GpuGroup::ecc:
        read_ecc();
        break;
      case GpuGroup::clocks:
        read_clocks();
        break;
      case GpuGroup::temperature:
        read_temperature();
        break;
      case GpuGroup::pcie:
        read_pcie();
        break;
      case GpuGroup::nvlink:
        read_nvlink();
        break;
      case GpuGroup::power:
        read_power();
        break;
      case GpuGroup::processes:
        read_processes();
        break;
      case GpuGroup::fabric:
        read_fabric();
        break;
      case GpuGroup::inforom:
        read_inforom();
        break;
    }
  }
  ask_fields();
  return std::move(readings_);
}

nvml::Return NvmlReader::note(nvml::Return code) {
  if (code == nvml::kGpuIsLost) state_ = GpuState::lost;
  if (code == nvml::kResetRequired) state_ = GpuState::reset_required;
  return code;
}

void NvmlReader::add(std::string_view name, nvml::Return code, Value value, std::optional<int> link) {
  if (code != nvml::kSuccess) return add_failed(name, code, link);
  if (const double* number = std::get_if<double>(&value); number != nullptr && !std::isfinite(*number))
    return add_failed(name, nvml::kUnknown, link);
  readings_.push_back({std::string(name), link, std::move(value), code});
}

void NvmlReader::add_failed(std::string_view name, nvml::Return code, std::optional<int> link) {
  readings_.push_back({std::string(name), link, std::nullopt, code});
}

void NvmlReader::add_flag(std::string_view name, nvml::Return code, unsigned flag, std::optional<int> link) {
  add(name, code, flag_value(flag), link);
}

void NvmlReader::add_number(std::string_view name,
                            const nvml::Function<nvml::Return(nvml::Device, unsigned*)>& function) {
  unsigned number = 0;
  const nvml::Return code = ask(function, &number);
  add(name, code, std::int64_t{number});
}

void NvmlReader::fact(std::string_view name, std::optional<int> link, const std::function<void()>& question) {
  const std::pair key{std::string(name), link.value_or(-1)};
  if (const auto known = facts_.find(key); known != facts_.end()) {
    readings_.push_back(known->second);
    return;
  }
  question();
  if (!readings_.empty() && is_lasting(readings_.back().code)) facts_[key] = readings_.back();
}

void NvmlReader::ask_fields() {
  for (std::size_t begin = 0; begin < wanted_.size(); begin += kFieldsPerCall) {
    const std::size_t count = std::min(kFieldsPerCall, wanted_.size() - begin);
    std::vector<nvml::FieldValue> values(count, nvml::FieldValue{});
    for (std::size_t i = 0; i < count; ++i) {
      values[i].fieldId = wanted_[begin + i].id;
      values[i].scopeId = wanted_[begin + i].scope;
      values[i].nvmlReturn = nvml::kNotSupported;
    }
    const nvml::Return code =
        ask(library_.functions().nvmlDeviceGetFieldValues, static_cast<int>(count), values.data());
    for (std::size_t i = 0; i < count; ++i) {
      const Field& field = wanted_[begin + i];
      const nvml::Return answer = code == nvml::kSuccess ? note(values[i].nvmlReturn) : code;
      add(field.name, answer, scaled_value_of(values[i], field.scale), field.link);
    }
  }
  wanted_.clear();
}

void NvmlReader::read_performance_state() {
  add_number(kPerformanceState, library_.functions().nvmlDeviceGetPerformanceState);
}

void NvmlReader::read_utilization() {
  nvml::Utilization rates{};
  const nvml::Return code = ask(library_.functions().nvmlDeviceGetUtilizationRates, &rates);
  add(kUtilization, code, rates.gpu / 100.0);
}

void NvmlReader::read_identity() {
  const nvml::Functions& call = library_.functions();
  fact(kMinor, std::nullopt, [&] { add_number(kMinor, call.nvmlDeviceGetMinorNumber); });
  unsigned mode = 0;
  nvml::Return code = ask(call.nvmlDeviceGetPersistenceMode, &mode);
  add_flag(kPersistence, code, mode);
  unsigned pending = 0;
  code = ask(call.nvmlDeviceGetMigMode, &mode, &pending);
  add_flag(kMig, code, mode);
  want(nvml::kFieldRecoveryAction, kRecoveryAction);
}

void NvmlReader::read_clocks() {
  const nvml::Functions& call = library_.functions();
  // Drivers before 535 have the older name with the same bits.
  unsigned long long reasons = 0;
  nvml::Return code = ask(call.nvmlDeviceGetCurrentClocksEventReasons, &reasons);
  if (code == nvml::kSymbolAbsent) code = ask(call.nvmlDeviceGetCurrentClocksThrottleReasons, &reasons);
  add(kClocksEventReasons, code, saturated(reasons));

  unsigned megahertz = 0;
  code = ask(call.nvmlDeviceGetClockInfo, nvml::kClockSm, &megahertz);
  add(kClocksSm, code, std::int64_t{megahertz});
  code = ask(call.nvmlDeviceGetClockInfo, nvml::kClockMem, &megahertz);
  add(kClocksMemory, code, std::int64_t{megahertz});
  fact(kClocksSmMax, std::nullopt, [&] {
    const nvml::Return max_code = ask(call.nvmlDeviceGetMaxClockInfo, nvml::kClockSm, &megahertz);
    add(kClocksSmMax, max_code, std::int64_t{megahertz});
  });

  want(nvml::kFieldPerfPolicyPower, kThrottlePowerCap);
  want(nvml::kFieldPerfPolicyThermal, kThrottleThermal);
  want(nvml::kFieldPerfPolicySyncBoost, kThrottleSyncBoost);
  want(nvml::kFieldPerfPolicyBoardLimit, kThrottleBoardLimit);
  want(nvml::kFieldPerfPolicyReliability, kThrottleReliability);
  want(nvml::kFieldSwThermalSlowdown, kThrottleSwThermal);
  want(nvml::kFieldHwThermalSlowdown, kThrottleHwThermal);
  want(nvml::kFieldHwPowerBrakeSlowdown, kThrottleHwPowerBrake);
}

void NvmlReader::read_temperature() {
  const nvml::Functions& call = library_.functions();
  unsigned celsius = 0;
  nvml::Return code = ask(call.nvmlDeviceGetTemperature, nvml::kTemperatureGpu, &celsius);
  add(kTemperatureGpu, code, std::int64_t{celsius});
  nvml::MarginTemperature margin{};
  margin.version = nvml::struct_version<nvml::MarginTemperature>(1);
  code = ask(call.nvmlDeviceGetMarginTemperature, &margin);
  add(kTemperatureMargin, code, std::int64_t{margin.marginTemperature});
  want(nvml::kFieldMemoryTemperature, kTemperatureMemory);

  for (const auto& [name, threshold] : std::to_array<std::pair<std::string_view, unsigned>>({
           {kTemperatureShutdown, nvml::kTemperatureThresholdShutdown},
           {kTemperatureSlowdown, nvml::kTemperatureThresholdSlowdown},
           {kTemperatureGpuMax, nvml::kTemperatureThresholdGpuMax},
           {kTemperatureMemoryMax, nvml::kTemperatureThresholdMemMax},
       })) {
    const std::string_view reading_name = name;
    const unsigned which = threshold;
    fact(reading_name, std::nullopt, [&] {
      const nvml::Return limit_code = ask(call.nvmlDeviceGetTemperatureThreshold, which, &celsius);
      add(reading_name, limit_code, std::int64_t{celsius});
    });
  }
}

void NvmlReader::read_pcie() {
  const nvml::Functions& call = library_.functions();
  add_number(kPcieWidth, call.nvmlDeviceGetCurrPcieLinkWidth);
  add_number(kPcieGeneration, call.nvmlDeviceGetCurrPcieLinkGeneration);
  fact(kPcieWidthMax, std::nullopt, [&] { add_number(kPcieWidthMax, call.nvmlDeviceGetMaxPcieLinkWidth); });
  fact(kPcieGenerationMax, std::nullopt,
       [&] { add_number(kPcieGenerationMax, call.nvmlDeviceGetMaxPcieLinkGeneration); });
  add_number(kPcieReplays, call.nvmlDeviceGetPcieReplayCounter);
  want(nvml::kFieldPcieReplayRollovers, kPcieReplayRollovers);
  want(nvml::kFieldPcieL0ToRecovery, kPcieRecoveries);
  want(nvml::kFieldPcieCorrectableErrors, kPcieCorrectable);
  want(nvml::kFieldPcieNonFatalErrors, kPcieNonFatal);
  want(nvml::kFieldPcieFatalErrors, kPcieFatal);
  want(nvml::kFieldPcieNaksReceived, kPcieNaksReceived);
  want(nvml::kFieldPcieReceiverErrors, kPcieReceiverErrors);
  want(nvml::kFieldPcieBadTlps, kPcieBadTlps);
  want(nvml::kFieldPcieNaksSent, kPcieNaksSent);
  want(nvml::kFieldPcieBadDllps, kPcieBadDllps);
  want(nvml::kFieldPcieUnsupportedRequests, kPcieUnsupportedRequests);
  want(nvml::kFieldPcieLcrcErrors, kPcieLcrcErrors);
  want(nvml::kFieldPcieLaneErrors, kPcieLaneErrors);
}

void NvmlReader::read_power() {
  const nvml::Functions& call = library_.functions();
  constexpr double kMilli = 1e-3;
  unsigned milliwatts = 0;
  nvml::Return code = ask(call.nvmlDeviceGetPowerUsage, &milliwatts);
  add(kPowerUsage, code, milliwatts * kMilli);
  code = ask(call.nvmlDeviceGetEnforcedPowerLimit, &milliwatts);
  add(kPowerLimit, code, milliwatts * kMilli);
  want(nvml::kFieldPowerRequestedLimit, kPowerLimitRequested, kMilli);
  want(nvml::kFieldPowerDefaultLimit, kPowerLimitDefault, kMilli);
}

void NvmlReader::read_processes() {
  const nvml::Functions& call = library_.functions();
  std::vector<unsigned> pids;
  nvml::Return code = add_pids(call.nvmlDeviceGetComputeRunningProcesses_v3, pids);
  if (code == nvml::kSuccess) {
    const nvml::Return graphics = add_pids(call.nvmlDeviceGetGraphicsRunningProcesses_v3, pids);
    if (!is_lasting(graphics)) code = graphics;
  }
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  add(kProcesses, code, static_cast<std::int64_t>(pids.size()));
  add(kProcessPids, code, pids_text(std::span(std::as_const(pids))));
  read_memory();
}

nvml::Return NvmlReader::add_pids(
    const nvml::Function<nvml::Return(nvml::Device, unsigned*, nvml::ProcessInfo*)>& function,
    std::vector<unsigned>& pids) {
  std::vector<nvml::ProcessInfo> processes(kUsualPids);
  auto count = static_cast<unsigned>(processes.size());
  nvml::Return code = ask(function, &count, processes.data());
  if (code == nvml::kInsufficientSize && count <= kMostPids) {
    processes.resize(count);
    code = ask(function, &count, processes.data());
  }
  for (std::size_t i = 0; code == nvml::kSuccess && i < std::min<std::size_t>(count, processes.size()); ++i)
    pids.push_back(processes[i].pid);
  return code;
}

// The newer call excludes the memory that the driver reserves for itself.
void NvmlReader::read_memory() {
  nvml::MemoryV2 memory{};
  memory.version = nvml::struct_version<nvml::MemoryV2>(2);
  nvml::Return code = ask(library_.functions().nvmlDeviceGetMemoryInfo_v2, &memory);
  if (is_lasting(code) && code != nvml::kSuccess) {
    nvml::Memory all{};
    code = ask(library_.functions().nvmlDeviceGetMemoryInfo, &all);
    memory.total = all.total;
    memory.used = all.used;
  }
  add(kMemoryTotal, code, saturated(memory.total));
  add(kMemoryUsed, code, saturated(memory.used));
}

void NvmlReader::read_fabric() {
  const nvml::Functions& call = library_.functions();
  nvml::GpuFabricInfoV2 info{};
  info.version = nvml::struct_version<nvml::GpuFabricInfoV2>(2);
  nvml::Return code = ask(call.nvmlDeviceGetGpuFabricInfoV, &info);
  nvml::Return mask_code = code;
  if (code == nvml::kSymbolAbsent || code == nvml::kArgumentVersionMismatch) {
    nvml::GpuFabricInfo old{};
    code = ask(call.nvmlDeviceGetGpuFabricInfo, &old);
    mask_code = nvml::kSymbolAbsent;
    std::copy(std::begin(old.clusterUuid), std::end(old.clusterUuid), std::begin(info.clusterUuid));
    info.status = old.status;
    info.cliqueId = old.cliqueId;
    info.state = old.state;
  }
  add(kFabricState, code, std::int64_t{info.state});
  const nvml::Return detail_code =
      code == nvml::kSuccess && info.state != nvml::kFabricCompleted ? nvml::kNotSupported : code;
  add(kFabricStatus, detail_code, std::int64_t{info.status});
  add(kFabricHealthMask, detail_code == nvml::kSuccess ? mask_code : detail_code,
      std::int64_t{info.healthMask});
  add(kFabricClique, detail_code, std::int64_t{info.cliqueId});
  add(kFabricCluster, detail_code, uuid_text(info.clusterUuid));
}

void NvmlReader::read_inforom() {
  const nvml::Return code = ask(library_.functions().nvmlDeviceValidateInforom);
  if (code == nvml::kCorruptedInforom) return add(kInforomValid, nvml::kSuccess, false);
  add(kInforomValid, code, true);
}

void NvmlReader::read_row_remap() {
  const nvml::Functions& call = library_.functions();
  unsigned correctable = 0;
  unsigned uncorrectable = 0;
  unsigned pending = 0;
  unsigned failed = 0;
  nvml::Return code = ask(call.nvmlDeviceGetRemappedRows, &correctable, &uncorrectable, &pending, &failed);
  add(kRowRemapCorrectable, code, std::int64_t{correctable});
  add(kRowRemapUncorrectable, code, std::int64_t{uncorrectable});
  add_flag(kRowRemapPending, code, pending);
  add_flag(kRowRemapFailed, code, failed);
  nvml::RowRemapperHistogram banks{};
  code = ask(call.nvmlDeviceGetRowRemapperHistogram, &banks);
  add(kRowRemapBanksMax, code, std::int64_t{banks.max});
  add(kRowRemapBanksHigh, code, std::int64_t{banks.high});
  add(kRowRemapBanksPartial, code, std::int64_t{banks.partial});
  add(kRowRemapBanksLow, code, std::int64_t{banks.low});
  add(kRowRemapBanksNone, code, std::int64_t{banks.none});
  read_repair();
}

void NvmlReader::read_repair() {
  const nvml::Functions& call = library_.functions();
  nvml::RepairStatus status{};
  status.version = nvml::struct_version<nvml::RepairStatus>(1);
  nvml::Return code = ask(call.nvmlDeviceGetRepairStatus, &status);
  add_flag(kRepairChannelPending, code, status.bChannelRepairPending);
  add_flag(kRepairTpcPending, code, status.bTpcRepairPending);
  nvml::UnrepairableMemory memory{};
  memory.version = nvml::struct_version<nvml::UnrepairableMemory>(1);
  code = ask(call.nvmlDeviceGetUnrepairableMemoryFlag_v1, &memory);
  add_flag(kRowRemapUnrepairable, code, memory.unrepairableMemory);
}

void NvmlReader::read_ecc() {
  const nvml::Functions& call = library_.functions();
  unsigned current = 0;
  unsigned pending = 0;
  nvml::Return code = ask(call.nvmlDeviceGetEccMode, &current, &pending);
  add_flag(kEccEnabled, code, current);

  struct Total {
    std::string_view name;
    unsigned type;
    unsigned counter;
  };
  for (const auto& [name, type, counter] : std::to_array<Total>({
           {kEccVolatileCorrected, nvml::kMemoryErrorCorrected, nvml::kEccVolatile},
           {kEccVolatileUncorrected, nvml::kMemoryErrorUncorrected, nvml::kEccVolatile},
           {kEccAggregateCorrected, nvml::kMemoryErrorCorrected, nvml::kEccAggregate},
           {kEccAggregateUncorrected, nvml::kMemoryErrorUncorrected, nvml::kEccAggregate},
       })) {
    unsigned long long count = 0;
    code = ask(call.nvmlDeviceGetTotalEccErrors, type, counter, &count);
    add(name, code, saturated(count));
  }
  unsigned long long count = 0;
  code = ask(call.nvmlDeviceGetMemoryErrorCounter, nvml::kMemoryErrorUncorrected, nvml::kEccVolatile,
             nvml::kMemoryLocationDram, &count);
  add(kEccDramVolatileUncorrected, code, saturated(count));
  read_sram_ecc();
  // GPUs before Ampere retire pages instead of remapping rows.
  want(nvml::kFieldRetiredSbe, kRetiredPagesSingleBit);
  want(nvml::kFieldRetiredDbe, kRetiredPagesDoubleBit);
  want(nvml::kFieldRetiredPending, kRetiredPagesPending, kAsFlag);
}

void NvmlReader::read_sram_ecc() {
  nvml::EccSramErrorStatus status{};
  status.version = nvml::struct_version<nvml::EccSramErrorStatus>(1);
  const nvml::Return code = ask(library_.functions().nvmlDeviceGetSramEccErrorStatus, &status);
  add(kEccSramVolatileUncorrected, code, saturated(status.volatileUncParity + status.volatileUncSecDed));
  add(kEccSramAggregateUncorrected, code, saturated(status.aggregateUncParity + status.aggregateUncSecDed));
  add_flag(kEccSramThresholdExceeded, code, status.bThresholdExceeded);
}

}  // namespace autopilot::host
