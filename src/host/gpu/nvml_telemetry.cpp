// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/nvml_telemetry.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "host/gpu/nvml_reader.hpp"

namespace autopilot::host {
namespace {

constexpr double kKibibyte = 1024;
constexpr double kPercent = 100;
constexpr double kMilli = 1e-3;

}  // namespace

NvmlTelemetry::NvmlTelemetry(nvml::Device device, int index, std::string address, std::string model)
    : device_(device) {
  identity_.index = index;
  identity_.address = std::move(address);
  identity_.model = std::move(model);
}

template <class... Parameters, class... Arguments>
nvml::Return NvmlTelemetry::ask(NvmlLibrary& library,
                                const nvml::Function<nvml::Return(nvml::Device, Parameters...)>& function,
                                Arguments... arguments) {
  if (sample_.state != GpuState::ok) return nvml::kGpuIsLost;
  const nvml::Return code = library.call(function, device_, arguments...);
  if (code == nvml::kGpuIsLost) sample_.state = GpuState::lost;
  if (code == nvml::kResetRequired) sample_.state = GpuState::reset_required;
  return code;
}

GpuSample NvmlTelemetry::read(NvmlLibrary& library, TelemetryDetail detail) {
  sample_ = identity_;
  read_state(library);
  if (detail == TelemetryDetail::detailed) read_detail(library);
  return sample_;
}

void NvmlTelemetry::read_state(NvmlLibrary& library) {
  const nvml::Functions& call = library.functions();
  unsigned number = 0;
  if (ask(library, call.nvmlDeviceGetPowerUsage, &number) == nvml::kSuccess)
    sample_[GpuMeasure::power_w] = number * kMilli;
  if (ask(library, call.nvmlDeviceGetClockInfo, nvml::kClockSm, &number) == nvml::kSuccess)
    sample_[GpuMeasure::sm_clock_mhz] = number;
  nvml::Utilization rates{};
  if (ask(library, call.nvmlDeviceGetUtilizationRates, &rates) == nvml::kSuccess)
    sample_[GpuMeasure::utilization] = rates.gpu / kPercent;
  unsigned long long reasons = 0;
  nvml::Return code = ask(library, call.nvmlDeviceGetCurrentClocksEventReasons, &reasons);
  if (code == nvml::kSymbolAbsent)
    code = ask(library, call.nvmlDeviceGetCurrentClocksThrottleReasons, &reasons);
  if (code == nvml::kSuccess) sample_[GpuMeasure::clocks_reasons] = static_cast<double>(reasons);
  if (ask(library, call.nvmlDeviceGetTemperature, nvml::kTemperatureGpu, &number) == nvml::kSuccess)
    sample_[GpuMeasure::temperature_c] = number;
}

void NvmlTelemetry::read_detail(NvmlLibrary& library) {
  const nvml::Functions& call = library.functions();
  read_memory(library);
  unsigned number = 0;
  if (ask(library, call.nvmlDeviceGetCurrPcieLinkGeneration, &number) == nvml::kSuccess)
    sample_[GpuMeasure::pcie_generation] = number;
  if (ask(library, call.nvmlDeviceGetCurrPcieLinkWidth, &number) == nvml::kSuccess)
    sample_[GpuMeasure::pcie_width] = number;
  unsigned long long count = 0;
  if (ask(library, call.nvmlDeviceGetTotalEccErrors, nvml::kMemoryErrorCorrected, nvml::kEccVolatile,
          &count) == nvml::kSuccess)
    sample_[GpuMeasure::ecc_corrected] = static_cast<double>(count);
  if (ask(library, call.nvmlDeviceGetTotalEccErrors, nvml::kMemoryErrorUncorrected, nvml::kEccVolatile,
          &count) == nvml::kSuccess)
    sample_[GpuMeasure::ecc_uncorrected] = static_cast<double>(count);
  if (fields_.empty()) choose_fields(library);
  read_fields(library);
}

// The newer call excludes the memory that the driver reserves for itself.
void NvmlTelemetry::read_memory(NvmlLibrary& library) {
  nvml::MemoryV2 memory{};
  memory.version = nvml::struct_version<nvml::MemoryV2>(2);
  if (ask(library, library.functions().nvmlDeviceGetMemoryInfo_v2, &memory) == nvml::kSuccess) {
    sample_[GpuMeasure::memory_used_bytes] = static_cast<double>(memory.used);
    return;
  }
  nvml::Memory all{};
  if (ask(library, library.functions().nvmlDeviceGetMemoryInfo, &all) == nvml::kSuccess)
    sample_[GpuMeasure::memory_used_bytes] = static_cast<double>(all.used);
}

void NvmlTelemetry::choose_fields(NvmlLibrary& library) {
  fields_ = {{nvml::kFieldMemoryTemperature, 0, GpuMeasure::memory_temperature_c, 1},
             {nvml::kFieldPcieReplayCounter, 0, GpuMeasure::pcie_replays, 1},
             {nvml::kFieldPcieTxBytes, 0, GpuMeasure::pcie_bytes, 1},
             {nvml::kFieldPcieRxBytes, 0, GpuMeasure::pcie_bytes, 1}};
  nvml::FieldValue count{};
  count.fieldId = nvml::kFieldNvLinkLinkCount;
  count.nvmlReturn = nvml::kNotSupported;
  const nvml::Return code = ask(library, library.functions().nvmlDeviceGetFieldValues, 1, &count);
  if (code == nvml::kSuccess && count.nvmlReturn == nvml::kSuccess)
    choose_link_fields(library, static_cast<unsigned>(std::clamp<std::int64_t>(field_integer(count), 0,
                                                                               nvml::kNvLinkMaxLinks)));
  answers_.resize(fields_.size());
}

void NvmlTelemetry::choose_link_fields(NvmlLibrary& library, unsigned links) {
  if (links == 0) return;
  unsigned version = 0;
  (void)ask(library, library.functions().nvmlDeviceGetNvLinkVersion, 0U, &version);
  const bool has_byte_counts = version >= nvml::kNvLink5;
  if (!has_byte_counts)
    for (const unsigned id : {nvml::kFieldNvLinkThroughputTx, nvml::kFieldNvLinkThroughputRx})
      fields_.push_back({id, nvml::kAllLinks, GpuMeasure::nvlink_bytes, kKibibyte});
  for (unsigned link = 0; link < links; ++link) {
    const auto add = [&](unsigned id, unsigned scope, GpuMeasure measure) {
      fields_.push_back({id, scope, measure, 1});
    };
    if (has_byte_counts) {
      for (const unsigned id : {nvml::kFieldNvLinkTxBytes, nvml::kFieldNvLinkRxBytes})
        add(id, link, GpuMeasure::nvlink_bytes);
      for (const unsigned id : {nvml::kFieldNvLinkReceiveErrors, nvml::kFieldNvLinkRecoverySuccessful,
                                nvml::kFieldNvLinkRecoveryFailed})
        add(id, link, GpuMeasure::nvlink_errors);
    } else if (version > nvml::kLastVersionWithLinkFields) {
      for (const unsigned id :
           {nvml::kFieldNvLinkErrorReplay, nvml::kFieldNvLinkErrorRecovery, nvml::kFieldNvLinkErrorCrc})
        add(id, link, GpuMeasure::nvlink_errors);
    } else if (link / nvml::kNvLinksPerFieldRange < std::size(nvml::kFieldsNvLinkReplay)) {
      const unsigned range = link / nvml::kNvLinksPerFieldRange;
      for (const auto& first : {nvml::kFieldsNvLinkReplay, nvml::kFieldsNvLinkRecovery,
                                nvml::kFieldsNvLinkCrcFlit, nvml::kFieldsNvLinkCrcData})
        add(first[range] + link % nvml::kNvLinksPerFieldRange, 0, GpuMeasure::nvlink_errors);
    }
  }
}

void NvmlTelemetry::read_fields(NvmlLibrary& library) {
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    answers_[i] = {};
    answers_[i].fieldId = fields_[i].id;
    answers_[i].scopeId = fields_[i].scope;
    answers_[i].nvmlReturn = nvml::kNotSupported;
  }
  const nvml::Return code = ask(library, library.functions().nvmlDeviceGetFieldValues,
                                static_cast<int>(answers_.size()), answers_.data());
  if (code != nvml::kSuccess) return;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (answers_[i].nvmlReturn != nvml::kSuccess) continue;
    double& sum = sample_[fields_[i].measure];
    const double value = static_cast<double>(field_integer(answers_[i])) * fields_[i].scale;
    sum = std::isnan(sum) ? value : sum + value;
  }
}

}  // namespace autopilot::host
