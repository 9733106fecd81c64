// SPDX-License-Identifier: Apache-2.0
#include "kube/credentials.hpp"

#include <algorithm>
#include <utility>

#include "kube/secrets.hpp"

namespace autopilot::kube {

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
