// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "controller/webhook/review_outcome.hpp"
#include "controller/webhook/settings.hpp"

namespace autopilot::controller {

// Answers an AdmissionReview of admission.k8s.io/v1 in JSON. Every container of a new pod with accelerators
// gets the environment variables that let a training job report where it hangs: NCCL RAS, the flight recorder
// of PyTorch with a folder for it, and the error file of torchrun. Variables that the container sets, under
// their old or new name, stay unchanged; so does a container with envFrom, whose variables are not visible.
// The annotation <prefix>/observation lists the changes. Pure; never refuses.
[[nodiscard]] HandlerAnswer observe(std::string_view admission_review_json,
                                    const ObservationSettings& settings);

}  // namespace autopilot::controller
