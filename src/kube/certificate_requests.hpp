// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"

// The objects by which cert-manager is asked for a certificate (cert-manager.io/v1, CertificateRequest).
// Pure.
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
  std::string certificate;  // PEM, with those between it and its authority
  std::string authority;    // PEM
};
// unavailable: nothing yet. denied: somebody decided against it, or it failed, with what is said of it.
// malformed: no such object.
[[nodiscard]] Result<IssuedCertificate> parse_certificate_request(std::string_view text);

}  // namespace autopilot::kube
