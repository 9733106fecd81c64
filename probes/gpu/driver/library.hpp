// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <type_traits>

#include "core/result.hpp"
#include "probes/gpu/driver/cuda_abi.h"

namespace autopilot::probes::gpu {

namespace cuda {

// One function of the library: what it is called there, and where it is.
template <class Signature>
struct Call {
  const char* name;
  Signature* address = nullptr;
};

// All of them, under names of ours.
struct Calls {
#define AUTOPILOT_CUDA_MEMBER(member, name, arguments) \
  std::type_identity<Call<Return arguments>>::type member{#name};
  AUTOPILOT_CUDA_FUNCTIONS(AUTOPILOT_CUDA_MEMBER)
#undef AUTOPILOT_CUDA_MEMBER
};

}  // namespace cuda

inline constexpr const char* kDriverLibrary = "libcuda.so.1";

// The CUDA driver's library, opened while we run and never closed: it has threads of its own. Thread-safe.
class Library {
 public:
  // `path`: a file, or a name that the loader looks for. Errc::not_found: there is none. Errc::unsupported:
  // it cannot be used; the text says what is missing.
  [[nodiscard]] static Result<Library> open(const std::string& path);

  [[nodiscard]] const cuda::Calls& calls() const { return calls_; }
  // It is the simulated driver, which says so by a symbol that no real one has.
  [[nodiscard]] bool is_simulated() const { return is_simulated_; }
  // "CUDA_ERROR_OUT_OF_MEMORY (2)".
  [[nodiscard]] std::string text_of(cuda::Return code) const;

 private:
  Library() = default;
  cuda::Calls calls_;
  bool is_simulated_ = false;
};

}  // namespace autopilot::probes::gpu
