// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/driver/library.hpp"

#include <cstring>
#include <dlfcn.h>
#include <string_view>
#include <vector>

namespace autopilot::probes::gpu {
namespace {

constexpr const char* kSimulatedSymbol = "cuAutopilotSimulated";

// The loader says so, and only so, when the file itself is not there.
bool says_not_there(std::string_view message, std::string_view name) {
  return message.starts_with(name) &&
         message.substr(name.size()).starts_with(": cannot open shared object file: No such file");
}

// POSIX promises that dlsym's object pointer converts to the function's.
template <class Signature>
bool load(void* handle, cuda::Call<Signature>& call) {
  void* address = dlsym(handle, call.name);
  static_assert(sizeof(address) == sizeof(call.address));
  std::memcpy(&call.address, &address, sizeof(address));
  return address != nullptr;
}

}  // namespace

Result<Library> Library::open(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const std::string message = dlerror();
    if (says_not_there(message, path))
      return fail(Errc::not_found,
                  path + ": no CUDA driver is installed here; --library names one elsewhere");
    return fail(Errc::unsupported, message);
  }
  Library library;
  std::string missing;
#define AUTOPILOT_CUDA_LOAD(member, name, arguments) \
  if (!load(handle, library.calls_.member)) missing += " " #name;
  AUTOPILOT_CUDA_FUNCTIONS(AUTOPILOT_CUDA_LOAD)
#undef AUTOPILOT_CUDA_LOAD
  if (!missing.empty())
    return fail(Errc::unsupported, path + " is no CUDA driver, or older than 450: it lacks" + missing);
  library.is_simulated_ = dlsym(handle, kSimulatedSymbol) != nullptr;
  return library;
}

std::string Library::text_of(cuda::Return code) const {
  const char* name = nullptr;
  const bool known = calls_.error_name.address(code, &name) == cuda::kSuccess && name != nullptr;
  return (known ? std::string(name) : "CUresult") + " (" + std::to_string(code) + ")";
}

}  // namespace autopilot::probes::gpu
