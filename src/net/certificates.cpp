// SPDX-License-Identifier: Apache-2.0
#include "net/certificates.hpp"

#include <chrono>
#include <memory>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <optional>

namespace autopilot::net {
namespace {

template <auto Free>
struct Freer {
  template <class T>
  void operator()(T* owned) const {
    Free(owned);
  }
};
template <class T, auto Free>
using Owned = std::unique_ptr<T, Freer<Free>>;

using Bio = Owned<BIO, &BIO_free_all>;
using Key = Owned<EVP_PKEY, &EVP_PKEY_free>;
using Request = Owned<X509_REQ, &X509_REQ_free>;
using Certificate = Owned<X509, &X509_free>;
using Names = Owned<GENERAL_NAMES, &GENERAL_NAMES_free>;
using Time = Owned<ASN1_TIME, &ASN1_TIME_free>;

void free_extensions(STACK_OF(X509_EXTENSION) * extensions) {
  sk_X509_EXTENSION_pop_free(extensions, &X509_EXTENSION_free);
}
using Extensions = Owned<STACK_OF(X509_EXTENSION), &free_extensions>;

std::string text_of(BIO* bio) {
  char* bytes = nullptr;
  const long count = BIO_get_mem_data(bio, &bytes);
  return count <= 0 ? std::string() : std::string(bytes, static_cast<std::size_t>(count));
}

// The names that an extension holds: one.
Names names_of(const std::string& dns_name) {
  Names names(GENERAL_NAMES_new());
  GENERAL_NAME* name = GENERAL_NAME_new();
  ASN1_IA5STRING* text = ASN1_IA5STRING_new();
  ASN1_STRING_set(text, dns_name.data(), static_cast<int>(dns_name.size()));
  GENERAL_NAME_set0_value(name, GEN_DNS, text);
  sk_GENERAL_NAME_push(names.get(), name);
  return names;
}

bool name(X509_REQ* request, const std::string& dns_name) {
  const Names names = names_of(dns_name);
  STACK_OF(X509_EXTENSION)* added = nullptr;
  const bool is_added =
      X509V3_add1_i2d(&added, NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT) == 1;
  const Extensions extensions(added);
  return is_added && X509_REQ_add_extensions(request, extensions.get()) == 1;
}

std::optional<WallTime> time_of(const ASN1_TIME* time) {
  const Time epoch(ASN1_TIME_set(nullptr, 0));
  int days = 0;
  int seconds = 0;
  if (ASN1_TIME_diff(&days, &seconds, epoch.get(), time) != 1) return std::nullopt;
  return WallTime{std::chrono::hours{24} * days + std::chrono::seconds{seconds}};
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
  if (!is_made) return fail(Errc::internal, "a key and the request for its certificate could not be made");
  return CertificateWish{text_of(key_text.get()), text_of(request_text.get())};
}

Result<Validity> validity_of(const std::string& certificate) {
  const Bio text(BIO_new_mem_buf(certificate.data(), static_cast<int>(certificate.size())));
  const Certificate first(PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr));
  const auto from = first ? time_of(X509_get0_notBefore(first.get())) : std::nullopt;
  const auto until = first ? time_of(X509_get0_notAfter(first.get())) : std::nullopt;
  if (!from || !until) return fail(Errc::malformed, "no certificate");
  return Validity{*from, *until};
}

}  // namespace autopilot::net
