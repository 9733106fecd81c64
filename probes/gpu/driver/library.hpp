// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "core/result.hpp"
#include "probes/gpu/driver/cuda_abi.h"
#include "probes/gpu/driver/vendor.hpp"

namespace autopilot::probes::gpu {

namespace cuda {

// One function of the library: its name there, and its address.
template <class Signature>
struct Call {
  const char* name;
  Signature* address = nullptr;
};

// All functions. With HIP, those of hip_abi.h under the same members; the others are null then.
struct Calls {
#define AUTOPILOT_CUDA_MEMBER(member, name, arguments) \
  std::type_identity<Call<Return arguments>>::type member{#name};
  AUTOPILOT_CUDA_FUNCTIONS(AUTOPILOT_CUDA_MEMBER)
#undef AUTOPILOT_CUDA_MEMBER
  // HIP only, instead of contexts: selects the GPU of this thread.
  Call<Return(Device)> device_set{"hipSetDevice"};
};

}  // namespace cuda

inline constexpr const char* kDriverLibrary = "libcuda.so.1";

// Names of a driver's library to try, in order of preference: for HIP those of ROCm 7, 6 and 5.
[[nodiscard]] std::vector<std::string> driver_libraries(Vendor vendor);

// The driver's library, CUDA's or HIP's, opened at run time and never closed, because it has threads of its
// own. Thread-safe.
class Library {
 public:
  // `path`: a file, or a name that the loader searches. Errc::not_found: the library is missing.
  // Errc::unsupported: it is unusable; the text names what is missing.
  [[nodiscard]] static Result<Library> open(const std::string& path, Vendor vendor = Vendor::nvidia);
  // Opens the first that exists.
  [[nodiscard]] static Result<Library> open_first(const std::vector<std::string>& paths, Vendor vendor);

  [[nodiscard]] const cuda::Calls& calls() const { return calls_; }
  [[nodiscard]] Vendor vendor() const { return vendor_; }
  // True for the simulated driver, which has a symbol that real drivers lack.
  [[nodiscard]] bool is_simulated() const { return is_simulated_; }
  // "CUDA_ERROR_OUT_OF_MEMORY (2)", "hipErrorOutOfMemory (2)".
  [[nodiscard]] std::string text_of(cuda::Return code) const;

 private:
  explicit Library(Vendor vendor) : vendor_(vendor) {}
  Status load_cuda(const std::string& path);
  Status load_hip(const std::string& path);
  [[nodiscard]] const char* name_of(cuda::Return code) const;

  Vendor vendor_;
  cuda::Calls calls_;
  const char* (*hip_error_name_)(cuda::Return code) = nullptr;  // HIP only
  bool is_simulated_ = false;
};

}  // namespace autopilot::probes::gpu
