// SPDX-License-Identifier: Apache-2.0
#include "controller/certificates/authority_keys.hpp"

#include <string_view>
#include <utility>

#include "net/certificates.hpp"

namespace autopilot::controller {
namespace {

constexpr std::string_view kCertificate = "tls.crt";
constexpr std::string_view kKey = "tls.key";
constexpr std::string_view kNextCertificate = "next.crt";
constexpr std::string_view kNextKey = "next.key";
constexpr std::string_view kPrevious = "previous.crt";
constexpr std::string_view kBelieved = "ca.crt";

std::string text_at(const kube::Texts& texts, std::string_view name) {
  const auto found = texts.find(name);
  return found == texts.end() ? std::string() : found->second;
}

// The name tells people, and programs that compare names, one authority from another.
Result<net::CertifiedKey> make_one(WallTime now, const AuthorityTimes& times) {
  const std::string day = format_time(now).substr(0, std::string_view("2026-11-21").size());
  return net::make_authority("autopilot authority of " + day, {now - times.backdated, now + times.life});
}

Status check(const net::CertifiedKey& one, std::string_view certificate, std::string_view key) {
  const Status status = net::check_authority(one);
  if (status) return {};
  return fail(Errc::malformed,
              std::string(certificate) + " and " + std::string(key) + ": " + status.error().what);
}

bool has_ended(const std::string& certificate, WallTime now) {
  const auto validity = net::validity_of(certificate);
  return !validity || validity->until <= now;
}

std::string with_end(std::string pem) {
  if (!pem.empty() && !pem.ends_with('\n')) pem += '\n';
  return pem;
}

}  // namespace

Result<AuthorityKeys> new_keys(WallTime now, const AuthorityTimes& times) {
  AuthorityKeys keys;
  keys.current = TRY(make_one(now, times));
  return keys;
}

Result<AuthorityKeys> rotated(const AuthorityKeys& keys, WallTime now, const AuthorityTimes& times) {
  AuthorityKeys due = keys;
  if (!due.previous.empty() && has_ended(due.previous, now)) due.previous.clear();
  const WallTime end = TRY(net::validity_of(due.current.certificate)).until;
  if (now < end - times.next_before) return due;
  if (!due.next) due.next = TRY(make_one(now, times));
  if (now < end - times.switch_before) return due;
  due.previous = now < end ? due.current.certificate : "";
  due.current = std::move(*due.next);
  due.next.reset();
  // The next one may have waited for as long.
  return TRY(net::validity_of(due.current.certificate)).until - times.next_before <= now
             ? rotated(due, now, times)
             : due;
}

std::string believed(const AuthorityKeys& keys) {
  return with_end(keys.current.certificate) + (keys.next ? with_end(keys.next->certificate) : "") +
         with_end(keys.previous);
}

kube::Texts to_texts(const AuthorityKeys& keys) {
  kube::Texts texts{{std::string(kCertificate), keys.current.certificate},
                    {std::string(kKey), keys.current.key},
                    {std::string(kBelieved), believed(keys)}};
  if (keys.next) {
    texts.emplace(kNextCertificate, keys.next->certificate);
    texts.emplace(kNextKey, keys.next->key);
  }
  if (!keys.previous.empty()) texts.emplace(kPrevious, keys.previous);
  return texts;
}

Result<AuthorityKeys> parse_keys(const kube::Texts& texts) {
  AuthorityKeys keys;
  keys.current = {text_at(texts, kCertificate), text_at(texts, kKey)};
  TRY_STATUS(check(keys.current, kCertificate, kKey));
  net::CertifiedKey next{text_at(texts, kNextCertificate), text_at(texts, kNextKey)};
  if (next != net::CertifiedKey{}) {
    TRY_STATUS(check(next, kNextCertificate, kNextKey));
    keys.next = std::move(next);
  }
  keys.previous = text_at(texts, kPrevious);
  if (!keys.previous.empty() && !net::validity_of(keys.previous))
    return fail(Errc::malformed, std::string(kPrevious) + ": no certificate");
  return keys;
}

}  // namespace autopilot::controller
