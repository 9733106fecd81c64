// SPDX-License-Identifier: Apache-2.0
// Functions about the counters of one GPU: memory errors, and nvmlDeviceGetFieldValues, which returns
// readings by number.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "nvml/session.hpp"

using namespace autopilot::simulator::nvml;
using autopilot::host::nvml::Device;
using autopilot::host::nvml::Return;

namespace {

// Writes several readings; returns the first failure.
template <class... Pairs>
Return put_all(const Readings& readings, Pairs... pairs) {
  Return code = abi::kSuccess;
  static_cast<void>((((code = put(readings, pairs.first, pairs.second)) == abi::kSuccess) && ...));
  return code;
}

template <class T>
std::pair<const char*, T*> into(const char* reading, T* target) {
  return {reading, target};
}

const char* total_reading(unsigned error_type, unsigned counter) {
  const bool is_corrected = error_type == abi::kMemoryErrorCorrected;
  if (counter == abi::kEccVolatile)
    return is_corrected ? "ecc.volatile_corrected" : "ecc.volatile_uncorrected";
  return is_corrected ? "ecc.aggregate_corrected" : "ecc.aggregate_uncorrected";
}

const char* location_reading(unsigned error_type, unsigned counter, unsigned location) {
  const bool is_uncorrected = error_type == abi::kMemoryErrorUncorrected;
  if (location == abi::kMemoryLocationDram) {
    if (!is_uncorrected) return total_reading(error_type, counter);
    return counter == abi::kEccVolatile ? "ecc.dram_volatile_uncorrected" : "ecc.aggregate_uncorrected";
  }
  if (location == abi::kMemoryLocationSram && is_uncorrected)
    return counter == abi::kEccVolatile ? "ecc.sram_volatile_uncorrected" : "ecc.sram_aggregate_uncorrected";
  return "";
}

}  // namespace

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetRemappedRows(Device device, unsigned* correctable,
                                                       unsigned* uncorrectable, unsigned* pending,
                                                       unsigned* failed) {
  return session().with_gpu("nvmlDeviceGetRemappedRows", device, [&](const GpuModelState& gpu) {
    return put_all(gpu.readings, into("row_remap.correctable", correctable),
                   into("row_remap.uncorrectable", uncorrectable), into("row_remap.pending", pending),
                   into("row_remap.failed", failed));
  });
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetRowRemapperHistogram(Device device,
                                                               abi::RowRemapperHistogram* banks) {
  return session().with_gpu("nvmlDeviceGetRowRemapperHistogram", device, [&](const GpuModelState& gpu) {
    if (banks == nullptr) return abi::kInvalidArgument;
    return put_all(gpu.readings, into("row_remap.banks_max", &banks->max),
                   into("row_remap.banks_high", &banks->high),
                   into("row_remap.banks_partial", &banks->partial), into("row_remap.banks_low", &banks->low),
                   into("row_remap.banks_none", &banks->none));
  });
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetRetiredPages_v2(Device device, unsigned cause, unsigned* count,
                                                          unsigned long long* addresses,
                                                          unsigned long long* times) {
  const char* reading =
      cause == abi::kRetirementDoubleBit ? "retired_pages.double_bit" : "retired_pages.single_bit";
  return session().with_gpu("nvmlDeviceGetRetiredPages_v2", device, [&](const GpuModelState& gpu) {
    if (count == nullptr) return abi::kInvalidArgument;
    const unsigned room = *count;
    if (const Return code = put(gpu.readings, reading, count); code != abi::kSuccess) return code;
    if (addresses == nullptr || room < *count) return *count == 0 ? abi::kSuccess : abi::kInsufficientSize;
    for (unsigned i = 0; i < *count; ++i) {
      addresses[i] = 0x1000ULL * (i + 1);
      if (times != nullptr) times[i] = 0;
    }
    return abi::kSuccess;
  });
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetRetiredPages(Device device, unsigned cause, unsigned* count,
                                                       unsigned long long* addresses) {
  return nvmlDeviceGetRetiredPages_v2(device, cause, count, addresses, nullptr);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetRetiredPagesPendingStatus(Device device, unsigned* pending) {
  return answer("nvmlDeviceGetRetiredPagesPendingStatus", device, "retired_pages.pending", pending);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetEccMode(Device device, unsigned* current, unsigned* pending) {
  return session().with_gpu("nvmlDeviceGetEccMode", device, [&](const GpuModelState& gpu) {
    return put_all(gpu.readings, into("ecc.enabled", current), into("ecc.enabled", pending));
  });
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetTotalEccErrors(Device device, unsigned error_type, unsigned counter,
                                                         unsigned long long* count) {
  if (error_type > abi::kMemoryErrorUncorrected || counter > abi::kEccAggregate) return abi::kInvalidArgument;
  return answer("nvmlDeviceGetTotalEccErrors", device, total_reading(error_type, counter), count);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetMemoryErrorCounter(Device device, unsigned error_type,
                                                             unsigned counter, unsigned location,
                                                             unsigned long long* count) {
  if (error_type > abi::kMemoryErrorUncorrected || counter > abi::kEccAggregate) return abi::kInvalidArgument;
  return answer("nvmlDeviceGetMemoryErrorCounter", device, location_reading(error_type, counter, location),
                count);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetSramEccErrorStatus(Device device, abi::EccSramErrorStatus* status) {
  return session().with_gpu("nvmlDeviceGetSramEccErrorStatus", device, [&](const GpuModelState& gpu) {
    if (status == nullptr) return abi::kInvalidArgument;
    if (status->version != abi::struct_version<abi::EccSramErrorStatus>(1))
      return abi::kArgumentVersionMismatch;
    const unsigned version = status->version;
    *status = {};
    status->version = version;
    return put_all(gpu.readings, into("ecc.sram_aggregate_uncorrected", &status->aggregateUncSecDed),
                   into("ecc.sram_volatile_uncorrected", &status->volatileUncSecDed),
                   into("ecc.sram_threshold_exceeded", &status->bThresholdExceeded));
  });
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetRepairStatus(Device device, abi::RepairStatus* status) {
  return session().with_gpu("nvmlDeviceGetRepairStatus", device, [&](const GpuModelState& gpu) {
    if (status == nullptr) return abi::kInvalidArgument;
    if (status->version != abi::struct_version<abi::RepairStatus>(1)) return abi::kArgumentVersionMismatch;
    return put_all(gpu.readings, into("repair.channel_pending", &status->bChannelRepairPending),
                   into("repair.tpc_pending", &status->bTpcRepairPending));
  });
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetUnrepairableMemoryFlag_v1(Device device,
                                                                    abi::UnrepairableMemory* flag) {
  return session().with_gpu("nvmlDeviceGetUnrepairableMemoryFlag_v1", device, [&](const GpuModelState& gpu) {
    if (flag == nullptr) return abi::kInvalidArgument;
    if (flag->version != abi::struct_version<abi::UnrepairableMemory>(1))
      return abi::kArgumentVersionMismatch;
    return put(gpu.readings, "row_remap.unrepairable", &flag->unrepairableMemory);
  });
}

namespace {

struct Field {
  unsigned id;
  const char* reading;
  unsigned type;
  bool per_link = false;
  double scale = 1;
};

constexpr unsigned kUnsigned = abi::kValueUnsignedInt;
constexpr unsigned kLong = abi::kValueUnsignedLongLong;

constexpr Field kFields[] = {
    {abi::kFieldRetiredSbe, "retired_pages.single_bit", kUnsigned},
    {abi::kFieldRetiredDbe, "retired_pages.double_bit", kUnsigned},
    {abi::kFieldRetiredPending, "retired_pages.pending", kUnsigned},
    {abi::kFieldPerfPolicyPower, "throttle.power_cap", kLong},
    {abi::kFieldPerfPolicyThermal, "throttle.thermal", kLong},
    {abi::kFieldPerfPolicySyncBoost, "throttle.sync_boost", kLong},
    {abi::kFieldPerfPolicyBoardLimit, "throttle.board_limit", kLong},
    {abi::kFieldPerfPolicyReliability, "throttle.reliability", kLong},
    {abi::kFieldMemoryTemperature, "temperature.memory", kUnsigned},
    {abi::kFieldNvLinkLinkCount, "nvlink.count", kUnsigned},
    {abi::kFieldPcieReplayCounter, "pcie.replays", kUnsigned},
    {abi::kFieldPcieReplayRollovers, "pcie.replay_rollovers", kUnsigned},
    {abi::kFieldRemappedCorrectable, "row_remap.correctable", kUnsigned},
    {abi::kFieldRemappedUncorrectable, "row_remap.uncorrectable", kUnsigned},
    {abi::kFieldRemappedPending, "row_remap.pending", kUnsigned},
    {abi::kFieldRemappedFailure, "row_remap.failed", kUnsigned},
    {abi::kFieldNvLinkErrorReplay, "nvlink.replays", kLong, true},
    {abi::kFieldNvLinkErrorRecovery, "nvlink.recoveries", kLong, true},
    {abi::kFieldNvLinkErrorCrc, "nvlink.crc_errors", kLong, true},
    {abi::kFieldPcieL0ToRecovery, "pcie.recoveries", kUnsigned},
    {abi::kFieldPcieCorrectableErrors, "pcie.correctable", kUnsigned},
    {abi::kFieldPcieNonFatalErrors, "pcie.nonfatal", kUnsigned},
    {abi::kFieldPcieFatalErrors, "pcie.fatal", kUnsigned},
    {abi::kFieldPcieNaksReceived, "pcie.naks_received", kUnsigned},
    {abi::kFieldPcieReceiverErrors, "pcie.receiver_errors", kUnsigned},
    {abi::kFieldPcieBadTlps, "pcie.bad_tlps", kUnsigned},
    {abi::kFieldPcieNaksSent, "pcie.naks_sent", kUnsigned},
    {abi::kFieldPcieBadDllps, "pcie.bad_dllps", kUnsigned},
    {abi::kFieldPcieUnsupportedRequests, "pcie.unsupported_requests", kUnsigned},
    {abi::kFieldPcieLcrcErrors, "pcie.lcrc_errors", kUnsigned},
    {abi::kFieldPcieLaneErrors, "pcie.lane_errors", kUnsigned},
    {abi::kFieldPowerRequestedLimit, "power.limit_requested", kUnsigned, false, 1000},
    {abi::kFieldPowerDefaultLimit, "power.limit_default", kUnsigned, false, 1000},
    {abi::kFieldNvLinkReceiveErrors, "nvlink.receive_errors", kLong, true},
    {abi::kFieldNvLinkIntegrityErrors, "nvlink.integrity_errors", kLong, true},
    {abi::kFieldNvLinkRecoverySuccessful, "nvlink.recoveries", kLong, true},
    {abi::kFieldNvLinkRecoveryFailed, "nvlink.recoveries_failed", kLong, true},
    {abi::kFieldRecoveryAction, "recovery_action", kUnsigned},
    {abi::kFieldSwThermalSlowdown, "throttle.sw_thermal", kLong},
    {abi::kFieldHwThermalSlowdown, "throttle.hw_thermal", kLong},
    {abi::kFieldHwPowerBrakeSlowdown, "throttle.hw_power_brake", kLong},
};

// Before NVLink 4: a range of numbers, one for each link.
struct LinkFields {
  const unsigned (&first)[2];
  const char* reading;
};

constexpr LinkFields kLinkFields[] = {
    {abi::kFieldsNvLinkReplay, "nvlink.replays"},
    {abi::kFieldsNvLinkRecovery, "nvlink.recoveries"},
    {abi::kFieldsNvLinkCrcFlit, "nvlink.crc_errors"},
    {abi::kFieldsNvLinkCrcData, "nvlink.crc_data_errors"},
};

// nullopt: unknown field.
std::optional<Return> put_link_field(const GpuModelState& gpu, abi::FieldValue& value) {
  for (const LinkFields& fields : kLinkFields) {
    for (unsigned range = 0; range < std::size(fields.first); ++range) {
      const unsigned place = value.fieldId - fields.first[range];
      if (value.fieldId < fields.first[range] || place >= abi::kNvLinksPerFieldRange) continue;
      const std::size_t link = range * abi::kNvLinksPerFieldRange + place;
      if (link >= gpu.links.size()) return abi::kNotSupported;
      value.valueType = kLong;
      return put(gpu.links[link], fields.reading, &value.value.ullVal);
    }
  }
  return std::nullopt;
}

// A ratio as mantissa and exponent, with the precision of four bits: a decoded ratio is encoded to the same
// value again.
unsigned ber_code(double ratio) {
  constexpr double kMaxMantissa = 15;
  if (ratio <= 0) return 0xfff;
  int exponent = 0;
  while (ratio * 10 <= kMaxMantissa && exponent < 255) {
    ratio *= 10;
    ++exponent;
  }
  const auto mantissa = static_cast<unsigned>(std::lround(std::min(ratio, kMaxMantissa)));
  return mantissa << abi::kBerMantissaShift | static_cast<unsigned>(exponent);
}

Return put_bit_error_rate(const GpuModelState& gpu, abi::FieldValue& value) {
  if (value.scopeId >= gpu.links.size())
    return gpu.links.empty() ? abi::kNotSupported : abi::kInvalidArgument;
  double ratio = 0;
  const Return code = number_of(gpu.links[value.scopeId], "nvlink.symbol_ber", ratio);
  value.valueType = kLong;
  value.value.ullVal = code == abi::kSuccess ? ber_code(ratio) : 0;
  return code;
}

// A direction of the traffic of PCIe or of all NVLinks: half of the rate that the readings have.
struct TrafficField {
  unsigned id;
  const char* link;
  const char* reading;
  double unit;  // bytes
};

constexpr TrafficField kTrafficFields[] = {
    {abi::kFieldNvLinkThroughputTx, "nvlink tx", "nvlink.bytes_s", 1024},
    {abi::kFieldNvLinkThroughputRx, "nvlink rx", "nvlink.bytes_s", 1024},
    {abi::kFieldPcieTxBytes, "pcie tx", "pcie.bytes_s", 1},
    {abi::kFieldPcieRxBytes, "pcie rx", "pcie.bytes_s", 1},
    {abi::kFieldNvLinkTxBytes, "nvlink tx", "nvlink.bytes_s", 1},
    {abi::kFieldNvLinkRxBytes, "nvlink rx", "nvlink.bytes_s", 1},
};

// nullopt: another field.
std::optional<Return> put_traffic_field(const GpuModelState& gpu, abi::FieldValue& value) {
  constexpr double kDirections = 2;
  const auto* field = std::find_if(std::begin(kTrafficFields), std::end(kTrafficFields),
                                   [&](const TrafficField& known) { return known.id == value.fieldId; });
  if (field == std::end(kTrafficFields)) return std::nullopt;
  const bool is_one_link = field->id == abi::kFieldNvLinkTxBytes || field->id == abi::kFieldNvLinkRxBytes;
  const bool is_nvlink = std::string_view(field->reading).starts_with("nvlink");
  if (is_nvlink && gpu.links.empty()) return abi::kNotSupported;
  if (is_one_link && value.scopeId >= gpu.links.size()) return abi::kInvalidArgument;
  double bytes_s = 0;  // idle
  if (const Return code = number_of(gpu.readings, field->reading, bytes_s);
      code != abi::kSuccess && code != abi::kNotSupported)
    return code;
  std::string link = field->link;
  if (is_one_link) {
    link += std::to_string(value.scopeId);
    bytes_s /= static_cast<double>(gpu.links.size());
  }
  const std::uint64_t bytes = session().moved_bytes(gpu.address, link, bytes_s / kDirections);
  value.valueType = kLong;
  value.value.ullVal = static_cast<unsigned long long>(static_cast<double>(bytes) / field->unit);
  return abi::kSuccess;
}

Return put_field(const GpuModelState& gpu, abi::FieldValue& value) {
  if (const auto code = put_link_field(gpu, value)) return *code;
  if (const auto code = put_traffic_field(gpu, value)) return *code;
  if (value.fieldId == abi::kFieldNvLinkSymbolBer) return put_bit_error_rate(gpu, value);
  const auto* field = std::find_if(std::begin(kFields), std::end(kFields),
                                   [&](const Field& known) { return known.id == value.fieldId; });
  if (field == std::end(kFields)) return abi::kNotSupported;
  if (field->per_link && value.scopeId >= gpu.links.size())
    return gpu.links.empty() ? abi::kNotSupported : abi::kInvalidArgument;
  const Readings& readings = field->per_link ? gpu.links[value.scopeId] : gpu.readings;
  value.valueType = field->type;
  return field->type == kLong ? put(readings, field->reading, &value.value.ullVal, field->scale)
                              : put(readings, field->reading, &value.value.uiVal, field->scale);
}

}  // namespace

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetFieldValues(Device device, int count, abi::FieldValue* values) {
  return session().with_gpu("nvmlDeviceGetFieldValues", device, [&](const GpuModelState& gpu) {
    if (values == nullptr || count <= 0) return abi::kInvalidArgument;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    for (int i = 0; i < count; ++i) {
      abi::FieldValue& value = values[i];
      value.timestamp = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
      value.latencyUsec = 1;
      value.value = {};
      value.nvmlReturn = put_field(gpu, value);
    }
    return abi::kSuccess;
  });
}
