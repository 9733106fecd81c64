// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/tls/issued_keys.hpp"
#include "config/config.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "net/event_loop.hpp"
#include "net/http_server.hpp"
#include "net/key_files.hpp"
#include "net/node_keys.hpp"
#include "net/tls.hpp"
#include "runtime/workers.hpp"

namespace autopilot::agent {

// Keys with which an agent serves TLS and identifies itself to its servers: of files, or issued by the
// controller or by cert-manager; renewed while it runs. On the loop's thread.
class AgentKeys {
 public:
  // loop, clock and server outlive this.
  struct Context {
    net::EventLoop& loop;
    const Clock& clock;
    net::HttpServer& server;
    std::string node;  // its certificate bears it
    config::Tls settings;
    std::vector<std::string> allowed_hosts;  // as which clients may address it, beside its node
    net::ReadFile read_file;
    // Of new keys; once for each cause in a row. The old ones stay in use, where there are some.
    std::function<void(const Error& why)> on_refused;
  };
  explicit AgentKeys(Context context) : context_(std::move(context)) {}
  AgentKeys(const AgentKeys&) = delete;
  AgentKeys& operator=(const AgentKeys&) = delete;
  ~AgentKeys() = default;

  // Serves with the keys of files at once; issued keys follow later. Returns the port. malformed: invalid key
  // files.
  [[nodiscard]] Result<std::uint16_t> listen();
  // For the source of keys that are issued in the cluster.
  [[nodiscard]] IssuedKeys::Listener listener();
  // Whether other agents can connect with TLS, now or later: with keys of files, only where they trust an
  // authority.
  [[nodiscard]] bool is_for_agents() const { return client_ != nullptr || !has_files(); }
  [[nodiscard]] bool has_any() const { return validity_.has_value(); }
  // What other agents are asked with; null: in the clear.
  [[nodiscard]] const std::shared_ptr<const net::TlsContext>& client() const { return client_; }
  // by_cert_manager: what came of its renewals, which it makes for the cluster.
  [[nodiscard]] net::TlsStatus status(const net::Renewals& by_cert_manager) const;

 private:
  [[nodiscard]] bool has_files() const { return context_.settings.mode == "files"; }
  [[nodiscard]] net::KeyPaths paths() const;
  [[nodiscard]] Status have_them_signed();
  void watch_files(const net::NodeKeys& used);
  void use(const net::ReadyKeys& keys);

  const Context context_;
  std::shared_ptr<const net::TlsContext> client_;
  std::optional<net::Validity> validity_;  // nothing: there was no certificate yet
  std::optional<runtime::Workers> lane_;   // for the files, which may block
  std::optional<net::KeyFiles> files_;
  std::optional<IssuedKeys> by_controller_;
};

}  // namespace autopilot::agent
