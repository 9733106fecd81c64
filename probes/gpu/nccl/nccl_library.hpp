// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <type_traits>

#include "core/result.hpp"
#include "probes/gpu/driver/driver.hpp"
#include "probes/gpu/driver/vendor.hpp"
#include "probes/gpu/nccl/nccl_abi.h"

namespace autopilot::probes::gpu {

namespace nccl {

// One function of the library: its name there, and its address.
template <class Signature>
struct Call {
  const char* name;
  Signature* address = nullptr;
};

// All functions.
struct Calls {
#define AUTOPILOT_NCCL_MEMBER(result, member, name, arguments) \
  std::type_identity<Call<result arguments>>::type member{#name};
  AUTOPILOT_NCCL_FUNCTIONS(AUTOPILOT_NCCL_MEMBER)
  AUTOPILOT_NCCL_OPTIONAL_FUNCTIONS(AUTOPILOT_NCCL_MEMBER)  // null if the library lacks it
#undef AUTOPILOT_NCCL_MEMBER
};

}  // namespace nccl

// "NCCL", or "RCCL" for AMD GPUs.
[[nodiscard]] std::string nccl_name(Vendor vendor);
// The library's name for the loader.
[[nodiscard]] std::string nccl_library(Vendor vendor);

// "2.21.5" for 22105. Before 2.9, NCCL encoded 2.8.4 as 2804.
[[nodiscard]] std::string nccl_version_text(int version);

// The error of a failed NCCL call.
struct NcclError {
  nccl::Return code = nccl::kSuccess;
  std::string call;
  std::string text;  // text of the code, and NCCL's last message if available
};

// NCCL's library, or RCCL's, opened at run time and never closed, because it has threads of its own. Called
// by one thread.
class NcclLibrary {
 public:
  // `path`: a file, or a name that the loader searches. The watch must outlive it. Errc::not_found: the
  // library is missing. Errc::unsupported: it is unusable; the text names what is missing.
  [[nodiscard]] static Result<NcclLibrary> open(const std::string& path, Watch& watch,
                                                Vendor vendor = Vendor::nvidia);

  [[nodiscard]] const nccl::Calls& calls() const { return calls_; }
  [[nodiscard]] Vendor vendor() const { return vendor_; }
  // True for the simulated library, which has a symbol that real ones lack.
  [[nodiscard]] bool is_simulated() const { return is_simulated_; }
  [[nodiscard]] Result<std::string> version();

  // The error names the function and has NCCL's message; error() keeps it.
  template <class... Parameters>
  [[nodiscard]] Status run(const nccl::Call<nccl::Return(Parameters...)>& call,
                           std::type_identity_t<Parameters>... arguments) {
    const InCall in_call(*watch_, call.name);
    return status_of(call.name, call.address(arguments...));
  }
  // The same for releases.
  template <class... Parameters>
  void give_back(const nccl::Call<nccl::Return(Parameters...)>& call,
                 std::type_identity_t<Parameters>... arguments) const {
    const InCall in_call(*watch_, call.name);
    call.address(arguments...);
  }
  // For a code that is not the return value of the function.
  [[nodiscard]] Status status_of(const char* call, nccl::Return code);

  // The first error.
  [[nodiscard]] const std::optional<NcclError>& error() const { return error_; }

 private:
  NcclLibrary(Watch& watch, Vendor vendor) : vendor_(vendor), watch_(&watch) {}
  Vendor vendor_;
  nccl::Calls calls_;
  bool is_simulated_ = false;
  Watch* watch_;
  std::optional<NcclError> error_;
};

}  // namespace autopilot::probes::gpu
