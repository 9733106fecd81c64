// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace autopilot::net {

// A new key of the curve P-256, without a passphrase, and the request for a certificate of it (PKCS #10) that
// bears one DNS name; both PEM.
struct CertificateWish {
  std::string key;
  std::string request;
};
// internal: the library could not.
[[nodiscard]] Result<CertificateWish> make_certificate_wish(const std::string& dns_name);

// When a certificate counts.
struct Validity {
  WallTime from{};
  WallTime until{};
};
// Of the first certificate of a PEM text. malformed: there is none.
[[nodiscard]] Result<Validity> validity_of(const std::string& certificate);

}  // namespace autopilot::net
