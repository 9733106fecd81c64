// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/nvml_events.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "host/gpu/nvml_driver.hpp"
#include "host/gpu/nvml_reader.hpp"

namespace autopilot::host {
namespace {

tl::unexpected<Error> call_failed(const NvmlLibrary& library, std::string_view function, nvml::Return code) {
  if (code == nvml::kSymbolAbsent)
    return fail(Errc::unsupported, "the driver's library has no " + std::string(function));
  return fail(code == nvml::kNoPermission ? Errc::denied : Errc::unavailable,
              std::string(function) + ": " + library.error_text(code));
}

std::optional<std::string> address_of_device(NvmlLibrary& library, nvml::Device device) {
  nvml::PciInfo pci{};
  if (library.call(library.functions().nvmlDeviceGetPciInfo_v3, device, &pci) != nvml::kSuccess)
    return std::nullopt;
  return canonical_pci_address(driver_text(pci.busId, sizeof(pci.busId)));
}

bool is_alike(const GpuEvent& a, const GpuEvent& b) {
  return a.subject == b.subject && a.code == b.code;
}

}  // namespace

Status NvmlEvents::listen(NvmlLibrary& library) {
  if (set_ != nullptr) return {};
  const nvml::Functions& functions = library.functions();
  nvml::EventSet set = nullptr;
  if (const auto code = library.call(functions.nvmlEventSetCreate, &set); code != nvml::kSuccess)
    return call_failed(library, "nvmlEventSetCreate", code);
  unsigned count = 0;
  nvml::Return why = library.call(functions.nvmlDeviceGetCount_v2, &count);
  std::map<nvml::Device, std::string> addresses;
  for (unsigned i = 0; i < std::min(count, NvmlDriver::kMaxGpus); ++i) {
    nvml::Device device = nullptr;
    nvml::Return code = library.call(functions.nvmlDeviceGetHandleByIndex_v2, i, &device);
    if (code == nvml::kSuccess)
      code = library.call(functions.nvmlDeviceRegisterEvents, device, nvml::kEventXidCriticalError, set);
    if (code != nvml::kSuccess)
      why = code;
    else if (auto address = address_of_device(library, device))
      addresses.emplace(device, std::move(*address));
  }
  if (addresses.empty()) {
    library.call(functions.nvmlEventSetFree, set);
    if (why == nvml::kSuccess) return fail(Errc::unavailable, "the driver lists no GPU to listen to");
    return call_failed(library, "nvmlDeviceRegisterEvents", why);
  }
  set_ = set;
  addresses_ = std::move(addresses);
  drained_ = clock_.now().mono;
  return {};
}

void NvmlEvents::end() {
  set_ = nullptr;
  addresses_.clear();
}

Status NvmlEvents::drain(NvmlLibrary& library) {
  if (set_ == nullptr) return {};
  const Instant now = clock_.now();
  const Duration late = now.mono - std::exchange(drained_, now.mono);
  for (int i = 0; i < kMaxAtOnce; ++i) {
    nvml::EventData data{};
    const auto code = library.call(library.functions().nvmlEventSetWait_v2, set_, &data, 0U);
    if (code == nvml::kTimeout) break;
    if (code != nvml::kSuccess) return call_failed(library, "nvmlEventSetWait_v2", code);
    const auto address = addresses_.find(data.device);
    if ((data.eventType & nvml::kEventXidCriticalError) == 0 || address == addresses_.end()) continue;
    GpuEvent event;
    event.subject = {SubjectKind::gpu, address->second, std::nullopt, "", ""};
    event.code = static_cast<std::uint32_t>(
        std::min<unsigned long long>(data.eventData, std::numeric_limits<std::uint32_t>::max()));
    event.time = now;
    event.late = late;
    add(std::move(event));
  }
  return {};
}

// A storm of one error leaves room for the others.
void NvmlEvents::add(GpuEvent event) {
  const auto alike = [&event](const GpuEvent& other) { return is_alike(other, event); };
  if (static_cast<std::size_t>(std::ranges::count_if(heard_, alike)) >= kMostAlike)
    heard_.erase(std::prev(std::find_if(heard_.rbegin(), heard_.rend(), alike).base()));
  heard_.push_back(std::move(event));
  if (heard_.size() > kMost) heard_.pop_front();
}

std::vector<GpuEvent> NvmlEvents::take() {
  const MonoTime oldest = clock_.now().mono - kKeptFor;
  std::erase_if(heard_, [oldest](const GpuEvent& event) { return event.time.mono < oldest; });
  std::vector<GpuEvent> taken(std::make_move_iterator(heard_.begin()), std::make_move_iterator(heard_.end()));
  heard_.clear();
  return taken;
}

}  // namespace autopilot::host
