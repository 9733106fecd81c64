// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "catalog/catalog.hpp"

namespace autopilot::docs {

// Path relative to docs/ -> text of every page that is made from the catalog and the table of settings.
[[nodiscard]] std::map<std::string, std::string> make_pages(const catalog::Catalog& facts);

}  // namespace autopilot::docs
