// SPDX-License-Identifier: Apache-2.0
#include "kube/retry_policy.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/parse.hpp"
#include "core/word_table.hpp"
#include "kube/back_off.hpp"

namespace autopilot::kube {
namespace {

constexpr WordTable<ApiOutcome, 12> kOutcomeWords{{
    {ApiOutcome::ok, "ok"},
    {ApiOutcome::not_found, "not_found"},
    {ApiOutcome::conflict, "conflict"},
    {ApiOutcome::expired, "expired"},
    {ApiOutcome::invalid, "invalid"},
    {ApiOutcome::unauthorized, "unauthorized"},
    {ApiOutcome::forbidden, "forbidden"},
    {ApiOutcome::busy, "busy"},
    {ApiOutcome::server_error, "server_error"},
    {ApiOutcome::unreachable, "unreachable"},
    {ApiOutcome::too_large, "too_large"},
    {ApiOutcome::unexpected, "unexpected"},
}};

}  // namespace

std::optional<Duration> parse_retry_after(std::string_view text) {
  text = trim(text);
  const bool is_number = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  if (!is_number) return std::nullopt;
  // A number that overflows is a long time as well.
  const auto seconds = parse_number<std::uint64_t>(text).value_or(std::numeric_limits<std::uint64_t>::max());
  const auto longest = std::chrono::duration_cast<std::chrono::seconds>(kLongestRetryAfter);
  return std::chrono::seconds{std::min<std::uint64_t>(seconds, static_cast<std::uint64_t>(longest.count()))};
}

ApiVerdict judge_status(int status, std::string_view retry_after) {
  if (status >= 200 && status < 300) return {};
  const auto later = [&](ApiOutcome outcome) {
    return ApiVerdict{outcome, ApiNext::back_off, parse_retry_after(retry_after)};
  };
  switch (status) {
    case 400:
    case 422:
      return {ApiOutcome::invalid, ApiNext::give_up, {}};
    case 401:
      return {ApiOutcome::unauthorized, ApiNext::refresh_credentials, {}};
    case 403:
      return {ApiOutcome::forbidden, ApiNext::give_up, {}};
    case 404:
      return {ApiOutcome::not_found, ApiNext::give_up, {}};
    case 408:
      return later(ApiOutcome::server_error);
    case 409:
      return {ApiOutcome::conflict, ApiNext::look_again, {}};
    case 410:
      return {ApiOutcome::expired, ApiNext::list_again, {}};
    case 413:
      return {ApiOutcome::too_large, ApiNext::give_up, {}};
    case 429:
      return later(ApiOutcome::busy);
    default:
      break;
  }
  if (status >= 500 && status < 600) return later(ApiOutcome::server_error);
  return {ApiOutcome::unexpected, ApiNext::give_up, {}};
}

ApiVerdict judge_error(Errc code) {
  switch (code) {
    case Errc::denied:
      return {ApiOutcome::unauthorized, ApiNext::refresh_credentials, {}};
    case Errc::exhausted:
      return {ApiOutcome::too_large, ApiNext::give_up, {}};
    case Errc::unsupported:
      return {ApiOutcome::unexpected, ApiNext::give_up, {}};
    case Errc::malformed:  // a proxy, or a server that shuts down
    case Errc::unavailable:
    case Errc::timed_out:
    case Errc::not_found:
    case Errc::conflict:
    case Errc::internal:
      break;
  }
  return {ApiOutcome::unreachable, ApiNext::back_off, {}};
}

Errc code_of(ApiOutcome outcome) {
  switch (outcome) {
    case ApiOutcome::unauthorized:
    case ApiOutcome::forbidden:
      return Errc::denied;
    case ApiOutcome::not_found:
    case ApiOutcome::expired:
      return Errc::not_found;
    case ApiOutcome::conflict:
      return Errc::conflict;
    case ApiOutcome::busy:
    case ApiOutcome::too_large:
      return Errc::exhausted;
    case ApiOutcome::invalid:
    case ApiOutcome::unexpected:
      return Errc::malformed;
    case ApiOutcome::server_error:
    case ApiOutcome::unreachable:
    case ApiOutcome::ok:
      break;
  }
  return Errc::unavailable;
}

std::string_view to_string(ApiOutcome outcome) {
  return word_of(kOutcomeWords, outcome);
}

}  // namespace autopilot::kube
