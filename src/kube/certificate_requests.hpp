// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"

// Objects that request a certificate from cert-manager (cert-manager.io/v1, CertificateRequest). Pure.
namespace autopilot::kube {

struct CertificateQuestion {
  std::string name;     // of the object
  std::string issuer;   // an Issuer of the same namespace
  std::string request;  // PKCS #10, PEM
  Duration lifetime{0};
};
[[nodiscard]] std::string certificate_requests_path(const std::string& name_space);
[[nodiscard]] std::string certificate_request_json(const CertificateQuestion& question);

struct IssuedCertificate {
  std::string certificate;  // PEM, with intermediate certificates
  std::string authority;    // PEM
};
// unavailable: not issued yet. denied: refused or failed; the text has the reason. malformed: not a
// CertificateRequest.
[[nodiscard]] Result<IssuedCertificate> parse_certificate_request(std::string_view text);

}  // namespace autopilot::kube
