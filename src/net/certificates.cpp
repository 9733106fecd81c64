// SPDX-License-Identifier: Apache-2.0
#include "net/certificates.hpp"

#include <openssl/pem.h>
#include <optional>

#include "net/openssl_owned.hpp"

namespace autopilot::net {
namespace {

using openssl::Bio;
using openssl::Certificate;
using openssl::Extensions;
using openssl::Key;
using openssl::Names;
using openssl::Request;
using openssl::text_of;

bool name(X509_REQ* request, const std::string& dns_name) {
  const Names names(GENERAL_NAMES_new());
  openssl::add_dns_name(names.get(), dns_name);
  STACK_OF(X509_EXTENSION)* added = nullptr;
  const bool is_added =
      X509V3_add1_i2d(&added, NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT) == 1;
  const Extensions extensions(added);
  return is_added && X509_REQ_add_extensions(request, extensions.get()) == 1;
}

}  // namespace

Result<CertificateWish> make_certificate_wish(const std::string& dns_name) {
  const Key key(EVP_EC_gen("P-256"));
  const Request request(X509_REQ_new());
  const Bio key_text(BIO_new(BIO_s_mem()));
  const Bio request_text(BIO_new(BIO_s_mem()));
  const bool is_made =
      key && X509_REQ_set_pubkey(request.get(), key.get()) == 1 && name(request.get(), dns_name) &&
      X509_REQ_sign(request.get(), key.get(), EVP_sha256()) > 0 &&
      PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1 &&
      PEM_write_bio_X509_REQ(request_text.get(), request.get()) == 1;
  if (!is_made) return fail(Errc::internal, "cannot create a key and its certificate request");
  return CertificateWish{text_of(key_text.get()), text_of(request_text.get())};
}

Result<Validity> validity_of(const std::string& certificate) {
  const Certificate first(
      PEM_read_bio_X509(openssl::reader_of(certificate).get(), nullptr, &openssl::no_passphrase, nullptr));
  const auto from = first ? openssl::time_of(X509_get0_notBefore(first.get())) : std::nullopt;
  const auto until = first ? openssl::time_of(X509_get0_notAfter(first.get())) : std::nullopt;
  if (!from || !until) return fail(Errc::malformed, "missing certificate");
  return Validity{*from, *until};
}

}  // namespace autopilot::net
