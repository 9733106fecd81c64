// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/nvml_reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "host/gpu/readings.hpp"

namespace autopilot::host {
namespace {

using namespace reading;

// NVML takes a list of any length; a shorter one keeps a single call short.
constexpr std::size_t kFieldsPerCall = 128;

std::int64_t saturated(unsigned long long number) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  return number > static_cast<unsigned long long>(kMax) ? kMax : static_cast<std::int64_t>(number);
}

std::int64_t integer_of(const nvml::FieldValue& field) {
  switch (field.valueType) {
    case nvml::kValueUnsignedInt:
      return field.value.uiVal;
    case nvml::kValueUnsignedLong:
      return saturated(field.value.ulVal);
    case nvml::kValueSignedLongLong:
      return field.value.sllVal;
    case nvml::kValueSignedInt:
      return field.value.siVal;
    case nvml::kValueUnsignedShort:
      return field.value.usVal;
    default:
      return saturated(field.value.ullVal);
  }
}

Value value_of(const nvml::FieldValue& field, double scale) {
  if (scale == 0) return integer_of(field) != 0;
  if (field.valueType == nvml::kValueDouble) return field.value.dVal * scale;
  if (scale == 1) return integer_of(field);
  return static_cast<double>(integer_of(field)) * scale;
}

// The same answer will come again for as long as the driver is loaded.
bool is_lasting(nvml::Return code) {
  return code == nvml::kSuccess || code == nvml::kNotSupported || code == nvml::kSymbolAbsent ||
         code == nvml::kFunctionNotFound;
}

}  // namespace

std::vector<GpuReading> NvmlReader::read(const std::vector<GpuGroup>& groups) {
  const std::set<GpuGroup> wanted(groups.begin(), groups.end());
  if (wanted.contains(GpuGroup::identity) || wanted.contains(GpuGroup::clocks) ||
      wanted.contains(GpuGroup::pcie))
    read_performance_state();
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

void NvmlReader::add_number(std::string_view name,
                            const nvml::Function<nvml::Return(nvml::Device, unsigned*)>& function) {
  unsigned number = 0;
  const nvml::Return code = ask(function, &number);
  add(name, code, std::int64_t{number});
}

template <class Question>
void NvmlReader::fact(std::string_view name, std::optional<int> link, Question question) {
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
      add(field.name, answer, value_of(values[i], field.scale), field.link);
    }
  }
  wanted_.clear();
}

void NvmlReader::read_performance_state() {
  add_number(kPerformanceState, library_.functions().nvmlDeviceGetPerformanceState);
}

void NvmlReader::read_identity() {
  const nvml::Functions& call = library_.functions();
  fact(kMinor, std::nullopt, [&] { add_number(kMinor, call.nvmlDeviceGetMinorNumber); });
  unsigned mode = 0;
  nvml::Return code = ask(call.nvmlDeviceGetPersistenceMode, &mode);
  add(kPersistence, code, mode == nvml::kFeatureEnabled);
  unsigned pending = 0;
  code = ask(call.nvmlDeviceGetMigMode, &mode, &pending);
  add(kMig, code, mode == nvml::kMigEnabled);
  want(nvml::kFieldRecoveryAction, kRecoveryAction);
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
  add(kRowRemapPending, code, pending != 0);
  add(kRowRemapFailed, code, failed != 0);
  nvml::RowRemapperHistogram banks{};
  code = ask(call.nvmlDeviceGetRowRemapperHistogram, &banks);
  add(kRowRemapBanksMax, code, std::int64_t{banks.max});
  add(kRowRemapBanksHigh, code, std::int64_t{banks.high});
  add(kRowRemapBanksPartial, code, std::int64_t{banks.partial});
  add(kRowRemapBanksLow, code, std::int64_t{banks.low});
  add(kRowRemapBanksNone, code, std::int64_t{banks.none});
}

void NvmlReader::read_ecc() {
  const nvml::Functions& call = library_.functions();
  unsigned current = 0;
  unsigned pending = 0;
  nvml::Return code = ask(call.nvmlDeviceGetEccMode, &current, &pending);
  add(kEccEnabled, code, current == nvml::kFeatureEnabled);

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
  // A GPU before Ampere retires pages where later ones remap rows.
  want(nvml::kFieldRetiredSbe, kRetiredPagesSingleBit);
  want(nvml::kFieldRetiredDbe, kRetiredPagesDoubleBit);
  want(nvml::kFieldRetiredPending, kRetiredPagesPending, 0);
}

void NvmlReader::read_sram_ecc() {
  nvml::EccSramErrorStatus status{};
  status.version = nvml::struct_version<nvml::EccSramErrorStatus>(1);
  const nvml::Return code = ask(library_.functions().nvmlDeviceGetSramEccErrorStatus, &status);
  add(kEccSramVolatileUncorrected, code, saturated(status.volatileUncParity + status.volatileUncSecDed));
  add(kEccSramAggregateUncorrected, code, saturated(status.aggregateUncParity + status.aggregateUncSecDed));
  add(kEccSramThresholdExceeded, code, status.bThresholdExceeded != 0);
}

void NvmlReader::read_clocks() {
  const nvml::Functions& call = library_.functions();
  // The older name answers with the same bits (before driver 535).
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
  nvml::Utilization rates{};
  code = ask(call.nvmlDeviceGetUtilizationRates, &rates);
  add(kUtilization, code, rates.gpu / 100.0);

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
}

int NvmlReader::link_count() {
  fact(kNvLinkCount, std::nullopt, [&] {
    ask_fields();
    want(nvml::kFieldNvLinkLinkCount, kNvLinkCount);
    ask_fields();
  });
  const auto known = std::find_if(readings_.begin(), readings_.end(),
                                  [](const GpuReading& reading) { return reading.name == kNvLinkCount; });
  if (known == readings_.end() || !known->value) return static_cast<int>(nvml::kNvLinkMaxLinks);
  const double count = as_number(*known->value).value_or(0);
  return static_cast<int>(std::clamp(count, 0.0, static_cast<double>(nvml::kNvLinkMaxLinks)));
}

void NvmlReader::read_nvlink() {
  const nvml::Functions& call = library_.functions();
  std::vector<int> links;
  const int count = link_count();
  for (int link = 0; link < count && !gone(); ++link) {
    const auto number = static_cast<unsigned>(link);
    unsigned active = 0;
    const nvml::Return code = ask(call.nvmlDeviceGetNvLinkState, number, &active);
    // Beyond the last link, or a GPU without any: not an answer about a link.
    if (code == nvml::kInvalidArgument || code == nvml::kNotSupported || code == nvml::kSymbolAbsent) break;
    add(kNvLinkActive, code, active == nvml::kFeatureEnabled, link);
    links.push_back(link);
    if (code != nvml::kSuccess || active != nvml::kFeatureEnabled) continue;
    fact(kNvLinkVersion, link, [&] {
      unsigned version = 0;
      const nvml::Return version_code = ask(call.nvmlDeviceGetNvLinkVersion, number, &version);
      add(kNvLinkVersion, version_code, std::int64_t{version}, link);
    });
    fact(kNvLinkRemote, link, [&] {
      nvml::PciInfo remote{};
      const nvml::Return remote_code = ask(call.nvmlDeviceGetNvLinkRemotePciInfo_v2, number, &remote);
      const std::string text = driver_text(remote.busId, sizeof(remote.busId));
      add(kNvLinkRemote, remote_code, canonical_pci_address(text).value_or(text), link);
    });
  }
  if (!links.empty()) read_link_counters(links);
}

void NvmlReader::read_link_counters(const std::vector<int>& links) {
  ask_fields();
  const std::size_t before = readings_.size();
  for (const int link : links) {
    const auto scope = static_cast<unsigned>(link);
    wanted_.push_back({nvml::kFieldNvLinkErrorReplay, scope, kNvLinkReplays, link, 1});
    wanted_.push_back({nvml::kFieldNvLinkErrorRecovery, scope, kNvLinkRecoveries, link, 1});
    wanted_.push_back({nvml::kFieldNvLinkErrorCrc, scope, kNvLinkCrcErrors, link, 1});
    wanted_.push_back({nvml::kFieldNvLinkReceiveErrors, scope, kNvLinkReceiveErrors, link, 1});
    wanted_.push_back({nvml::kFieldNvLinkIntegrityErrors, scope, kNvLinkIntegrityErrors, link, 1});
    wanted_.push_back({nvml::kFieldNvLinkRecoveryFailed, scope, kNvLinkRecoveriesFailed, link, 1});
  }
  ask_fields();
  const bool answered = std::any_of(readings_.begin() + static_cast<std::ptrdiff_t>(before), readings_.end(),
                                    [](const GpuReading& reading) { return reading.value.has_value(); });
  if (answered || gone()) return;
  readings_.resize(before);
  read_link_counters_by_function(links);
}

// Drivers that do not know the fields answer by function, one counter of one link at a time.
void NvmlReader::read_link_counters_by_function(const std::vector<int>& links) {
  for (const int link : links) {
    for (const auto& [name, counter] : std::to_array<std::pair<std::string_view, unsigned>>({
             {kNvLinkReplays, nvml::kNvLinkErrorReplay},
             {kNvLinkRecoveries, nvml::kNvLinkErrorRecovery},
             {kNvLinkCrcErrors, nvml::kNvLinkErrorCrcFlit},
         })) {
      unsigned long long count = 0;
      const nvml::Return code = ask(library_.functions().nvmlDeviceGetNvLinkErrorCounter,
                                    static_cast<unsigned>(link), counter, &count);
      add(name, code, saturated(count), link);
    }
  }
}

void NvmlReader::read_power() {
  const nvml::Functions& call = library_.functions();
  constexpr double kMilli = 1e-3;
  unsigned milliwatts = 0;
  nvml::Return code = ask(call.nvmlDeviceGetPowerUsage, &milliwatts);
  add(kPowerUsage, code, milliwatts * kMilli);
  code = ask(call.nvmlDeviceGetEnforcedPowerLimit, &milliwatts);
  add(kPowerLimit, code, milliwatts * kMilli);
  want(nvml::kFieldPowerDefaultLimit, kPowerLimitDefault, kMilli);
}

void NvmlReader::read_processes() {
  const nvml::Functions& call = library_.functions();
  unsigned count = 0;
  nvml::Return code =
      ask(call.nvmlDeviceGetComputeRunningProcesses_v3, &count, static_cast<nvml::ProcessInfo*>(nullptr));
  // With no room for the list NVML says how long it is.
  if (code == nvml::kInsufficientSize) code = nvml::kSuccess;
  add(kProcesses, code, std::int64_t{count});
  nvml::Memory memory{};
  code = ask(call.nvmlDeviceGetMemoryInfo, &memory);
  add(kMemoryTotal, code, saturated(memory.total));
  add(kMemoryUsed, code, saturated(memory.used));
}

}  // namespace autopilot::host
