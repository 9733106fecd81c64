// SPDX-License-Identifier: Apache-2.0
#include "agent/tls/node_keys.hpp"

#include <utility>

namespace autopilot::agent {

Result<ReadyKeys> make_ready(const NodeKeys& keys) {
  ReadyKeys ready;
  ready.server =
      TRY(net::TlsContext::make(net::TlsServerIdentity{keys.certificate, keys.key, keys.authorities}));
  ready.validity = TRY(net::validity_of(keys.certificate));
  if (keys.authorities.empty()) return ready;
  ready.client = TRY(net::TlsContext::make(net::TlsIdentity{
      .authorities = keys.authorities, .certificate = keys.certificate, .key = keys.key, .server_name = ""}));
  return ready;
}

}  // namespace autopilot::agent
