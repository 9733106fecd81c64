// SPDX-License-Identifier: Apache-2.0

#include "net/certificates.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <initializer_list>
#include <memory>
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <optional>
#include <string_view>
#include <utility>

#include "core/clock.hpp"

namespace autopilot::net {

namespace {

// Owners of objects that OpenSSL returns to its caller.
namespace openssl {

template <auto Free>
struct Freer {
  template <class T>
  void operator()(T* owned) const {
    Free(owned);
  }
};
template <class T, auto Free>
using Owned = std::unique_ptr<T, Freer<Free>>;

void free_extensions(STACK_OF(X509_EXTENSION) * extensions) {
  sk_X509_EXTENSION_pop_free(extensions, &X509_EXTENSION_free);
}

using Bio = Owned<BIO, &BIO_free_all>;
using Key = Owned<EVP_PKEY, &EVP_PKEY_free>;
using Request = Owned<X509_REQ, &X509_REQ_free>;
using Certificate = Owned<X509, &X509_free>;
using Names = Owned<GENERAL_NAMES, &GENERAL_NAMES_free>;
using Time = Owned<ASN1_TIME, &ASN1_TIME_free>;
using Extension = Owned<X509_EXTENSION, &X509_EXTENSION_free>;
using Extensions = Owned<STACK_OF(X509_EXTENSION), &free_extensions>;

Bio reader_of(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}
std::string text_of(BIO* bio) {
  char* bytes = nullptr;
  const long count = BIO_get_mem_data(bio, &bytes);
  return count <= 0 ? std::string() : std::string(bytes, static_cast<std::size_t>(count));
}

void add_dns_name(GENERAL_NAMES* names, const std::string& dns_name) {
  GENERAL_NAME* name = GENERAL_NAME_new();
  ASN1_IA5STRING* text = ASN1_IA5STRING_new();
  ASN1_STRING_set(text, dns_name.data(), static_cast<int>(dns_name.size()));
  GENERAL_NAME_set0_value(name, GEN_DNS, text);
  sk_GENERAL_NAME_push(names, name);
}

std::optional<WallTime> time_of(const ASN1_TIME* time) {
  const Time epoch(ASN1_TIME_set(nullptr, 0));
  int days = 0;
  int seconds = 0;
  if (ASN1_TIME_diff(&days, &seconds, epoch.get(), time) != 1) return std::nullopt;
  return WallTime{std::chrono::hours{24} * days + std::chrono::seconds{seconds}};
}

// Passphrase callback for reading PEM: the library's default prompts on the terminal and blocks.
int no_passphrase(char*, int, int, void*) {
  return -1;
}

}  // namespace openssl

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

namespace {

using openssl::Extension;
using openssl::reader_of;

constexpr const char* kOrganization = "autopilot";
constexpr std::size_t kLongestCommonName = 64;  // RFC 5280, ub-common-name
constexpr int kSerialBits = 127;                // serial numbers are unique and positive
constexpr int kWeakestRsa = 2048;
constexpr int kLargestRsa = 4096;  // verifying a signature of a larger key costs too much CPU

using Serial = openssl::Owned<BIGNUM, &BN_free>;

struct Signer {
  Certificate certificate;
  Key key;
};

struct Setting {
  int kind;
  const char* value;
};

bool set_serial(X509* certificate) {
  const Serial serial(BN_new());
  return BN_rand(serial.get(), kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool set_time(ASN1_TIME* time, WallTime when) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(when).time_since_epoch().count();
  return ASN1_TIME_set(time, static_cast<time_t>(seconds)) != nullptr;
}

bool set_validity(X509* certificate, const Validity& validity) {
  return set_time(X509_getm_notBefore(certificate), validity.from) &&
         set_time(X509_getm_notAfter(certificate), validity.until);
}

bool add_to_subject(X509* certificate, int kind, std::string_view text) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  return X509_NAME_add_entry_by_NID(X509_get_subject_name(certificate), kind, MBSTRING_UTF8, bytes,
                                    static_cast<int>(text.size()), -1, 0) == 1;
}

// The common name is only for display; the subject alternative names identify the holder.
bool set_subject(X509* certificate, std::string_view name) {
  return add_to_subject(certificate, NID_organizationName, kOrganization) &&
         (name.size() > kLongestCommonName || add_to_subject(certificate, NID_commonName, name));
}

bool add_extensions(X509* certificate, X509* issuer, std::initializer_list<Setting> settings) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  return std::ranges::all_of(settings, [&](const Setting& setting) {
    const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, setting.kind, setting.value));
    return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
  });
}

bool add_names(X509* certificate, const std::vector<std::string>& dns_names) {
  const Names names(GENERAL_NAMES_new());
  for (const std::string& dns_name : dns_names)
    openssl::add_dns_name(names.get(), dns_name);
  return X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT) == 1;
}

std::string pem_of(X509* certificate) {
  const Bio text(BIO_new(BIO_s_mem()));
  return PEM_write_bio_X509(text.get(), certificate) == 1 ? text_of(text.get()) : "";
}

std::string pem_of(EVP_PKEY* key) {
  const Bio text(BIO_new(BIO_s_mem()));
  const bool is_written =
      PEM_write_bio_PrivateKey(text.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1;
  return is_written ? text_of(text.get()) : "";
}

Result<Signer> signer_of(const CertifiedKey& authority) {
  Signer signer;
  signer.certificate.reset(
      PEM_read_bio_X509(reader_of(authority.certificate).get(), nullptr, &openssl::no_passphrase, nullptr));
  signer.key.reset(
      PEM_read_bio_PrivateKey(reader_of(authority.key).get(), nullptr, &openssl::no_passphrase, nullptr));
  if (!signer.certificate) return fail(Errc::malformed, "the authority has no PEM certificate");
  if (!signer.key) return fail(Errc::malformed, "the authority has no PEM key");
  if (X509_check_private_key(signer.certificate.get(), signer.key.get()) != 1)
    return fail(Errc::malformed, "the authority's key does not match its certificate");
  if (X509_check_ca(signer.certificate.get()) != 1)
    return fail(Errc::malformed, "the authority's certificate is not a CA certificate");
  return signer;
}

Status check_strength(EVP_PKEY* key) {
  std::array<char, 32> group{};
  std::size_t size = 0;
  switch (EVP_PKEY_get_base_id(key)) {
    case EVP_PKEY_EC: {
      constexpr std::array<std::string_view, 3> kCurves{"prime256v1", "secp384r1", "secp521r1"};
      // Strict clients refuse a curve with explicit parameters.
      int is_spelt_out = 0;
      EVP_PKEY_get_int_param(key, OSSL_PKEY_PARAM_EC_DECODED_FROM_EXPLICIT_PARAMS, &is_spelt_out);
      const bool is_named = EVP_PKEY_get_group_name(key, group.data(), group.size(), &size) == 1;
      if (is_named && is_spelt_out == 0 &&
          std::ranges::find(kCurves, std::string_view(group.data(), size)) != kCurves.end())
        return {};
      return fail(Errc::malformed, "unsupported curve of the key; expected P-256, P-384 or P-521");
    }
    case EVP_PKEY_RSA:
      if (const int bits = EVP_PKEY_get_bits(key); bits < kWeakestRsa || bits > kLargestRsa)
        return fail(Errc::malformed,
                    "the RSA key has " + std::to_string(bits) + " bits; expected 2048 to 4096");
      return {};
    case EVP_PKEY_ED25519:
      return {};
    default:
      return fail(Errc::malformed, "unsupported key type; expected ECDSA, RSA or Ed25519");
  }
}

Result<Key> key_of_request(const std::string& text) {
  if (text.size() > kLongestRequest)
    return fail(Errc::malformed,
                "the certificate request is longer than " + std::to_string(kLongestRequest) + " bytes");
  const Request request(
      PEM_read_bio_X509_REQ(reader_of(text).get(), nullptr, &openssl::no_passphrase, nullptr));
  Key key(request ? X509_REQ_get_pubkey(request.get()) : nullptr);
  if (!key) return fail(Errc::malformed, "missing PEM certificate request (PKCS #10)");
  TRY_STATUS(check_strength(key.get()));
  if (X509_REQ_verify(request.get(), key.get()) != 1)
    return fail(Errc::malformed, "the certificate request is not signed with its own key");
  return key;
}

Result<std::string> sign(const Signer& signer, EVP_PKEY* key, const CertificateTerms& terms) {
  AUTOPILOT_ASSERT(!terms.dns_names.empty());
  const auto end = openssl::time_of(X509_get0_notAfter(signer.certificate.get()));
  if (!end || *end <= terms.validity.from)
    return fail(Errc::unavailable, "the authority's certificate has expired");
  const Validity validity{terms.validity.from, std::min(terms.validity.until, *end)};
  const Certificate made(X509_new());
  const bool is_made =
      X509_set_version(made.get(), X509_VERSION_3) == 1 && set_serial(made.get()) &&
      set_validity(made.get(), validity) && set_subject(made.get(), terms.dns_names.front()) &&
      X509_set_issuer_name(made.get(), X509_get_subject_name(signer.certificate.get())) == 1 &&
      X509_set_pubkey(made.get(), key) == 1 &&
      add_extensions(made.get(), signer.certificate.get(),
                     {{NID_basic_constraints, "critical,CA:FALSE"},
                      {NID_key_usage, "critical,digitalSignature"},
                      {NID_ext_key_usage, "serverAuth,clientAuth"},
                      {NID_subject_key_identifier, "hash"},
                      {NID_authority_key_identifier, "keyid:always"}}) &&
      add_names(made.get(), terms.dns_names) && X509_sign(made.get(), signer.key.get(), EVP_sha256()) > 0;
  std::string text = is_made ? pem_of(made.get()) : "";
  if (text.empty()) return fail(Errc::internal, "cannot create a certificate");
  return text;
}

}  // namespace

Result<CertifiedKey> make_authority(const std::string& name, const Validity& validity) {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate made(X509_new());
  const bool is_made = key && X509_set_version(made.get(), X509_VERSION_3) == 1 && set_serial(made.get()) &&
                       set_validity(made.get(), validity) && set_subject(made.get(), name) &&
                       X509_set_issuer_name(made.get(), X509_get_subject_name(made.get())) == 1 &&
                       X509_set_pubkey(made.get(), key.get()) == 1 &&
                       add_extensions(made.get(), made.get(),
                                      {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                                       {NID_key_usage, "critical,keyCertSign,cRLSign"},
                                       {NID_subject_key_identifier, "hash"}}) &&
                       X509_sign(made.get(), key.get(), EVP_sha256()) > 0;
  CertifiedKey authority{is_made ? pem_of(made.get()) : "", is_made ? pem_of(key.get()) : ""};
  if (authority.certificate.empty() || authority.key.empty())
    return fail(Errc::internal, "cannot create a certificate authority");
  return authority;
}

Status check_authority(const CertifiedKey& authority) {
  static_cast<void>(TRY(signer_of(authority)));
  return {};
}

Result<std::string> sign_request(const CertifiedKey& authority, const std::string& request,
                                 const CertificateTerms& terms) {
  const Signer signer = TRY(signer_of(authority));
  const Key key = TRY(key_of_request(request));
  return sign(signer, key.get(), terms);
}

Result<CertifiedKey> make_server_certificate(const CertifiedKey& authority, const CertificateTerms& terms) {
  const Signer signer = TRY(signer_of(authority));
  const Key key(EVP_EC_gen("P-256"));
  std::string text = key ? pem_of(key.get()) : "";
  if (text.empty()) return fail(Errc::internal, "cannot create a key");
  return CertifiedKey{TRY(sign(signer, key.get(), terms)), std::move(text)};
}

}  // namespace autopilot::net
