// SPDX-License-Identifier: Apache-2.0
#include "host/helpers/text_message.hpp"

#include <boost/json.hpp>

namespace autopilot::host {

namespace json = boost::json;

std::string make_text_message(std::string_view text) {
  return json::serialize(json::string(text));
}

std::optional<std::string> text_in(std::string_view message) {
  json::error_code error;
  json::parse_options options;
  options.allow_invalid_utf8 = true;
  const json::value value = json::parse({message.data(), message.size()}, error, {}, options);
  if (error || !value.is_string()) return std::nullopt;
  return std::string(value.get_string());
}

}  // namespace autopilot::host
