// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "catalog/catalog.hpp"

namespace autopilot::docs {

// The codes of the GPU driver with what its NVLink registers say, and those of the switch driver.
[[nodiscard]] std::string xids_page(const catalog::Catalog& facts);
[[nodiscard]] std::string sxids_page(const catalog::Catalog& facts);

}  // namespace autopilot::docs
