// SPDX-License-Identifier: Apache-2.0
// The part of NvmlReader that asks what the memory of a GPU has lost and mended.
#include <array>

#include "host/gpu/nvml_reader.hpp"
#include "host/gpu/readings.hpp"

namespace autopilot::host {

using namespace reading;

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
  // A GPU before Ampere retires pages where later ones remap rows.
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
