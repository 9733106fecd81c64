// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "kube/lease.hpp"

// A LeaseRecord as the object of the API (coordination.k8s.io/v1, Lease). Pure.
namespace autopilot::kube {

[[nodiscard]] std::string leases_path(const std::string& name_space);
// Of one that is to be created.
[[nodiscard]] std::string lease_json(const std::string& name, const LeaseRecord& record);
// A merge patch that the server refuses where the object is not of record.resource_version any more; what
// others wrote beside it stays.
[[nodiscard]] std::string lease_patch_json(const LeaseRecord& record);
// malformed: no Lease, or one without a resourceVersion, which nobody could update safely.
[[nodiscard]] Result<LeaseRecord> parse_lease_record(std::string_view text);

}  // namespace autopilot::kube
