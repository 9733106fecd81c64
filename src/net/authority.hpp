// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "net/certificates.hpp"

// An authority of our own, and what it signs. Pure but for the randomness of keys and serial numbers.
namespace autopilot::net {

// A certificate and its key, both PEM.
struct CertifiedKey {
  std::string certificate;
  std::string key;
  friend bool operator==(const CertifiedKey&, const CertifiedKey&) = default;
};

// What a certificate says. It is for TLS alone, for servers and clients.
struct CertificateTerms {
  std::vector<std::string> dns_names;  // one or more
  Validity validity;                   // ends with that of the authority, where that is sooner
};

// A new key of the curve P-256 that signs itself. Nothing that it signs may sign in turn. internal: the
// library could not.
[[nodiscard]] Result<CertifiedKey> make_authority(const std::string& name, const Validity& validity);
// malformed: the certificate is that of no authority, or the key is another's.
[[nodiscard]] Status check_authority(const CertifiedKey& authority);

inline constexpr std::size_t kLongestRequest = std::size_t{16} << 10;
// A certificate, PEM, of the key in that request (PKCS #10, PEM), which shows that its sender has the key.
// What else stands in the request, names above all, counts for nothing. malformed: no such request, one that
// is too long or not signed by its own key, or a key that is too weak or of no known kind.
[[nodiscard]] Result<std::string> sign_request(const CertifiedKey& authority, const std::string& request,
                                               const CertificateTerms& terms);
// A new key with its certificate.
[[nodiscard]] Result<CertifiedKey> make_server_certificate(const CertifiedKey& authority,
                                                           const CertificateTerms& terms);

}  // namespace autopilot::net
