// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "cli/recording/secrets.hpp"

namespace autopilot::cli {

// Credentials whose recognised part begins at `at`, which begins a word: "password=...", "--token ...",
// "Bearer ...", user and password of a URL, keys with the prefix of their issuer, and long words of letters
// of both cases and digits. Also names after "hostname=" and UUIDs after "UUID=". Pure.
[[nodiscard]] std::vector<Secret> credentials_at(std::string_view text, std::size_t at);

}  // namespace autopilot::cli
