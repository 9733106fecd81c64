// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace autopilot::kube {

struct JsonObject;  // json_object.hpp

// Calls `take` with each object of one page of a list; gives where the next page begins (`continue` of its
// query), empty on the last one. malformed: no list.
[[nodiscard]] Result<std::string> read_list_page(std::string_view json,
                                                 const std::function<void(const JsonObject& object)>& take);

// What `take` makes of the object that the text holds. malformed: no JSON object.
[[nodiscard]] Status read_object(std::string_view json,
                                 const std::function<void(const JsonObject& object)>& take);

}  // namespace autopilot::kube
