// SPDX-License-Identifier: Apache-2.0

#include "kube/access.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::kube {

namespace {

const std::string kFolder = "/var/run/secrets/kubernetes.io/serviceaccount/";

Result<net::ServerUrl> read_server(const std::string& host, const std::string& port) {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  auto server = net::parse_server_url("https://" + (is_ipv6 ? "[" + host + "]" : host) + ":" + port);
  if (!server)
    return fail(Errc::malformed, "KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT: " + server.error().what);
  if (!server->path.empty())
    return fail(Errc::malformed, "KUBERNETES_SERVICE_HOST: expected the name or address of a host");
  return server;
}

Result<std::string> read_token(const std::string& path, const ReadFile& read_file) {
  auto token = read_bearer_token(path, read_file);
  if (token || token.error().code != Errc::not_found) return token;
  return fail(Errc::denied, path +
                                ": missing: the pod has no token of its service account; set "
                                "automountServiceAccountToken to true");
}

Result<std::string> read_name_space(const std::string& path, const ReadFile& read_file) {
  auto text = read_file(path);
  // A volume that was created by hand can lack it.
  if (!text && text.error().code == Errc::not_found) return std::string("default");
  if (!text) return text;
  std::string name(trim(*text));
  if (name.empty()) return fail(Errc::malformed, path + ": empty");
  return name;
}

}  // namespace

Result<Access> in_cluster_access(const std::string& host, const std::string& port,
                                 const ReadFile& read_file) {
  if (host.empty() || port.empty())
    return fail(
        Errc::not_found,
        "not running in a pod of a cluster: KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT is not set");
  Access access;
  access.server = TRY(read_server(host, port));
  access.token_file = kFolder + "token";
  access.token = TRY(read_token(access.token_file, read_file));
  access.authorities_file = kFolder + "ca.crt";
  access.authorities = TRY(read_pem(access.authorities_file, check_certificates, read_file));
  access.name_space = TRY(read_name_space(kFolder + "namespace", read_file));
  return access;
}

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
