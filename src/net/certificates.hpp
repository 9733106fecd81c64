// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

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

// A certificate authority of Autopilot, and the certificates that it signs. Pure, except for the randomness
// of keys and serial numbers.

// A certificate and its key, both in PEM.
struct CertifiedKey {
  std::string certificate;
  std::string key;
  friend bool operator==(const CertifiedKey&, const CertifiedKey&) = default;
};

// Contents of a certificate. Its extended key usage is TLS only, for servers and clients.
struct CertificateTerms {
  std::vector<std::string> dns_names;  // at least one
  Validity validity;                   // shortened if the authority expires sooner
};

// Creates a P-256 key and its self-signed CA certificate. Certificates signed by it cannot sign others.
// Error: internal if the library fails.
[[nodiscard]] Result<CertifiedKey> make_authority(const std::string& name, const Validity& validity);
// malformed: the certificate is not a CA certificate, or the key does not match it.
[[nodiscard]] Status check_authority(const CertifiedKey& authority);

inline constexpr std::size_t kLongestRequest = std::size_t{16} << 10;
// Returns a PEM certificate for the key in the request (PKCS #10, PEM). The signature of the request proves
// that its sender has the key. Other fields of the request, such as names, are ignored. malformed: the
// request is missing, too long or not signed with its own key, or the key is too weak or of an unsupported
// type.
[[nodiscard]] Result<std::string> sign_request(const CertifiedKey& authority, const std::string& request,
                                               const CertificateTerms& terms);
// Creates a key and its certificate.
[[nodiscard]] Result<CertifiedKey> make_server_certificate(const CertifiedKey& authority,
                                                           const CertificateTerms& terms);

}  // namespace autopilot::net
