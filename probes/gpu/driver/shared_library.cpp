// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/driver/shared_library.hpp"

#include <dlfcn.h>
#include <string_view>

namespace autopilot::probes::gpu {
namespace {

// The loader prints this text only if the file itself is missing.
bool says_not_there(std::string_view message, std::string_view name) {
  return message.starts_with(name) &&
         message.substr(name.size()).starts_with(": cannot open shared object file: No such file");
}

}  // namespace

Result<SharedLibrary> SharedLibrary::open(const std::string& path, const std::string& what) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return SharedLibrary(path, handle);
  const std::string message = dlerror();
  if (says_not_there(message, path)) return fail(Errc::not_found, path + ": " + what + " is not installed");
  return fail(Errc::unsupported, message);
}

void* SharedLibrary::find(const char* name) const {
  return dlsym(handle_, name);
}

Status SharedLibrary::complete(const std::string& what_it_is) const {
  if (missing_.empty()) return {};
  return fail(Errc::unsupported, path_ + " " + what_it_is + ": it lacks" + missing_);
}

}  // namespace autopilot::probes::gpu
