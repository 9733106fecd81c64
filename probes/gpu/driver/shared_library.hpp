// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <string>

#include "core/result.hpp"

namespace autopilot::probes::gpu {

// A library that is opened while we run and never closed: drivers have threads of their own.
class SharedLibrary {
 public:
  // `path`: a file, or a name that the loader looks for. `what`: how a message calls it. Errc::not_found:
  // there is none. Errc::unsupported: the loader cannot use it.
  [[nodiscard]] static Result<SharedLibrary> open(const std::string& path, const std::string& what);

  // Null: it has no such symbol.
  [[nodiscard]] void* find(const char* name) const;
  // False: the library has no such function, and its name is added to those that are missing.
  template <class Signature>
  bool load(const char* name, Signature*& function) {
    void* address = find(name);
    // POSIX promises that the object pointer converts to the function's.
    static_assert(sizeof(address) == sizeof(function));
    std::memcpy(&function, &address, sizeof(address));
    if (address == nullptr) missing_ += std::string(" ") + name;
    return address != nullptr;
  }
  // Errc::unsupported: the names that were missing, after `what_it_is`.
  [[nodiscard]] Status complete(const std::string& what_it_is) const;

 private:
  SharedLibrary(std::string path, void* handle) : path_(std::move(path)), handle_(handle) {}
  std::string path_;
  void* handle_;
  std::string missing_;
};

}  // namespace autopilot::probes::gpu
