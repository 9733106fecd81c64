// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/result.hpp"
#include "net/certificates.hpp"
#include "net/tls.hpp"

namespace autopilot::agent {

// What an agent shows of itself, to its clients and to the agents that it asks, and whom it believes; all
// PEM.
struct NodeKeys {
  std::string certificate;
  std::string key;
  std::string authorities;  // empty: clients are asked for no certificate
  friend bool operator==(const NodeKeys&, const NodeKeys&) = default;
};

// The same, made ready.
struct ReadyKeys {
  std::shared_ptr<const net::TlsContext> server;
  std::shared_ptr<const net::TlsContext> client;  // null: nobody could be believed
  net::Validity validity;                         // of the certificate
};

// How it goes to have keys renewed.
struct Renewals {
  std::uint64_t failed = 0;  // how often it was tried in vain
  bool is_failing = false;   // the last time it was
};

// What an agent that speaks TLS can tell of its keys.
struct TlsStatus {
  std::optional<net::Validity> validity;  // of the certificate in use; nothing: there was none yet
  Renewals renewals;
};

// malformed: which part makes no sense, or does not fit another.
[[nodiscard]] Result<ReadyKeys> make_ready(const NodeKeys& keys);

}  // namespace autopilot::agent
