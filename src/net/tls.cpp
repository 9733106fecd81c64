// SPDX-License-Identifier: Apache-2.0
#include "net/tls.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/verify_mode.hpp>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <utility>

#include "net/tls_state.hpp"

namespace autopilot::net {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

namespace {

Status part_of(const error_code& error, const std::string& what) {
  if (error) return fail(Errc::malformed, "TLS: the " + what + ": " + error.message());
  return {};
}

// whose: "client"
Status show(ssl::context& context, const std::string& certificate, const std::string& key,
            const std::string& whose) {
  error_code error;
  context.use_certificate_chain(boost::asio::buffer(certificate), error);
  TRY_STATUS(part_of(error, "certificate of the " + whose));
  context.use_private_key(boost::asio::buffer(key), ssl::context::pem, error);
  TRY_STATUS(part_of(error, "key of the " + whose));
  if (SSL_CTX_check_private_key(context.native_handle()) != 1)
    return fail(Errc::malformed, "TLS: the key of the " + whose + " does not match its certificate");
  return {};
}

Status trust(ssl::context& context, const std::string& authorities) {
  error_code error;
  context.add_certificate_authority(boost::asio::buffer(authorities), error);
  return part_of(error, "certificates of the authorities");
}

Status trust_as_the_system(ssl::context& context) {
  error_code error;
  context.set_default_verify_paths(error);
  return part_of(error, "certificates of the authorities");
}

Status verify(ssl::context& context, bool is_wanted) {
  error_code error;
  context.set_verify_mode(is_wanted ? ssl::verify_peer : ssl::verify_none, error);
  return part_of(error, "verification");
}

void set_up(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  // An idle connection holds no buffers.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  // The library's default prompts for a passphrase on the terminal.
  SSL_CTX_set_default_passwd_cb(context, [](char*, int, int, void*) { return 0; });
}

// A verification is valid for one connection only: session tickets would let a client return after the
// authorities changed.
void forget_sessions(SSL_CTX* context) {
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_num_tickets(context, 0);
}

}  // namespace

TlsContext::TlsContext(std::unique_ptr<State> state) : state_(std::move(state)) {}
TlsContext::~TlsContext() = default;

Result<std::shared_ptr<const TlsContext>> TlsContext::make(const TlsIdentity& identity) {
  auto state = std::make_unique<State>(ssl::context::tls_client);
  set_up(state->context->native_handle());
  state->server_name = identity.server_name;
  state->trusts_any_server = identity.trusts_any_server;
  TRY_STATUS(identity.authorities.empty() ? trust_as_the_system(*state->context)
                                          : trust(*state->context, identity.authorities));
  if (!identity.certificate.empty() || !identity.key.empty())
    TRY_STATUS(show(*state->context, identity.certificate, identity.key, "client"));
  TRY_STATUS(verify(*state->context, !identity.trusts_any_server));
  return std::make_shared<const TlsContext>(std::move(state));
}

Result<std::shared_ptr<const TlsContext>> TlsContext::make(const TlsServerIdentity& identity) {
  auto state = std::make_unique<State>(ssl::context::tls_server);
  set_up(state->context->native_handle());
  forget_sessions(state->context->native_handle());
  TRY_STATUS(show(*state->context, identity.certificate, identity.key, "server"));
  if (!identity.authorities.empty()) TRY_STATUS(trust(*state->context, identity.authorities));
  TRY_STATUS(verify(*state->context, !identity.authorities.empty()));
  return std::make_shared<const TlsContext>(std::move(state));
}

std::shared_ptr<const TlsContext> TlsContext::for_server(const std::string& name) const {
  auto state = std::make_unique<State>(*state_);
  state->server_name = name;
  return std::make_shared<const TlsContext>(std::move(state));
}

bool is_verified(const SSL* tls) {
  return SSL_get0_peer_certificate(tls) != nullptr && SSL_get_verify_result(tls) == X509_V_OK;
}

std::vector<std::string> verified_names(const SSL* tls) {
  std::vector<std::string> names;
  if (!is_verified(tls)) return names;
  X509* shown = SSL_get0_peer_certificate(tls);
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> all(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(shown, NID_subject_alt_name, nullptr, nullptr)),
      &GENERAL_NAMES_free);
  for (int at = 0; at < sk_GENERAL_NAME_num(all.get()); ++at) {
    int kind = 0;
    const auto* value =
        static_cast<const ASN1_STRING*>(GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(all.get(), at), &kind));
    if (kind == GEN_DNS)
      names.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
                         ASN1_STRING_length(value));
  }
  return names;
}

}  // namespace autopilot::net
