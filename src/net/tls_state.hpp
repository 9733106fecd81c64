// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <openssl/ssl.h>
#include <string>
#include <vector>

#include "net/tls.hpp"

namespace autopilot::net {

struct TlsContext::State {
  explicit State(boost::asio::ssl::context::method method)
      : context(std::make_shared<boost::asio::ssl::context>(method)) {}

  std::shared_ptr<boost::asio::ssl::context> context;
  std::string server_name;
  bool trusts_any_server = false;
};

// True if the peer sent a certificate that was verified.
[[nodiscard]] bool is_verified(const SSL* tls);
// The DNS names of the peer's verified certificate; empty without one.
[[nodiscard]] std::vector<std::string> verified_names(const SSL* tls);

}  // namespace autopilot::net
