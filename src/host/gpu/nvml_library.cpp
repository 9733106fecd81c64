// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/nvml_library.hpp"

#include <cstring>
#include <dlfcn.h>
#include <link.h>
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

}  // namespace autopilot::host
