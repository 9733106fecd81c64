// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "catalog/catalog.hpp"

namespace autopilot::docs {

// docs/checks/<id>.md: what the check reads, what you do about each reason, false alarms, settings.
[[nodiscard]] std::string check_page(const catalog::Catalog& facts, const catalog::CheckPage& check);

// docs/checks/README.md: how to read these pages, and a list of them.
[[nodiscard]] std::string checks_index(const catalog::Catalog& facts);

[[nodiscard]] bool belongs_to(const catalog::Reason& reason, std::string_view check);

}  // namespace autopilot::docs
