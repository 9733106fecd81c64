// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "core/result.hpp"
#include "net/certificates.hpp"
#include "net/key_files.hpp"
#include "net/tls.hpp"

namespace autopilot::net {

// What an agent shows of itself, to its clients and to the agents that it asks, and whom it believes: with no
// authorities its clients are asked for no certificate.
using NodeKeys = KeyTexts;

// The same, made ready.
struct ReadyKeys {
  std::shared_ptr<const TlsContext> server;
  std::shared_ptr<const TlsContext> client;  // null: no server can be verified
  Validity validity;                         // of the certificate
};

// The state of the keys of an agent that speaks TLS.
struct TlsStatus {
  std::optional<Validity> validity;  // of the certificate in use; nothing: there was none yet
  Renewals renewals;
};

// malformed: which part makes no sense, or does not fit another.
[[nodiscard]] Result<ReadyKeys> make_ready(const NodeKeys& keys);

}  // namespace autopilot::net
