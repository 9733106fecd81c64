// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "catalog/driver_errors.hpp"
#include "catalog/entry.hpp"

namespace autopilot::catalog {

[[nodiscard]] Xid read_xid(Entry& entry);
[[nodiscard]] Sxid read_sxid(Entry& entry);
[[nodiscard]] NvLinkError read_nvlink_error(Entry& entry);
[[nodiscard]] LinkDownReason read_link_down_reason(Entry& entry);
[[nodiscard]] DcgmError read_dcgm_error(Entry& entry);
[[nodiscard]] NvLinkRegister read_nvlink_register(Entry& entry);

}  // namespace autopilot::catalog
