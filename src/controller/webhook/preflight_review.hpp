// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "controller/webhook/review_outcome.hpp"
#include "controller/webhook/settings.hpp"

namespace autopilot::controller {

// How what a pod gets is called, in the pod and in its token.

inline constexpr const char* kPreflightContainer = "autopilot-preflight";
inline constexpr const char* kPreflightVolume = "autopilot-preflight-token";
inline constexpr const char* kPreflightAudience = "autopilot";

// Answers an AdmissionReview of admission.k8s.io/v1 in JSON. A new pod with the label `autopilot` that asks
// for accelerators gets the container autopilot-preflight before all that begin, and the volume with its
// token, which no other container mounts; one that has both as they would be made stays as it is. No other
// object is changed. Pure; never refuses.
[[nodiscard]] HandlerAnswer review(std::string_view admission_review_json, const WebhookSettings& settings);
// The same in a namespace whose pods all want it, but those whose label says false. One without the label
// gets it together with the container; one that asks for no accelerator stays as it is, without a warning.
[[nodiscard]] HandlerAnswer review_in_namespace(std::string_view admission_review_json,
                                                const WebhookSettings& settings);

}  // namespace autopilot::controller
