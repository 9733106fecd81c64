// SPDX-License-Identifier: Apache-2.0
#include "agent/tls/agent_keys.hpp"

#include <utility>

#include "agent/tls/controller_signer.hpp"
#include "kube/pacing.hpp"
#include "logging/log.hpp"

namespace autopilot::agent {

net::KeyPaths AgentKeys::paths() const {
  const config::Tls& tls = context_.settings;
  return {tls.certificate, tls.key, tls.authorities};
}

Result<std::uint16_t> AgentKeys::listen() {
  const config::Tls& tls = context_.settings;
  const net::NodeKeys keys = has_files() ? TRY(net::read_keys(paths(), context_.read_file)) : net::NodeKeys{};
  const net::ReadyKeys ready = has_files() ? TRY(net::make_ready(keys)) : net::ReadyKeys{};
  net::TcpPolicy policy{context_.allowed_hosts};
  policy.allowed_hosts.push_back(context_.node);
  const auto port = context_.server.listen_tls(tls.listen, ready.server, std::move(policy));
  if (!port) return fail(port.error().code, port.error().what + "; `tls.listen` names another address");
  client_ = ready.client;
  if (has_files()) {
    validity_ = ready.validity;
    watch_files(keys);
  }
  if (tls.mode == "controller") TRY_STATUS(have_them_signed());
  return *port;
}

IssuedKeys::Listener AgentKeys::listener() {
  return {[this](const net::ReadyKeys& keys) { use(keys); }, context_.on_refused,
          [](const Error& why) {
            logging::log_info("waiting for the first TLS keys", {{"cause", why.what}});
          }};
}

Status AgentKeys::have_them_signed() {
  const config::Tls& tls = context_.settings;
  ControllerDoor door{TRY(net::parse_server_url(tls.controller)), tls.authorities, tls.token};
  auto signer = std::make_unique<ControllerSigner>(context_.loop, context_.clock, std::move(door),
                                                   context_.read_file, ControllerCall::Pace{});
  by_controller_.emplace(context_.loop, context_.clock, context_.node, std::move(signer), listener(),
                         kube::dice(), IssuedKeys::Pace{});
  context_.loop.post([this] { by_controller_->start(); });
  return {};
}

void AgentKeys::watch_files(const net::NodeKeys& used) {
  lane_.emplace(runtime::Workers::Limits{.threads = 1, .max_stuck = 1, .max_queued = 1});
  files_.emplace(
      context_.loop, paths(), context_.read_file,
      [this](std::function<void()> task) { static_cast<void>(lane_->submit(std::move(task))); }, used,
      net::KeyFiles::Listener{[this](const net::NodeKeys& keys) -> Status {
                                use(TRY(net::make_ready(keys)));
                                return {};
                              },
                              context_.on_refused});
}

void AgentKeys::use(const net::ReadyKeys& keys) {
  context_.server.use(keys.server);
  client_ = keys.client;
  validity_ = keys.validity;
  logging::log_info("new TLS keys are in use");
}

net::TlsStatus AgentKeys::status(const net::Renewals& by_cert_manager) const {
  return {validity_, files_           ? files_->renewals()
                     : by_controller_ ? by_controller_->renewals()
                                      : by_cert_manager};
}

}  // namespace autopilot::agent
