// SPDX-License-Identifier: Apache-2.0
#include "kube/secrets.hpp"

#include <algorithm>

#include "core/parse.hpp"

namespace autopilot::kube {

namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

Result<std::string> parse_bearer_token(std::string_view text) {
  const std::string_view token = trim(text);
  if (token.empty()) return fail(Errc::malformed, "the token is empty");
  if (!std::ranges::all_of(token, [](char c) { return c > ' ' && c <= '~'; }))
    return fail(Errc::malformed, "the token contains spaces, control characters or non-ASCII characters");
  return std::string(token);
}

Status check_certificates(std::string_view pem) {
  if (contains(pem, "-----BEGIN ") && contains(pem, "CERTIFICATE-----")) return {};
  return fail(Errc::malformed, "expected certificates in PEM (-----BEGIN CERTIFICATE-----)");
}

Status check_key(std::string_view pem) {
  if (!contains(pem, "-----BEGIN ") || !contains(pem, "PRIVATE KEY-----"))
    return fail(Errc::malformed, "expected a private key in PEM (-----BEGIN PRIVATE KEY-----)");
  // The TLS library would prompt for the password on the terminal, and block.
  if (contains(pem, "-----BEGIN ENCRYPTED ") || contains(pem, "Proc-Type: 4,ENCRYPTED"))
    return fail(Errc::malformed, "the private key has a password; use a key without one");
  return {};
}

Result<std::string> read_bearer_token(const std::string& path, const ReadFile& read_file) {
  const std::string text = TRY(read_file(path));
  auto token = parse_bearer_token(text);
  if (!token) return fail(token.error().code, path + ": " + token.error().what);
  return token;
}

Result<std::string> read_pem(const std::string& path, Status (*check)(std::string_view),
                             const ReadFile& read_file) {
  std::string pem = TRY(read_file(path));
  if (const auto fit = check(pem); !fit) return fail(fit.error().code, path + ": " + fit.error().what);
  return pem;
}

}  // namespace autopilot::kube
