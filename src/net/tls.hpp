// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "core/result.hpp"

namespace autopilot::net {

// Trust and identity of a TLS client, all PEM.
struct TlsIdentity {
  std::string authorities;  // authorities of server certificates; empty: the system's
  std::string certificate;  // of the client, with intermediate certificates; empty: the client sends none
  std::string key;          // key of the certificate
  std::string server_name;  // name that the server's certificate must have; empty: the host of the URL
  bool trusts_any_server = false;
};

// Identity of a TLS server and the client authorities that it trusts, all PEM.
struct TlsServerIdentity {
  std::string certificate;  // with intermediate certificates
  std::string key;          // key of the certificate
  // Authorities of client certificates. A client can omit its certificate; a certificate of another authority
  // is refused. Empty: clients are not asked for a certificate.
  std::string authorities;
};

// A prepared identity, TLS 1.2 and newer. Immutable: new keys need a new context. Any thread.
class TlsContext {
 public:
  struct State;

  // malformed: names the part that is not PEM, or the key that does not match its certificate or has a
  // passphrase.
  [[nodiscard]] static Result<std::shared_ptr<const TlsContext>> make(const TlsIdentity& identity);
  [[nodiscard]] static Result<std::shared_ptr<const TlsContext>> make(const TlsServerIdentity& identity);
  // The same for a client, but the server's certificate must have this name, regardless of the URL.
  [[nodiscard]] std::shared_ptr<const TlsContext> for_server(const std::string& name) const;
  explicit TlsContext(std::unique_ptr<State> state);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  // For the other parts of net/.
  [[nodiscard]] State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

}  // namespace autopilot::net
