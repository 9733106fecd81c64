// SPDX-License-Identifier: Apache-2.0
#pragma once

// How what a pod gets is called, in the pod and in its token.
namespace autopilot::controller {

inline constexpr const char* kPreflightContainer = "autopilot-preflight";
inline constexpr const char* kPreflightVolume = "autopilot-preflight-token";
inline constexpr const char* kPreflightAudience = "autopilot";

}  // namespace autopilot::controller
