// SPDX-License-Identifier: Apache-2.0
#include "kube/exec_credential.hpp"

#include <boost/json.hpp>

#include "core/parse.hpp"
#include "kube/base64.hpp"
#include "kube/secrets.hpp"

namespace autopilot::kube {

namespace json = boost::json;

namespace {

constexpr std::string_view kExecCredential = "ExecCredential";
constexpr std::size_t kMaxDepth = 16;

tl::unexpected<Error> malformed(const std::string& what) {
  return fail(Errc::malformed, "ExecCredential: " + what);
}

// Empty if the member is missing or null.
Result<std::string> read_text(const json::object& object, std::string_view name) {
  const auto* value = object.if_contains(json::string_view(name.data(), name.size()));
  if (value == nullptr || value->is_null()) return std::string();
  if (!value->is_string()) return malformed("`" + std::string(name) + "`: expected a string");
  return std::string(std::string_view(value->get_string()));
}

Status named(Status status, const std::string& name) {
  if (status) return status;
  return malformed("`" + name + "`: " + status.error().what);
}

Result<ExecCredential> read_credential(const json::object& status) {
  ExecCredential credential;
  const std::string token = TRY(read_text(status, "token"));
  if (!token.empty()) {
    auto parsed = parse_bearer_token(token);
    if (!parsed) return malformed("`status.token`: " + parsed.error().what);
    credential.token = *std::move(parsed);
  }
  credential.certificate = TRY(read_text(status, "clientCertificateData"));
  credential.key = TRY(read_text(status, "clientKeyData"));
  if (credential.certificate.empty() != credential.key.empty())
    return malformed("`clientCertificateData` and `clientKeyData` must both be set");
  if (!credential.certificate.empty()) {
    TRY_STATUS(named(check_certificates(credential.certificate), "clientCertificateData"));
    TRY_STATUS(named(check_key(credential.key), "clientKeyData"));
  }
  if (credential.token.empty() && credential.certificate.empty())
    return malformed("`status` has neither a token nor a certificate");
  const std::string expires = TRY(read_text(status, "expirationTimestamp"));
  if (!expires.empty()) {
    credential.expires = parse_time(expires);
    if (!credential.expires)
      return malformed("`expirationTimestamp`: expected a time such as 2026-01-31T12:00:00Z");
  }
  return credential;
}

json::object describe_cluster(const Access& access) {
  json::object cluster;
  cluster["server"] = to_utf8(net::to_string(access.server));
  if (!access.server_name.empty()) cluster["tls-server-name"] = to_utf8(access.server_name);
  if (access.trusts_any_server) cluster["insecure-skip-tls-verify"] = true;
  if (!access.authorities.empty()) cluster["certificate-authority-data"] = encode_base64(access.authorities);
  return cluster;
}

}  // namespace

Result<ExecCredential> parse_exec_credential(std::string_view text, std::string_view api_version) {
  if (text.size() > ExecCredential::kMaxBytes)
    return malformed("larger than " + std::to_string(ExecCredential::kMaxBytes) + " bytes");
  json::parse_options options;
  options.max_depth = kMaxDepth;
  json::error_code error;
  const json::value value = json::parse(json::string_view(text.data(), text.size()), error, {}, options);
  if (error || !value.is_object()) return malformed("the output is not a JSON object");
  const auto& object = value.get_object();
  if (TRY(read_text(object, "kind")) != kExecCredential) return malformed("the output has another `kind`");
  const std::string version = TRY(read_text(object, "apiVersion"));
  if (version != api_version)
    return malformed("the output has version '" + to_printable(version, 64) + "', expected '" +
                     std::string(api_version) + "'; write the plugin's version into `exec.apiVersion`");
  const auto* status = object.if_contains("status");
  if (status == nullptr || !status->is_object()) return malformed("`status` is missing");
  return read_credential(status->get_object());
}

std::string exec_info_json(const Access& access) {
  AUTOPILOT_ASSERT(access.exec.has_value());
  json::object spec;
  if (access.exec->wants_cluster) spec["cluster"] = describe_cluster(access);
  spec["interactive"] = false;
  json::object info;
  info["kind"] = json::string_view(kExecCredential.data(), kExecCredential.size());
  info["apiVersion"] = to_utf8(access.exec->api_version);
  info["spec"] = std::move(spec);
  return json::serialize(info);
}

}  // namespace autopilot::kube
