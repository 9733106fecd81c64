// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "kube/access.hpp"

namespace autopilot::kube {

// Validates credentials before they are used. Errors contain no part of them.

// Without surrounding white space. malformed: empty, or with characters that an HTTP header does not allow.
[[nodiscard]] Result<std::string> parse_bearer_token(std::string_view text);
// malformed: not PEM with at least one certificate. TLS verifies the certificates later.
[[nodiscard]] Status check_certificates(std::string_view pem);
// malformed: not PEM with a private key, or the key has a password.
[[nodiscard]] Status check_key(std::string_view pem);

// The same for a file; every error names its path.
[[nodiscard]] Result<std::string> read_bearer_token(const std::string& path, const ReadFile& read_file);
[[nodiscard]] Result<std::string> read_pem(const std::string& path, Status (*check)(std::string_view),
                                           const ReadFile& read_file);

}  // namespace autopilot::kube
