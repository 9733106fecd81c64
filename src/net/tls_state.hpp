// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <string>

#include "net/tls.hpp"

namespace autopilot::net {

struct TlsContext::State {
  boost::asio::ssl::context context{boost::asio::ssl::context::tls_client};
  std::string server_name;
  bool trusts_any_server = false;
};

}  // namespace autopilot::net
