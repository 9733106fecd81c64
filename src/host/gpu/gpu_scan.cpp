// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/gpu_scan.hpp"

#include <mutex>
#include <optional>

namespace autopilot::host {
namespace {

using PciGpus = Result<std::vector<PciDevice>>;

struct Look {
  PciGpus nvidia;
  PciGpus amd;

  [[nodiscard]] const PciGpus& of(GpuVendor vendor) const { return vendor == GpuVendor::amd ? amd : nvidia; }
};

}  // namespace

struct GpuScan::Shared {
  explicit Shared(const Clock& of_machine) : clock(of_machine) {}

  const Clock& clock;
  std::mutex mutex;  // of what follows; not held during a look, which may not return
  std::optional<Look> last;
  MonoTime began{};
};

GpuScan::GpuScan(const Files& files, const Clock& clock)
    : files_(&files), shared_(std::make_shared<Shared>(clock)) {}

Result<std::vector<PciDevice>> GpuScan::gpus(GpuVendor vendor) const {
  if (!shared_) return vendor == GpuVendor::amd ? scan_amd_gpus(*files_) : scan_nvidia_gpus(*files_);
  const MonoTime now = shared_->clock.now().mono;
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->last && now - shared_->began < kShared && shared_->last->of(vendor))
      return shared_->last->of(vendor);
  }
  const PciClasses classes = TRY(read_pci_classes(*files_));
  Look look{scan_nvidia_gpus(*files_, classes), scan_amd_gpus(*files_, classes)};
  PciGpus gpus = look.of(vendor);
  const std::lock_guard lock(shared_->mutex);
  shared_->last = std::move(look);
  shared_->began = now;
  return gpus;
}

}  // namespace autopilot::host
