// SPDX-License-Identifier: Apache-2.0
#include "nettest/echo/probe_json.hpp"

#include <utility>

#include "core/parse.hpp"

namespace autopilot::nettest {

namespace json = boost::json;

tl::unexpected<Error> refuse_probe_report(std::string_view program, const std::string& what) {
  return fail(Errc::malformed, "report of " + std::string(program) + ": " + what);
}

Result<json::object> read_probe_report(std::string_view text, std::string_view program,
                                       std::size_t most_bytes, std::size_t most_depth) {
  if (text.size() > most_bytes) return refuse_probe_report(program, "it is too long");
  json::error_code error;
  json::parse_options options;
  options.max_depth = most_depth;
  json::value value = json::parse({text.data(), text.size()}, error, {}, options);
  if (error) return refuse_probe_report(program, error.message());
  json::object* const object = value.if_object();
  if (object == nullptr) return refuse_probe_report(program, "it is not an object");
  return std::move(*object);
}

std::string probe_text(const json::object& object, std::string_view name) {
  constexpr std::size_t kLongest = 512;
  const json::value* const member = object.if_contains(name);
  const json::string* const text = member == nullptr ? nullptr : member->if_string();
  return text == nullptr ? "" : to_printable({text->data(), text->size()}, kLongest);
}

const json::array* probe_list(const json::object& object, std::string_view name) {
  const json::value* const member = object.if_contains(name);
  return member == nullptr ? nullptr : member->if_array();
}

}  // namespace autopilot::nettest
