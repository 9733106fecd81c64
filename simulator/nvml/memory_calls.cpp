// SPDX-License-Identifier: Apache-2.0
// Functions about the memory of one GPU: row remapping, retired pages, error correction.
#include "nvml/answers.hpp"

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
