// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "controller/webhook/review_outcome.hpp"
#include "controller/webhook/settings.hpp"

namespace autopilot::controller {

// Names of the additions to a pod, and of the token's audience.

inline constexpr const char* kPreflightContainer = "autopilot-preflight";
inline constexpr const char* kPreflightVolume = "autopilot-preflight-token";
inline constexpr const char* kPreflightAudience = "autopilot";

// Answers an AdmissionReview of admission.k8s.io/v1 in JSON. A new pod with the label `autopilot` and
// accelerators gets the init container autopilot-preflight before all others, and the volume with its token,
// which no other container mounts. A pod that has both unchanged stays as it is. Other objects are not
// changed. Pure; never refuses.
[[nodiscard]] HandlerAnswer review(std::string_view admission_review_json, const WebhookSettings& settings);
// The same in a namespace that requests it for all pods; a label with the value false excludes a pod. A pod
// without the label gets the label as well; a pod without accelerators stays as it is, without a warning.
[[nodiscard]] HandlerAnswer review_in_namespace(std::string_view admission_review_json,
                                                const WebhookSettings& settings);

}  // namespace autopilot::controller
