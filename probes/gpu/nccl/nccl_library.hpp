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

// One function of the library: what it is called there, and where it is.
template <class Signature>
struct Call {
  const char* name;
  Signature* address = nullptr;
};

// All of them, under names of ours.
struct Calls {
#define AUTOPILOT_NCCL_MEMBER(result, member, name, arguments) \
  std::type_identity<Call<result arguments>>::type member{#name};
  AUTOPILOT_NCCL_FUNCTIONS(AUTOPILOT_NCCL_MEMBER)
  AUTOPILOT_NCCL_OPTIONAL_FUNCTIONS(AUTOPILOT_NCCL_MEMBER)  // null where it is not there
#undef AUTOPILOT_NCCL_MEMBER
};

}  // namespace nccl

// "NCCL", or "RCCL", which is NCCL for GPUs of AMD.
[[nodiscard]] std::string nccl_name(Vendor vendor);
// By which name the loader finds it.
[[nodiscard]] std::string nccl_library(Vendor vendor);

// "2.21.5" of 22105. Before 2.9 NCCL wrote 2.8.4 as 2804.
[[nodiscard]] std::string nccl_version_text(int version);

// What NCCL said of a call that failed.
struct NcclError {
  nccl::Return code = nccl::kSuccess;
  std::string call;
  std::string text;  // of the code, and what it said last, where it tells that
};

// NCCL's library, or RCCL's, opened while we run and never closed: it has threads of its own. Called by one
// thread.
class NcclLibrary {
 public:
  // `path`: a file, or a name that the loader looks for. The watch must outlive it. Errc::not_found: there is
  // none. Errc::unsupported: it cannot be used; the text says what is missing.
  [[nodiscard]] static Result<NcclLibrary> open(const std::string& path, Watch& watch,
                                                Vendor vendor = Vendor::nvidia);

  [[nodiscard]] const nccl::Calls& calls() const { return calls_; }
  [[nodiscard]] Vendor vendor() const { return vendor_; }
  // It is the simulated library, which says so by a symbol that no real one has.
  [[nodiscard]] bool is_simulated() const { return is_simulated_; }
  [[nodiscard]] Result<std::string> version();

  // The error says which function failed, and NCCL's words; it is kept in error().
  template <class... Parameters>
  [[nodiscard]] Status run(const nccl::Call<nccl::Return(Parameters...)>& call,
                           std::type_identity_t<Parameters>... arguments) {
    const InCall in_call(*watch_, call.name);
    return status_of(call.name, call.address(arguments...));
  }
  // The same for what is given back.
  template <class... Parameters>
  void give_back(const nccl::Call<nccl::Return(Parameters...)>& call,
                 std::type_identity_t<Parameters>... arguments) const {
    const InCall in_call(*watch_, call.name);
    call.address(arguments...);
  }
  // Of a code that came by another way than as the value of the function.
  [[nodiscard]] Status status_of(const char* call, nccl::Return code);

  // The first one there was.
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
