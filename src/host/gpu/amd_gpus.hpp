// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "host/files/files.hpp"
#include "host/gpu/gpus.hpp"

namespace autopilot::host {

// Files that the driver amdgpu keeps in the folder of a GPU and that say how it is; "*" stands for every
// name. Reading one wakes a GPU that sleeps.
[[nodiscard]] std::span<const std::string_view> amd_gpu_files();

// AMD's GPUs as the driver amdgpu shows them in sysfs; nothing is changed and no library is needed. The files
// are answered by the firmware of the GPU: reading may block where that hangs, so the running machine is
// asked through a helper. Thread-safe.
class AmdGpus final : public Gpus {
 public:
  // Both outlive the object.
  AmdGpus(const Files& files, const Clock& clock) : files_(files), clock_(clock) {}

  // One device for each GPU that amdgpu has; its index is the place among them by PCI address.
  // driver_not_loaded where it has none and is not there.
  [[nodiscard]] Result<GpuReport> read(const std::vector<GpuGroup>& groups, MonoTime deadline) const override;
  // unsupported: the driver tells of faults in the kernel log only.
  [[nodiscard]] Result<std::vector<GpuEvent>> take_events(MonoTime deadline) const override;

 private:
  const Files& files_;
  const Clock& clock_;
};

}  // namespace autopilot::host
