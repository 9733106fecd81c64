// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace autopilot::net {

// A new P-256 key without a passphrase, and a certificate request (PKCS #10) for it with one DNS name. Both
// are PEM.
struct CertificateWish {
  std::string key;
  std::string request;
};
// internal: the library fails.
[[nodiscard]] Result<CertificateWish> make_certificate_wish(const std::string& dns_name);

// The period in which a certificate is valid.
struct Validity {
  WallTime from{};
  WallTime until{};
};
// Validity of the first certificate in a PEM text. malformed: the text has no certificate.
[[nodiscard]] Result<Validity> validity_of(const std::string& certificate);

}  // namespace autopilot::net
