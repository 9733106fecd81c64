// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <optional>
#include <string>

#include "core/clock.hpp"

// Owners of objects that OpenSSL returns to its caller. For the sources of this folder.
namespace autopilot::net::openssl {

template <auto Free>
struct Freer {
  template <class T>
  void operator()(T* owned) const {
    Free(owned);
  }
};
template <class T, auto Free>
using Owned = std::unique_ptr<T, Freer<Free>>;

inline void free_extensions(STACK_OF(X509_EXTENSION) * extensions) {
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

[[nodiscard]] inline Bio reader_of(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}
[[nodiscard]] inline std::string text_of(BIO* bio) {
  char* bytes = nullptr;
  const long count = BIO_get_mem_data(bio, &bytes);
  return count <= 0 ? std::string() : std::string(bytes, static_cast<std::size_t>(count));
}

inline void add_dns_name(GENERAL_NAMES* names, const std::string& dns_name) {
  GENERAL_NAME* name = GENERAL_NAME_new();
  ASN1_IA5STRING* text = ASN1_IA5STRING_new();
  ASN1_STRING_set(text, dns_name.data(), static_cast<int>(dns_name.size()));
  GENERAL_NAME_set0_value(name, GEN_DNS, text);
  sk_GENERAL_NAME_push(names, name);
}

[[nodiscard]] inline std::optional<WallTime> time_of(const ASN1_TIME* time) {
  const Time epoch(ASN1_TIME_set(nullptr, 0));
  int days = 0;
  int seconds = 0;
  if (ASN1_TIME_diff(&days, &seconds, epoch.get(), time) != 1) return std::nullopt;
  return WallTime{std::chrono::hours{24} * days + std::chrono::seconds{seconds}};
}

// Passphrase callback for reading PEM: the library's default prompts on the terminal and blocks.
inline int no_passphrase(char*, int, int, void*) {
  return -1;
}

}  // namespace autopilot::net::openssl
