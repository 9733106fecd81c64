// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace autopilot::kube {

struct JsonObject;  // json_object.hpp

// Calls `take` with each object of one page of a list. Returns the `continue` token of the next page; empty
// on the last page. malformed: not a list.
[[nodiscard]] Result<std::string> read_list_page(std::string_view json,
                                                 const std::function<void(const JsonObject& object)>& take);

// Calls `take` with the object in the text. malformed: not a JSON object.
[[nodiscard]] Status read_object(std::string_view json,
                                 const std::function<void(const JsonObject& object)>& take);

}  // namespace autopilot::kube
