// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/gpu_scan.hpp"

#include <mutex>
#include <optional>

namespace autopilot::host {
namespace {

using PciGpus = Result<std::vector<PciDevice>>;

struct Look {
  PciClasses classes;
  PciGpus nvidia;
  PciGpus amd;

  [[nodiscard]] const PciGpus& of(GpuVendor vendor) const { return vendor == GpuVendor::amd ? amd : nvidia; }
};

}  // namespace

// The last look. The mutex is not held during one, which may not return.
class GpuScan::Shared {
 public:
  explicit Shared(const Clock& clock) : clock_(clock) {}

  [[nodiscard]] MonoTime now() const { return clock_.now().mono; }
  // What was seen so shortly before that it serves; nothing: look.
  [[nodiscard]] std::optional<PciGpus> seen(GpuVendor vendor, MonoTime now) const {
    const std::lock_guard lock(mutex_);
    if (!last_ || now - began_ >= kShared || !last_->of(vendor)) return std::nullopt;
    return last_->of(vendor);
  }
  // What need not be asked again.
  [[nodiscard]] PciClasses known(MonoTime now) const {
    const std::lock_guard lock(mutex_);
    return last_ && now - asked_all_ < kKnown ? last_->classes : PciClasses();
  }
  void keep(Look look, MonoTime began, bool has_asked_all) {
    const std::lock_guard lock(mutex_);
    last_ = std::move(look);
    began_ = began;
    if (has_asked_all) asked_all_ = began;
  }

 private:
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::optional<Look> last_;
  MonoTime began_{};
  MonoTime asked_all_{};
};

GpuScan::GpuScan(const Files& files, const Clock& clock)
    : files_(&files), shared_(std::make_shared<Shared>(clock)) {}

Result<std::vector<PciDevice>> GpuScan::gpus(GpuVendor vendor) const {
  if (!shared_) return vendor == GpuVendor::amd ? scan_amd_gpus(*files_) : scan_nvidia_gpus(*files_);
  const MonoTime now = shared_->now();
  if (const auto seen = shared_->seen(vendor, now)) return *seen;
  const PciClasses known = shared_->known(now);
  const PciClasses classes = TRY(read_pci_classes(*files_, known));
  const Look look{classes, scan_nvidia_gpus(*files_, classes), scan_amd_gpus(*files_, classes)};
  shared_->keep(look, now, known.empty());
  return look.of(vendor);
}

}  // namespace autopilot::host
