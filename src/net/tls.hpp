// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "core/result.hpp"

namespace autopilot::net {

// What a TLS client trusts, and how it shows who it is; all PEM.
struct TlsIdentity {
  std::string authorities;  // certificates that sign the server's; empty: those of the system
  std::string certificate;  // of the client, with those between it and its authority; empty: shows none
  std::string key;          // of the certificate
  std::string server_name;  // that the server's certificate must bear; empty: that of the URL
  bool trusts_any_server = false;
};

// What a TLS server shows, and whose clients it knows; all PEM.
struct TlsServerIdentity {
  std::string certificate;  // with those between it and its authority
  std::string key;          // of the certificate
  // Certificates that sign those of clients. A client may show none; one that shows another's is refused.
  // Empty: no client is asked for one.
  std::string authorities;
};

// An identity made ready, TLS 1.2 and newer. Immutable: new keys are a new context. Any thread.
class TlsContext {
 public:
  struct State;

  // malformed: names the part that is no PEM, or the key that is not the certificate's or has a passphrase.
  [[nodiscard]] static Result<std::shared_ptr<const TlsContext>> make(const TlsIdentity& identity);
  [[nodiscard]] static Result<std::shared_ptr<const TlsContext>> make(const TlsServerIdentity& identity);
  // The same for a client, but the server's certificate must bear this name, whatever the URL says.
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
