// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/stored_texts.hpp"
#include "net/certificates.hpp"

// The authority of an installation: what signs the certificates of controllers and agents, and how it is
// followed by the next. Pure but for the randomness of new keys.
namespace autopilot::controller {

struct AuthorityKeys {
  net::CertifiedKey current;              // signs
  std::optional<net::CertifiedKey> next;  // is believed already, and signs later
  std::string previous;                   // PEM; is believed until it ends; empty: there is none
  friend bool operator==(const AuthorityKeys&, const AuthorityKeys&) = default;
};

struct AuthorityTimes {
  Duration life = std::chrono::hours{24} * 365 * 5;
  // Before the end of the current one: when the next is made, and when it begins to sign. Between the two
  // everybody learns of it; what the current one signed last ends before it does.
  Duration next_before = std::chrono::hours{24} * 90;
  Duration switch_before = std::chrono::hours{24} * 60;
  // A machine whose clock is behind takes it all the same.
  Duration backdated = std::chrono::hours{1};
};

// Of an installation that has none.
[[nodiscard]] Result<AuthorityKeys> new_keys(WallTime now, const AuthorityTimes& times);
// What they have to be at that time: the same where nothing is due. Also where nobody looked for years.
[[nodiscard]] Result<AuthorityKeys> rotated(const AuthorityKeys& keys, WallTime now,
                                            const AuthorityTimes& times);
// Certificates of all that are believed, PEM.
[[nodiscard]] std::string believed(const AuthorityKeys& keys);

// As they stand in the Secret: tls.crt, tls.key, next.crt, next.key, previous.crt, and ca.crt for people.
[[nodiscard]] kube::Texts to_texts(const AuthorityKeys& keys);
// malformed: which of them makes no sense. No error holds a key.
[[nodiscard]] Result<AuthorityKeys> parse_keys(const kube::Texts& texts);

}  // namespace autopilot::controller
