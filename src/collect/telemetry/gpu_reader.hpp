// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/gpu/telemetry.hpp"
#include "host/host.hpp"

namespace autopilot::collect {

// The GPUs of the vendor that the machine has, for one thread: NVIDIA's, else AMD's. A machine without a GPU
// on its PCI bus has no driver to call: driver_not_loaded. Returns within `patience`.
class GpuReader {
 public:
  explicit GpuReader(std::shared_ptr<const host::Host> host) : host_(std::move(host)) {}
  [[nodiscard]] Result<host::GpuTelemetry> read(host::TelemetryDetail detail, Duration patience);

 private:
  std::shared_ptr<const host::Host> host_;
  const host::Gpus* gpus_ = nullptr;  // null: not found yet
};

}  // namespace autopilot::collect
