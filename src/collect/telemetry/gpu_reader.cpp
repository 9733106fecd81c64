// SPDX-License-Identifier: Apache-2.0
#include "collect/telemetry/gpu_reader.hpp"

namespace autopilot::collect {

Result<host::GpuTelemetry> GpuReader::read(host::TelemetryDetail detail, Duration patience) {
  const MonoTime deadline = host_->clock.now().mono + patience;
  if (gpus_ == nullptr) {
    const auto nvidia = host_->gpu_scan.gpus(host::GpuVendor::nvidia);
    const auto amd = host_->gpu_scan.gpus(host::GpuVendor::amd);
    if (!nvidia || !nvidia->empty())
      gpus_ = &host_->nvidia_gpus;
    else if (!amd || !amd->empty())
      gpus_ = &host_->amd_gpus;
  }
  if (gpus_ == nullptr) {
    host::GpuTelemetry none;
    none.state = host::DriverState::driver_not_loaded;
    return none;
  }
  auto telemetry = gpus_->read_telemetry(detail, deadline);
  if (!telemetry || telemetry->state != host::DriverState::ok) gpus_ = nullptr;
  return telemetry;
}

}  // namespace autopilot::collect
