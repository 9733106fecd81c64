// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/driver/driver.hpp"

namespace autopilot::probes::gpu {
namespace {

Errc errc_of_code(cuda::Return code) {
  switch (code) {
    case cuda::kOutOfMemory:
      return Errc::exhausted;
    case cuda::kNoBinaryForGpu:
    case cuda::kInvalidPtx:
    case cuda::kUnsupportedPtxVersion:
    case cuda::kNotSupported:
    case cuda::kPeerAccessUnsupported:
      return Errc::unsupported;
    case cuda::kNotPermitted:
      return Errc::denied;
    case cuda::kInvalidValue:
    case cuda::kInvalidHandle:
      return Errc::internal;
    default:
      return Errc::unavailable;
  }
}

}  // namespace

Status Driver::status_of(const char* name, cuda::Return code) const {
  if (code == cuda::kSuccess) return {};
  return fail(errc_of_code(code), std::string(name) + ": " + library_->text_of(code));
}

tl::unexpected<Error> Driver::not_asked_for(const char* name) {
  return fail(Errc::unsupported, std::string(name) + ": not used with this driver's library");
}

Status Driver::go_on() const {
  if (watch_->stop) return fail(Errc::conflict, "stopped early");
  return {};
}

}  // namespace autopilot::probes::gpu
