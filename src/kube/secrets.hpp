// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "kube/access.hpp"

namespace autopilot::kube {

// Texts that show who somebody is, looked at before they are used. No error holds any part of such a text.

// Without the blanks around it. malformed: empty, or with characters that no HTTP header takes.
[[nodiscard]] Result<std::string> parse_bearer_token(std::string_view text);
// malformed: no PEM with at least one certificate. Whether they are valid is for TLS to find out.
[[nodiscard]] Status check_certificates(std::string_view pem);
// malformed: no PEM with a private key, or one that asks for a password.
[[nodiscard]] Status check_key(std::string_view pem);

// The same of a file, whose path stands in every error.
[[nodiscard]] Result<std::string> read_bearer_token(const std::string& path, const ReadFile& read_file);
[[nodiscard]] Result<std::string> read_pem(const std::string& path, Status (*check)(std::string_view),
                                           const ReadFile& read_file);

}  // namespace autopilot::kube
