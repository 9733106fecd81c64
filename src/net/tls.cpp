// SPDX-License-Identifier: Apache-2.0
#include "net/tls.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/verify_mode.hpp>
#include <openssl/ssl.h>
#include <utility>

#include "net/tls_state.hpp"

namespace autopilot::net {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

namespace {

Status part_of(const error_code& error, const char* what) {
  if (error) return fail(Errc::malformed, std::string("TLS: the ") + what + ": " + error.message());
  return {};
}

Status show(ssl::context& context, const TlsIdentity& identity) {
  if (identity.certificate.empty() && identity.key.empty()) return {};
  error_code error;
  context.use_certificate_chain(boost::asio::buffer(identity.certificate), error);
  TRY_STATUS(part_of(error, "certificate of the client"));
  context.use_private_key(boost::asio::buffer(identity.key), ssl::context::pem, error);
  TRY_STATUS(part_of(error, "key of the client"));
  if (SSL_CTX_check_private_key(context.native_handle()) != 1)
    return fail(Errc::malformed, "TLS: the key of the client is not that of its certificate");
  return {};
}

Status trust(ssl::context& context, const TlsIdentity& identity) {
  error_code error;
  if (identity.authorities.empty())
    context.set_default_verify_paths(error);
  else
    context.add_certificate_authority(boost::asio::buffer(identity.authorities), error);
  return part_of(error, "certificates of the authorities");
}

}  // namespace

TlsContext::TlsContext(std::unique_ptr<State> state) : state_(std::move(state)) {}
TlsContext::~TlsContext() = default;

Result<std::shared_ptr<const TlsContext>> TlsContext::make(const TlsIdentity& identity) {
  auto state = std::make_unique<State>();
  SSL_CTX_set_min_proto_version(state->context.native_handle(), TLS1_2_VERSION);
  // A connection that is only kept holds no buffers.
  SSL_CTX_set_mode(state->context.native_handle(), SSL_MODE_RELEASE_BUFFERS);
  state->server_name = identity.server_name;
  state->trusts_any_server = identity.trusts_any_server;
  TRY_STATUS(trust(state->context, identity));
  TRY_STATUS(show(state->context, identity));
  error_code error;
  state->context.set_verify_mode(identity.trusts_any_server ? ssl::verify_none : ssl::verify_peer, error);
  TRY_STATUS(part_of(error, "verification"));
  return std::make_shared<const TlsContext>(std::move(state));
}

}  // namespace autopilot::net
