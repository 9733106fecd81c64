// SPDX-License-Identifier: Apache-2.0

#include "kube/credentials.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "core/parse.hpp"
#include "kube/access.hpp"
#include "kube/base64.hpp"

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

namespace {

// Combines several errors into one, with the code of the first.
void add(Status& all, const Error& error) {
  if (all)
    all = fail(error);
  else
    all = fail(all.error().code, all.error().what + "; " + error.what);
}

bool is_same(const net::TlsIdentity& a, const net::TlsIdentity& b) {
  return a.authorities == b.authorities && a.certificate == b.certificate && a.key == b.key;
}

// The time to renew credentials that end at `end`.
WallTime renewal_of(WallTime end, WallTime now) {
  if (end <= now) return end;
  return end - std::min<Duration>(Credentials::kMargin, (end - now) / 4);
}

}  // namespace

Credentials::Credentials(Access access, ReadFile read_file, RunPlugin run_plugin)
    : access_(std::move(access)),
      read_file_(std::move(read_file)),
      run_plugin_(std::move(run_plugin)),
      has_files_(!access_.token_file.empty() || !access_.authorities_file.empty() ||
                 !access_.certificate_file.empty() || !access_.key_file.empty()),
      texts_{access_.token, access_.authorities, access_.certificate, access_.key} {}

Credentials::Due Credentials::due_at(const Instant& now) const {
  if (is_refreshing_) return {};
  const bool plugin_ended = plugin_ends_ && now.wall >= *plugin_ends_;
  return {has_files_ && files_pace_.allows(now.mono),
          access_.exec && (plugin_is_due_ || plugin_ended) && plugin_pace_.allows(now.mono)};
}

bool Credentials::needs_refresh(const Instant& now) const {
  const std::lock_guard lock(mutex_);
  const Due due = due_at(now);
  return due.files || due.plugin;
}

Status Credentials::refresh(const Instant& now) {
  Due due;
  Texts texts;
  {
    const std::lock_guard lock(mutex_);
    due = due_at(now);
    if (!due.files && !due.plugin) return {};
    is_refreshing_ = true;
    texts = texts_;
  }
  Status all = due.files ? read_files(texts) : Status();
  const bool has_read_all = all.has_value();
  const Result<ExecCredential> credential =
      due.plugin && access_.exec ? run(*access_.exec) : ExecCredential();
  {
    const std::lock_guard lock(mutex_);
    is_refreshing_ = false;
    if (due.files) keep(std::move(texts), has_read_all, now.mono);
    if (due.plugin) keep(credential, now);
  }
  if (!credential) add(all, credential.error());
  return all;
}

Status Credentials::read_files(Texts& texts) const {
  Status all;
  const auto take = [&all](Result<std::string> text, std::string& kept) {
    if (text)
      kept = *std::move(text);
    else
      add(all, text.error());
  };
  const auto take_pem = [&](const std::string& path, Status (*check)(std::string_view), std::string& kept) {
    if (!path.empty()) take(read_pem(path, check, read_file_), kept);
  };
  if (!access_.token_file.empty()) take(read_bearer_token(access_.token_file, read_file_), texts.token);
  take_pem(access_.authorities_file, check_certificates, texts.authorities);
  take_pem(access_.certificate_file, check_certificates, texts.certificate);
  take_pem(access_.key_file, check_key, texts.key);
  return all;
}

Result<ExecCredential> Credentials::run(const ExecPlugin& plugin) const {
  const auto failed = [&](const Error& error) {
    return fail(error.code, "exec plugin " + plugin.command + ": " + error.what);
  };
  if (!run_plugin_)
    return failed(
        {Errc::unsupported, "exec plugins are not available here; use a token or a client certificate"});
  const auto output = run_plugin_(plugin, exec_info_json(access_));
  if (!output) return failed(output.error());
  auto credential = parse_exec_credential(*output, plugin.api_version);
  if (!credential) return failed(credential.error());
  return credential;
}

void Credentials::keep(Texts texts, bool is_complete, MonoTime now) {
  texts_ = std::move(texts);
  files_pace_ = {now, is_complete ? kFilesEvery : kPause};
}

void Credentials::keep(const Result<ExecCredential>& credential, const Instant& now) {
  if (!credential) {
    plugin_pace_ = {now.mono, pause_after_failure_};
    pause_after_failure_ = std::min(pause_after_failure_ * 2, kLongestPause);
    return;
  }
  plugin_ = *credential;
  plugin_pace_ = {now.mono, kPause};
  pause_after_failure_ = kPause;
  plugin_is_due_ = false;
  plugin_ends_.reset();
  if (plugin_.expires) plugin_ends_ = renewal_of(*plugin_.expires, now.wall);
}

std::string Credentials::token_now() const {
  return texts_.token.empty() ? plugin_.token : texts_.token;
}

std::string Credentials::token() const {
  const std::lock_guard lock(mutex_);
  return token_now();
}

void Credentials::reject(const std::string& token) {
  const std::lock_guard lock(mutex_);
  if (token != token_now()) return;
  files_pace_.wait = std::min(files_pace_.wait, kPause);
  plugin_is_due_ = true;
}

std::optional<net::TlsIdentity> Credentials::take_changed_identity() {
  const std::lock_guard lock(mutex_);
  const bool is_of_plugin = !plugin_.certificate.empty();
  net::TlsIdentity identity{texts_.authorities, is_of_plugin ? plugin_.certificate : texts_.certificate,
                            is_of_plugin ? plugin_.key : texts_.key, access_.server_name,
                            access_.trusts_any_server};
  if (taken_ && is_same(*taken_, identity)) return std::nullopt;
  taken_ = identity;
  return identity;
}

}  // namespace autopilot::kube
