// SPDX-License-Identifier: Apache-2.0
// Certificate requests from a client with an agent's token.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "kube/base64.hpp"
#include "net/certificates.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::certificate_request_fuzz {
namespace {

constexpr net::Validity kValidity{WallTime{std::chrono::hours{24} * 365 * 50},
                                  WallTime{std::chrono::hours{24} * 365 * 60}};

std::string pem_of(std::string_view der) {
  constexpr std::size_t kLine = 64;
  const std::string letters = kube::encode_base64(der);
  std::string text = "-----BEGIN CERTIFICATE REQUEST-----\n";
  for (std::size_t at = 0; at < letters.size(); at += kLine)
    text += letters.substr(at, kLine) + "\n";
  return text + "-----END CERTIFICATE REQUEST-----\n";
}

}  // namespace

// The first byte selects whether the rest is PEM, or the content of PEM. The signed result is a certificate.
int run(const std::uint8_t* data, std::size_t size) {
  static const net::CertifiedKey authority = net::make_authority("fuzz", kValidity).value();
  if (size == 0) return 0;
  const void* bytes = data + 1;
  const std::string_view rest(static_cast<const char*>(bytes), size - 1);
  const auto made = net::sign_request(authority, data[0] % 2 == 0 ? std::string(rest) : pem_of(rest),
                                      {{"node-1"}, kValidity});
  if (made)
    AUTOPILOT_ASSERT(net::validity_of(*made).has_value());
  else
    AUTOPILOT_ASSERT(made.error().code == Errc::malformed && !made.error().what.empty());
  return 0;
}

}  // namespace autopilot::certificate_request_fuzz
