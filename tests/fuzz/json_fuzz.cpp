// SPDX-License-Identifier: Apache-2.0
// Every reader of the API. What a reader accepts must be written so that it is accepted again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "api/json.hpp"
#include "api/v1.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::json_fuzz {
namespace {

template <class T>
void round_trip(std::string_view json, Result<T> (*parse)(std::string_view)) {
  const auto first = parse(json);
  if (!first) return;
  if (!parse(api::to_json(*first))) std::abort();
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const void* bytes = data + 1;
  const std::string_view text(static_cast<const char*>(bytes), size - 1);
  switch (data[0] % 10) {
    case 0:
      round_trip(text, api::parse_node);
      break;
    case 1:
      round_trip(text, api::parse_check_result);
      break;
    case 2:
      round_trip(text, api::parse_checks);
      break;
    case 3:
      round_trip(text, api::parse_incidents);
      break;
    case 4:
      round_trip(text, api::parse_operations);
      break;
    case 5:
      round_trip(text, api::parse_events);
      break;
    case 6:
      round_trip(text, api::parse_operation_request);
      break;
    case 7:
      round_trip(text, api::parse_inject_request);
      break;
    case 8:
      round_trip(text, api::parse_receipt);
      break;
    default:
      static_cast<void>(api::parse_error(text));
      static_cast<void>(api::json_to_yaml(text));
      break;
  }
  return 0;
}

}  // namespace autopilot::json_fuzz
