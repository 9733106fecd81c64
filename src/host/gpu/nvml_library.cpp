// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/nvml_library.hpp"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <iterator>
#include <limits>
#include <link.h>
#include <optional>
#include <string_view>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kSoname = "libnvidia-ml.so.1";

enum class Need { required, optional };

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : ", ") + word;
  return text;
}

// The loader's message is "<name>: cannot open shared object file: No such file or directory" if the file
// itself is missing; any other message means that the file exists and cannot be loaded.
bool reports_missing(std::string_view message, std::string_view name) {
  return message.starts_with(name) &&
         message.substr(name.size()).starts_with(": cannot open shared object file: No such file");
}

std::string path_of(void* handle, const std::string& asked) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map != nullptr &&
      map->l_name != nullptr && *map->l_name != '\0')
    return map->l_name;
  return asked;
}

// POSIX promises that dlsym's object pointer converts to the function's.
template <class Signature>
bool load(void* handle, nvml::Function<Signature>& function) {
  void* address = dlsym(handle, function.name);
  static_assert(sizeof(address) == sizeof(function.address));
  std::memcpy(&function.address, &address, sizeof(address));
  return address != nullptr;
}

}  // namespace

void NvmlLibrary::Close::operator()(void* handle) const {
  dlclose(handle);
}

const std::vector<std::string>& NvmlLibrary::search_places() {
  static const std::vector<std::string> places = [] {
    std::vector<std::string> all{std::string(kSoname)};
    for (const char* folder :
         {"/run/nvidia/driver/usr/lib/x86_64-linux-gnu", "/run/nvidia/driver/usr/lib/aarch64-linux-gnu",
          "/run/nvidia/driver/usr/lib64", "/usr/local/nvidia/lib64", "/usr/local/nvidia/lib",
          "/usr/lib/x86_64-linux-gnu/nvidia/current", "/usr/lib/aarch64-linux-gnu/nvidia/current",
          "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib/wsl/lib"})
      all.push_back(std::string(folder) + "/" + std::string(kSoname));
    return all;
  }();
  return places;
}

std::vector<std::string> NvmlLibrary::resolve() {
  std::vector<std::string> lacking;
#define AUTOPILOT_RESOLVE(need, name, result, arguments) \
  if (!load(handle_.get(), functions_.name) && Need::need == Need::required) lacking.emplace_back(#name);
  AUTOPILOT_NVML_FUNCTIONS(AUTOPILOT_RESOLVE)
#undef AUTOPILOT_RESOLVE
  return lacking;
}

tl::expected<NvmlLibrary, NvmlProblem> NvmlLibrary::open(const std::string& path, CallWatch& watch) {
  const std::vector<std::string> places = path.empty() ? search_places() : std::vector<std::string>{path};
  std::string broken;
  for (const std::string& place : places) {
    NvmlLibrary library(watch);
    watch.begin("dlopen", mono_now());
    library.handle_.reset(dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL));
    watch.end();
    if (library.handle_ == nullptr) {
      const char* message = dlerror();
      const std::string text = message != nullptr ? message : place + ": cannot be loaded";
      if (!reports_missing(text, place) && broken.empty()) broken = text;
      continue;
    }
    library.path_ = path_of(library.handle_.get(), place);
    const std::vector<std::string> lacking = library.resolve();
    if (lacking.empty()) return library;
    if (broken.empty()) broken = library.path_ + " lacks " + join(lacking);
  }
  if (!broken.empty()) return tl::unexpected(NvmlProblem{DriverState::library_broken, broken});
  const std::string missing = path.empty() ? std::string(kSoname) + " is in none of " +
                                                 std::to_string(places.size()) + " search paths"
                                           : path + " does not exist";
  return tl::unexpected(NvmlProblem{DriverState::library_missing, missing});
}

std::string NvmlLibrary::error_text(nvml::Return code) const {
  const char* text = functions_.nvmlErrorString.address(code);
  const std::string word = text != nullptr ? driver_text(text, 200) : "no text";
  return word + " (" + std::to_string(code) + ")";
}

DriverState driver_state_of(nvml::Return init_code) {
  switch (init_code) {
    case nvml::kSuccess:
    case nvml::kAlreadyInitialized:
      return DriverState::ok;
    case nvml::kDriverNotLoaded:
      return DriverState::driver_not_loaded;
    case nvml::kLibRmVersionMismatch:
      return DriverState::version_mismatch;
    case nvml::kNoPermission:
      return DriverState::no_permission;
    default:
      return DriverState::init_failed;
  }
}

std::string driver_text(const char* text, std::size_t size) {
  return to_printable({text, strnlen(text, size)});
}

std::int64_t saturated(unsigned long long number) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  return number > static_cast<unsigned long long>(kMax) ? kMax : static_cast<std::int64_t>(number);
}

std::int64_t field_integer(const nvml::FieldValue& field) {
  switch (field.valueType) {
    case nvml::kValueUnsignedInt:
      return field.value.uiVal;
    case nvml::kValueUnsignedLong:
      return saturated(field.value.ulVal);
    case nvml::kValueSignedLongLong:
      return field.value.sllVal;
    case nvml::kValueSignedInt:
      return field.value.siVal;
    case nvml::kValueUnsignedShort:
      return field.value.usVal;
    default:
      return saturated(field.value.ullVal);
  }
}

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
  for (unsigned i = 0; i < std::min(count, kMaxNvmlGpus); ++i) {
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
    if (why == nvml::kSuccess) return fail(Errc::unavailable, "the driver lists no GPU");
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

// Many events of one kind leave room for other events.
void NvmlEvents::add(GpuEvent event) {
  const auto alike = [&event](const GpuEvent& other) { return is_alike(other, event); };
  if (static_cast<std::size_t>(std::ranges::count_if(kept_events_, alike)) >= kMostAlike)
    kept_events_.erase(std::prev(std::find_if(kept_events_.rbegin(), kept_events_.rend(), alike).base()));
  kept_events_.push_back(std::move(event));
  if (kept_events_.size() > kMost) kept_events_.pop_front();
}

std::vector<GpuEvent> NvmlEvents::take() {
  const MonoTime oldest = clock_.now().mono - kKeptFor;
  std::erase_if(kept_events_, [oldest](const GpuEvent& event) { return event.time.mono < oldest; });
  std::vector<GpuEvent> taken(std::make_move_iterator(kept_events_.begin()),
                              std::make_move_iterator(kept_events_.end()));
  kept_events_.clear();
  return taken;
}

}  // namespace autopilot::host
