// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/gpus.hpp"

#include <mutex>
#include <optional>

#include "core/word_table.hpp"

namespace autopilot::host {
namespace {

constexpr WordTable<DriverState, 10> kDriverStates{{
    {DriverState::ok, "ok"},
    {DriverState::library_missing, "library_missing"},
    {DriverState::library_broken, "library_broken"},
    {DriverState::driver_not_loaded, "driver_not_loaded"},
    {DriverState::version_mismatch, "version_mismatch"},
    {DriverState::no_permission, "no_permission"},
    {DriverState::init_failed, "init_failed"},
    {DriverState::unresponsive, "unresponsive"},
    {DriverState::crashed, "crashed"},
    {DriverState::exhausted, "exhausted"},
}};

constexpr WordTable<GpuVendor, 2> kGpuVendors{{
    {GpuVendor::nvidia, "NVIDIA"},
    {GpuVendor::amd, "AMD"},
}};

constexpr WordTable<GpuState, 6> kGpuStates{{
    {GpuState::ok, "ok"},
    {GpuState::lost, "lost"},
    {GpuState::reset_required, "reset_required"},
    {GpuState::unresponsive, "unresponsive"},
    {GpuState::unreadable, "unreadable"},
    {GpuState::asleep, "asleep"},
}};

constexpr WordTable<GpuGroup, 11> kGpuGroups{{
    {GpuGroup::identity, "identity"},
    {GpuGroup::row_remap, "row_remap"},
    {GpuGroup::ecc, "ecc"},
    {GpuGroup::clocks, "clocks"},
    {GpuGroup::temperature, "temperature"},
    {GpuGroup::pcie, "pcie"},
    {GpuGroup::nvlink, "nvlink"},
    {GpuGroup::power, "power"},
    {GpuGroup::processes, "processes"},
    {GpuGroup::fabric, "fabric"},
    {GpuGroup::inforom, "inforom"},
}};

}  // namespace

std::string_view to_string(GpuVendor vendor) {
  return word_of(kGpuVendors, vendor);
}

std::string_view to_string(DriverState state) {
  return word_of(kDriverStates, state);
}
std::optional<DriverState> parse_driver_state(std::string_view word) {
  return value_of(kDriverStates, word);
}

std::string_view to_string(GpuState state) {
  return word_of(kGpuStates, state);
}
std::optional<GpuState> parse_gpu_state(std::string_view word) {
  return value_of(kGpuStates, word);
}

std::string_view to_string(GpuGroup group) {
  return word_of(kGpuGroups, group);
}
std::optional<GpuGroup> parse_gpu_group(std::string_view word) {
  return value_of(kGpuGroups, word);
}

const GpuReading* GpuDevice::find(std::string_view reading, std::optional<int> link) const {
  for (const GpuReading& candidate : readings)
    if (candidate.name == reading && candidate.link == link) return &candidate;
  return nullptr;
}

const Gpus& Gpus::none() {
  static const NoGpus no_driver(DriverState::driver_not_loaded, "");
  return no_driver;
}

Result<GpuReport> NoGpus::read(const std::vector<GpuGroup>&, MonoTime) const {
  GpuReport report;
  report.state = state_;
  report.detail = detail_;
  return report;
}

Result<std::vector<GpuEvent>> NoGpus::take_events(MonoTime) const {
  return fail(Errc::unavailable, "the driver is " + std::string(to_string(state_)) + ": " + detail_);
}

namespace {

using PciGpus = Result<std::vector<PciDevice>>;

struct Scan {
  PciClasses classes;
  PciGpus nvidia;
  PciGpus amd;

  [[nodiscard]] const PciGpus& of(GpuVendor vendor) const { return vendor == GpuVendor::amd ? amd : nvidia; }
};

}  // namespace

// The last scan. The mutex is not held during a scan, which may hang.
class GpuScan::Shared {
 public:
  explicit Shared(const Clock& clock) : clock_(clock) {}

  [[nodiscard]] MonoTime now() const { return clock_.now().mono; }
  // The result of a scan within kShared; empty if there is none.
  [[nodiscard]] std::optional<PciGpus> recent(GpuVendor vendor, MonoTime now) const {
    const std::lock_guard lock(mutex_);
    if (!last_ || now - began_ >= kShared || !last_->of(vendor)) return std::nullopt;
    return last_->of(vendor);
  }
  // Classes of devices that need not be read again.
  [[nodiscard]] PciClasses known(MonoTime now) const {
    const std::lock_guard lock(mutex_);
    return last_ && now - read_all_ < kKnown ? last_->classes : PciClasses();
  }
  void keep(Scan scan, MonoTime began, bool has_read_all) {
    const std::lock_guard lock(mutex_);
    last_ = std::move(scan);
    began_ = began;
    if (has_read_all) read_all_ = began;
  }

 private:
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::optional<Scan> last_;
  MonoTime began_{};
  MonoTime read_all_{};
};

GpuScan::GpuScan(const Files& files, const Clock& clock)
    : files_(&files), shared_(std::make_shared<Shared>(clock)) {}

Result<std::vector<PciDevice>> GpuScan::gpus(GpuVendor vendor) const {
  if (!shared_) return vendor == GpuVendor::amd ? scan_amd_gpus(*files_) : scan_nvidia_gpus(*files_);
  const MonoTime now = shared_->now();
  if (const auto recent = shared_->recent(vendor, now)) return *recent;
  const PciClasses known = shared_->known(now);
  const PciClasses classes = TRY(read_pci_classes(*files_, known));
  const Scan scan{classes, scan_nvidia_gpus(*files_, classes), scan_amd_gpus(*files_, classes)};
  shared_->keep(scan, now, known.empty());
  return scan.of(vendor);
}

}  // namespace autopilot::host
