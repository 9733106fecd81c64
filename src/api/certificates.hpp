// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"

// POST /v1/certificates of the controller: signs the key of an agent's node. Pure.
namespace autopilot::api {

inline constexpr const char* kCertificatesPath = "/v1/certificates";

struct SigningRequest {
  std::string request;  // PKCS #10, PEM; its names are ignored
};
[[nodiscard]] std::string to_json(const SigningRequest& request);
// malformed: a member is missing or unknown.
[[nodiscard]] Result<SigningRequest> parse_signing_request(std::string_view json);

struct SignedCertificate {
  std::string certificate;  // PEM, with intermediate certificates
  std::string authority;    // PEM, at least one certificate
};
[[nodiscard]] std::string to_json(const SignedCertificate& issued);
[[nodiscard]] Result<SignedCertificate> parse_signed_certificate(std::string_view json);

}  // namespace autopilot::api
