// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.hpp"

// Members of the JSON that a helper of a GPU driver sends. The helper is not trusted: every text, number and
// list has a limit, and an error names the member.
namespace autopilot::host {

// Paths and messages of the loader may contain any bytes; the text that is sent is short and printable.
[[nodiscard]] std::string presentable(std::string_view text);

[[nodiscard]] tl::unexpected<Error> malformed_answer(std::string what);
// At most 1 MiB of text.
[[nodiscard]] Result<boost::json::object> parse_answer_object(std::string_view text);
[[nodiscard]] Result<std::string> answer_text(const boost::json::value& value, std::string_view name);
[[nodiscard]] Result<std::string> text_member(const boost::json::object& object, std::string_view name);
[[nodiscard]] Result<std::int64_t> answer_integer(const boost::json::value& value, std::string_view name,
                                                  std::int64_t low, std::int64_t high);
[[nodiscard]] Result<std::int64_t> integer_member(const boost::json::object& object, std::string_view name,
                                                  std::int64_t high);
// Valid as long as the object.
[[nodiscard]] Result<const boost::json::array*> array_member(const boost::json::object& object,
                                                             std::string_view name, std::size_t limit);

}  // namespace autopilot::host
