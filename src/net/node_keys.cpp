// SPDX-License-Identifier: Apache-2.0
#include "net/node_keys.hpp"

#include <utility>

namespace autopilot::net {

Result<ReadyKeys> make_ready(const NodeKeys& keys) {
  ReadyKeys ready;
  ready.server = TRY(TlsContext::make(TlsServerIdentity{keys.certificate, keys.key, keys.authorities}));
  ready.validity = TRY(validity_of(keys.certificate));
  if (keys.authorities.empty()) return ready;
  ready.client = TRY(TlsContext::make(TlsIdentity{
      .authorities = keys.authorities, .certificate = keys.certificate, .key = keys.key, .server_name = ""}));
  return ready;
}

}  // namespace autopilot::net
