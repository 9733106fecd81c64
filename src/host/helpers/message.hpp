// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace autopilot::host {

// {"version":1,"id":7,"method":"statfs","timeoutMs":1500,"params":{...}}
struct HelperRequest {
  std::uint64_t id = 0;
  std::string method;
  std::string params;   // JSON text
  Duration timeout{0};  // what is left until the caller's deadline
};

// {"version":1,"id":7,"result":{...}} or {"version":1,"id":7,"error":{"code":"denied","what":"..."}}
struct HelperAnswer {
  std::uint64_t id = 0;
  Result<std::string> result;  // JSON text
};

// Both ends are of one release in almost every case; across an upgrade another version is malformed.
inline constexpr std::int64_t kHelperProtocol = 1;
// No request has this id: an error under it is about the connection, and the last thing said on it.
inline constexpr std::uint64_t kHelperTurnsAway = 0;

// `params` and a result must be JSON; they are not looked at here.
[[nodiscard]] std::string encode_request(const HelperRequest& request);
[[nodiscard]] std::string encode_answer(const HelperAnswer& answer);
[[nodiscard]] Result<HelperRequest> decode_request(std::string_view body);
[[nodiscard]] Result<HelperAnswer> decode_answer(std::string_view body);

}  // namespace autopilot::host
