// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"

// POST /v1/certificates of the controller: an agent has a key of its node signed. Pure.
namespace autopilot::api {

inline constexpr const char* kCertificatesPath = "/v1/certificates";

struct SigningRequest {
  std::string request;  // PKCS #10, PEM; the names in it count for nothing
};
[[nodiscard]] std::string to_json(const SigningRequest& request);
// malformed: what is missing, or not known.
[[nodiscard]] Result<SigningRequest> parse_signing_request(std::string_view json);

struct SignedCertificate {
  std::string certificate;  // PEM, with those between it and its authority
  std::string authority;    // PEM, one or several
};
[[nodiscard]] std::string to_json(const SignedCertificate& issued);
[[nodiscard]] Result<SignedCertificate> parse_signed_certificate(std::string_view json);

}  // namespace autopilot::api
