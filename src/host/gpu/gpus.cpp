// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/gpus.hpp"

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
  static const NoGpus nobody(DriverState::driver_not_loaded, "");
  return nobody;
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

}  // namespace autopilot::host
