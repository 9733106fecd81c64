// SPDX-License-Identifier: Apache-2.0
#include "store/libpq.hpp"

#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <optional>
#include <string>

namespace autopilot::store::libpq {
namespace {

constexpr const char* kLibraryOfPostgres = "libpq.so.5";

// POSIX promises that dlsym's object pointer converts to the function's.
template <class Function>
bool load_function(void* library, const char* name, Function& function) {
  void* address = ::dlsym(library, name);
  static_assert(sizeof(address) == sizeof(function));
  std::memcpy(&function, &address, sizeof(address));
  return address != nullptr;
}

// Never closed: a connection that hangs can use it until the process ends.
Result<Functions> load_libpq() {
  void* library = ::dlopen(kLibraryOfPostgres, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = ::dlerror();
    return fail(Errc::unsupported,
                "history in PostgreSQL needs the library libpq.so.5, which cannot be loaded (" +
                    std::string(reason != nullptr ? reason : "no reason given") +
                    "); install the package libpq5 (Debian, Ubuntu) or libpq (RHEL)");
  }
  Functions functions;
  std::string missing;
#define AUTOPILOT_LIBPQ_LOAD(name, result, arguments) \
  if (!load_function(library, #name, functions.name)) missing += missing.empty() ? #name : ", " #name;
  AUTOPILOT_LIBPQ_FUNCTIONS(AUTOPILOT_LIBPQ_LOAD)
#undef AUTOPILOT_LIBPQ_LOAD
  if (!missing.empty())
    return fail(Errc::unsupported, "libpq.so.5 lacks " + missing + "; install a newer package libpq5");
  return functions;
}

}  // namespace

Result<const Functions*> functions() {
  // A missing library is loaded at the next call if it was installed meanwhile.
  static std::mutex mutex;
  static std::optional<Functions> loaded;
  const std::lock_guard lock(mutex);
  if (!loaded) loaded = TRY(load_libpq());
  return &*loaded;
}

}  // namespace autopilot::store::libpq
