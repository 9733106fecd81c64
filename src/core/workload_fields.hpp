// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/workload.hpp"

namespace autopilot {

// The external names of an owner's fields, for attributes, the API and the journal.
struct WorkloadField {
  std::string_view name;
  std::string WorkloadOwner::*member;
};
inline constexpr std::array<WorkloadField, 6> kWorkloadFields{{
    {"container", &WorkloadOwner::container},
    {"podUid", &WorkloadOwner::pod_uid},
    {"podNamespace", &WorkloadOwner::pod_namespace},
    {"pod", &WorkloadOwner::pod},
    {"job", &WorkloadOwner::job},
    {"candidateBy", &WorkloadOwner::candidate_by},
}};

}  // namespace autopilot
