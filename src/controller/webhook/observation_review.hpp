// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "controller/webhook/review_outcome.hpp"
#include "controller/webhook/settings.hpp"

namespace autopilot::controller {

// Answers an AdmissionReview of admission.k8s.io/v1 in JSON. Every container of a new pod that asks for
// accelerators gets the variables by which a training job tells where it hangs: NCCL's RAS, the flight
// recorder of PyTorch with a folder for it, the error file of torchrun. A variable that the container has,
// under its old or its new name, stays as it is; a container whose variables come from elsewhere (envFrom) is
// left alone, for these are not seen. What was set is told in the annotation <prefix>/observation. Pure;
// never refuses.
[[nodiscard]] HandlerAnswer observe(std::string_view admission_review_json,
                                    const ObservationSettings& settings);

}  // namespace autopilot::controller
