// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <string>

#include "core/result.hpp"

namespace autopilot::probes::gpu {

// A library that is opened at run time and never closed: drivers have threads of their own.
class SharedLibrary {
 public:
  // `path`: a file, or a name that the loader searches. `what`: its name in messages. Errc::not_found: the
  // library is missing. Errc::unsupported: the loader cannot use it.
  [[nodiscard]] static Result<SharedLibrary> open(const std::string& path, const std::string& what);

  // Null: unknown symbol.
  [[nodiscard]] void* find(const char* name) const;
  // False: the library lacks the function, whose name is added to the missing ones.
  template <class Signature>
  bool load(const char* name, Signature*& function) {
    void* address = find(name);
    // POSIX guarantees that the object pointer converts to a function pointer.
    static_assert(sizeof(address) == sizeof(function));
    std::memcpy(&function, &address, sizeof(address));
    if (address == nullptr) missing_ += std::string(" ") + name;
    return address != nullptr;
  }
  // Errc::unsupported: `what_it_is`, followed by the missing names.
  [[nodiscard]] Status complete(const std::string& what_it_is) const;

 private:
  SharedLibrary(std::string path, void* handle) : path_(std::move(path)), handle_(handle) {}
  std::string path_;
  void* handle_;
  std::string missing_;
};

}  // namespace autopilot::probes::gpu
