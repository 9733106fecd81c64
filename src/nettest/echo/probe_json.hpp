// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/json.hpp>
#include <cstddef>
#include <string>
#include <string_view>

#include "core/result.hpp"

// What the readers of reports of probes share. For this folder alone.
namespace autopilot::nettest {

// malformed: it is longer or deeper than that, or no object; the error begins with the name of the program.
[[nodiscard]] Result<boost::json::object> read_probe_report(std::string_view text, std::string_view program,
                                                            std::size_t most_bytes, std::size_t most_depth);
[[nodiscard]] tl::unexpected<Error> refuse_probe_report(std::string_view program, const std::string& what);

// Printable, and not too long for a sentence; empty where there is no such text.
[[nodiscard]] std::string probe_text(const boost::json::object& object, std::string_view name);
// Null where there is no such list.
[[nodiscard]] const boost::json::array* probe_list(const boost::json::object& object, std::string_view name);

}  // namespace autopilot::nettest
