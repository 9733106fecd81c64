// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "kube/lease.hpp"

// A LeaseRecord as an API object (coordination.k8s.io/v1, Lease). Pure.
namespace autopilot::kube {

[[nodiscard]] std::string leases_path(const std::string& name_space);
// A new object.
[[nodiscard]] std::string lease_json(const std::string& name, const LeaseRecord& record);
// A merge patch that the server refuses if the object no longer has record.resource_version; other fields
// stay.
[[nodiscard]] std::string lease_patch_json(const LeaseRecord& record);
// malformed: not a Lease, or a Lease without a resourceVersion, which cannot be updated safely.
[[nodiscard]] Result<LeaseRecord> parse_lease_record(std::string_view text);

}  // namespace autopilot::kube
