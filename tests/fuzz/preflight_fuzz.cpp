// SPDX-License-Identifier: Apache-2.0
// What a pod asks of the gate, and an agent of the controller, and what they answer: what a reader accepts
// keeps to the limits, and is written so that it is accepted again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/controller.hpp"
#include "api/preflight.hpp"
#include "core/result.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::preflight_fuzz {
namespace {

template <class T>
void round_trip(std::string_view json, Result<T> (*parse)(std::string_view)) {
  const auto first = parse(json);
  if (first) AUTOPILOT_ASSERT(parse(api::to_json(*first)).has_value());
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  const void* bytes = data;
  const std::string_view text(static_cast<const char*>(bytes), size);
  if (const auto request = api::parse_preflight_request(text)) {
    AUTOPILOT_ASSERT(request->tests.size() <= api::PreflightRequest::kMostTests);
    for (const std::string& id : request->tests)
      AUTOPILOT_ASSERT(!id.empty() && id.size() <= api::PreflightRequest::kLongestTest);
    if (request->deadline) AUTOPILOT_ASSERT(*request->deadline <= api::PreflightRequest::kLongestDeadline);
  }
  round_trip(text, api::parse_preflight_request);
  round_trip(text, api::parse_preflight_progress);
  round_trip(text, api::parse_preflight_result);
  round_trip(text, api::parse_gang_question);
  round_trip(text, api::parse_gang_answer);
  return 0;
}

}  // namespace autopilot::preflight_fuzz
