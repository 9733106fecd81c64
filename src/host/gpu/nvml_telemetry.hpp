// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/gpu/nvml_library.hpp"
#include "host/gpu/telemetry.hpp"

namespace autopilot::host {

// One GPU of an initialised NVML, read once a second while a job runs: a fixed set of calls that need no
// exclusive feature of the driver and no permission beyond reading. For one thread, like NvmlLibrary.
class NvmlTelemetry {
 public:
  NvmlTelemetry(nvml::Device device, int index, std::string address, std::string model);

  // Five calls; a detailed sample needs six more, and the first one two more. Stops after a call that
  // finds the GPU lost or in need of a reset.
  [[nodiscard]] GpuSample read(NvmlLibrary& library, TelemetryDetail detail);

 private:
  struct Field {
    unsigned id;
    unsigned scope;
    GpuMeasure measure;  // values of one measure are added up
    double scale;
  };

  template <class... Parameters, class... Arguments>
  nvml::Return ask(NvmlLibrary& library,
                   const nvml::Function<nvml::Return(nvml::Device, Parameters...)>& function,
                   Arguments... arguments);
  void read_state(NvmlLibrary& library);
  void read_detail(NvmlLibrary& library);
  void read_memory(NvmlLibrary& library);
  void read_fields(NvmlLibrary& library);
  // Chooses the fields once, by the NVLinks of the GPU.
  void choose_fields(NvmlLibrary& library);
  void choose_link_fields(NvmlLibrary& library, unsigned links);

  nvml::Device device_;
  GpuSample identity_;  // without values
  GpuSample sample_;
  std::vector<Field> fields_;  // empty: not chosen yet
  std::vector<nvml::FieldValue> answers_;
};

}  // namespace autopilot::host
