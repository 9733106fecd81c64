// SPDX-License-Identifier: Apache-2.0

#include "net/certificates.hpp"

#include <chrono>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "net/tls.hpp"
#include "tests/support/net/test_programs.hpp"

namespace autopilot::net {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(CertificateWish, another_program_reads_one_name_and_a_signature_in_it) {
  if (!testing::has_program("openssl")) GTEST_SKIP() << "openssl is not installed";
  const auto wish = make_certificate_wish("gpu-1.example,DNS:other");
  ASSERT_TRUE(wish);
  const auto read = testing::run_program({"openssl", "req", "-noout", "-text"}, wish->request);
  EXPECT_THAT(read, AllOf(HasSubstr("DNS:gpu-1.example,DNS:other"), HasSubstr("prime256v1"),
                          HasSubstr("ecdsa-with-SHA256")));
  EXPECT_THAT(testing::run_program({"openssl", "pkey", "-pubout"}, wish->key),
              testing::run_program({"openssl", "req", "-noout", "-pubkey"}, wish->request));
}

TEST(CertificateWish, each_has_a_key_of_its_own) {
  EXPECT_NE(make_certificate_wish("a")->key, make_certificate_wish("a")->key);
}

TEST(Validity, is_that_of_the_first_certificate) {
  if (!testing::has_program("openssl")) GTEST_SKIP() << "openssl is not installed";
  const testing::TestCertificates certificates;
  certificates.make_authority("ca");
  certificates.make_node("node-1", "ca");
  const auto validity = validity_of(certificates.text("node-1.crt") + certificates.text("ca.crt"));
  ASSERT_TRUE(validity);
  EXPECT_EQ(validity->until - validity->from, std::chrono::hours{24});
  EXPECT_GT(validity->from, WallTime{std::chrono::hours{24} * 365 * 50});
  for (const char* none : {"", "no PEM", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"})
    EXPECT_FALSE(validity_of(none)) << none;
}

using namespace std::chrono_literals;
using ::testing::Not;

Validity valid_for(Duration time) {
  const WallTime now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return {now - 1h, now + time};
}

class AuthorityTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::has_program("openssl")) GTEST_SKIP() << "openssl is not installed";
    authority_ = make_authority("test authority", valid_for(24h * 365)).value();
    write("ca.crt", authority_.certificate);
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(files_.path(name)) << text;
  }
  [[nodiscard]] std::string openssl(std::vector<std::string> words, const std::string& input = "") const {
    words.insert(words.begin(), "openssl");
    return testing::run_program(std::move(words), input);
  }
  // "leaf.crt: OK\n" where a strict client takes it.
  [[nodiscard]] std::string verify(const std::string& certificate, const std::string& purpose,
                                   const std::string& host) const {
    write("leaf.crt", certificate);
    return openssl({"verify", "-x509_strict", "-CAfile", files_.path("ca.crt"), "-purpose", purpose,
                    "-verify_hostname", host, files_.path("leaf.crt")});
  }
  // A request of a key that openssl makes.
  [[nodiscard]] std::string request(std::vector<std::string> key) const {
    std::vector<std::string> words{"req",
                                   "-new",
                                   "-nodes",
                                   "-subj",
                                   "/CN=stranger",
                                   "-addext",
                                   "subjectAltName=DNS:api.example",
                                   "-keyout",
                                   files_.path("its.key")};
    words.insert(words.end(), key.begin(), key.end());
    return openssl(std::move(words));
  }
  [[nodiscard]] Result<std::string> sign(const std::string& request) const {
    return sign_request(authority_, request, {{"node-1"}, valid_for(24h)});
  }
  [[nodiscard]] std::string refusal(const std::string& request) const {
    const auto made = sign(request);
    if (made) return "it was signed";
    EXPECT_EQ(made.error().code, Errc::malformed);
    return made.error().what;
  }

  testing::TestCertificates files_;
  CertifiedKey authority_;
};

TEST_F(AuthorityTest, another_program_reads_an_authority_that_signs_no_other) {
  EXPECT_TRUE(check_authority(authority_));
  const std::string text = openssl({"x509", "-noout", "-text"}, authority_.certificate);
  EXPECT_THAT(
      text, AllOf(HasSubstr("CA:TRUE, pathlen:0"), HasSubstr("Certificate Sign, CRL Sign"),
                  HasSubstr("CN = test authority"), HasSubstr("prime256v1"), HasSubstr("ecdsa-with-SHA256")));
  EXPECT_NE(make_authority("a", valid_for(1h))->key, make_authority("a", valid_for(1h))->key);
}

TEST_F(AuthorityTest, what_it_signs_is_taken_for_its_names_by_servers_and_clients) {
  const auto made = make_server_certificate(authority_, {{"a.example", "b.example"}, valid_for(24h)});
  ASSERT_TRUE(made) << made.error().what;
  for (const char* purpose : {"sslserver", "sslclient"})
    for (const char* host : {"a.example", "b.example"})
      EXPECT_THAT(verify(made->certificate, purpose, host), HasSubstr("leaf.crt: OK")) << purpose << host;
  EXPECT_THAT(verify(made->certificate, "sslserver", "c.example"), Not(HasSubstr("OK")));
  EXPECT_THAT(verify(made->certificate, "smimesign", "a.example"), Not(HasSubstr("OK")));
  EXPECT_TRUE(TlsContext::make(TlsServerIdentity{made->certificate, made->key, ""}));
}

TEST_F(AuthorityTest, a_request_gets_a_certificate_of_its_key_and_of_no_name_that_it_asks_for) {
  const auto wish = make_certificate_wish("api.example");
  ASSERT_TRUE(wish);
  const auto made = sign(wish->request);
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_THAT(verify(*made, "sslserver", "node-1"), HasSubstr("leaf.crt: OK"));
  EXPECT_THAT(openssl({"x509", "-noout", "-text"}, *made), Not(HasSubstr("api.example")));
  EXPECT_EQ(openssl({"x509", "-noout", "-pubkey"}, *made), openssl({"pkey", "-pubout"}, wish->key));
  EXPECT_TRUE(TlsContext::make(TlsServerIdentity{*made, wish->key, ""}));
}

TEST_F(AuthorityTest, no_certificate_outlives_its_authority) {
  const auto made = make_server_certificate(authority_, {{"a"}, valid_for(24h * 3650)});
  EXPECT_EQ(validity_of(made->certificate)->until, validity_of(authority_.certificate)->until);
  const CertifiedKey over = make_authority("old", valid_for(-1min)).value();
  const auto late = make_server_certificate(over, {{"a"}, {valid_for(0s).until, valid_for(1h).until}});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::unavailable);
}

TEST_F(AuthorityTest, long_names_and_names_with_commas_are_names_and_nothing_else) {
  const std::string name = std::string(63, 'n') + "." + std::string(63, 'm') + ",DNS:other";
  const auto made = make_server_certificate(authority_, {{name}, valid_for(24h)});
  ASSERT_TRUE(made);
  EXPECT_THAT(verify(made->certificate, "sslserver", "other"), Not(HasSubstr("OK")));
}

TEST_F(AuthorityTest, each_certificate_has_a_number_of_its_own) {
  const auto number = [&] {
    return openssl({"x509", "-noout", "-serial"},
                   make_server_certificate(authority_, {{"a"}, valid_for(1h)})->certificate);
  };
  EXPECT_NE(number(), number());
}

TEST_F(AuthorityTest, keys_of_other_kinds_are_taken_where_they_are_strong) {
  for (const std::vector<std::string>& key :
       std::vector<std::vector<std::string>>{{"-newkey", "rsa:2048"},
                                             {"-newkey", "ed25519"},
                                             {"-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"}}) {
    const auto made = sign(request(key));
    ASSERT_TRUE(made) << key[1] << made.error().what;
    EXPECT_THAT(verify(*made, "sslserver", "node-1"), HasSubstr("leaf.crt: OK")) << key[1];
  }
}

TEST_F(AuthorityTest, a_weak_key_is_refused) {
  EXPECT_THAT(refusal(request({"-newkey", "rsa:1024"})), HasSubstr("1024 bits"));
  EXPECT_THAT(refusal(request({"-newkey", "rsa:1024"})), Not(HasSubstr("BEGIN")));
  EXPECT_THAT(refusal(request({"-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:secp224r1"})),
              HasSubstr("unsupported curve"));
  EXPECT_THAT(refusal(request({"-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-pkeyopt",
                               "ec_param_enc:explicit"})),
              HasSubstr("unsupported curve"));
}

TEST_F(AuthorityTest, a_request_that_its_key_did_not_sign_is_refused) {
  std::string text = openssl({"req", "-outform", "DER"}, make_certificate_wish("a")->request);
  text.back() ^= 1;  // of the signature
  write("broken.der", text);
  EXPECT_THAT(refusal(openssl({"req", "-inform", "DER", "-in", files_.path("broken.der")})),
              HasSubstr("not signed with its own key"));
}

TEST_F(AuthorityTest, what_is_no_request_is_refused) {
  const std::string wish = make_certificate_wish("a")->request;
  const std::string locked =
      "-----BEGIN CERTIFICATE REQUEST-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,"
      "00112233445566778899AABBCCDDEEFF\n\nAAAA\n-----END CERTIFICATE REQUEST-----\n";
  for (const std::string& text : {std::string(), std::string("no PEM"), std::string("\0\x01\xff", 3),
                                  wish.substr(0, wish.size() / 2), authority_.certificate, locked})
    EXPECT_THAT(refusal(text), HasSubstr("missing PEM certificate request")) << text;
  EXPECT_THAT(refusal(wish + std::string(kLongestRequest, ' ')), HasSubstr("longer than 16384 bytes"));
}

TEST_F(AuthorityTest, what_is_no_authority_signs_nothing) {
  const auto leaf = make_server_certificate(authority_, {{"a"}, valid_for(1h)});
  const auto why = [](const CertifiedKey& one) {
    const Status status = check_authority(one);
    return status ? "it is one" : status.error().what;
  };
  EXPECT_THAT(why(*leaf), HasSubstr("not a CA certificate"));
  EXPECT_THAT(why({authority_.certificate, leaf->key}), HasSubstr("does not match its certificate"));
  EXPECT_THAT(why({"", authority_.key}), HasSubstr("no PEM certificate"));
  EXPECT_THAT(why({authority_.certificate, ""}), HasSubstr("no PEM key"));
  EXPECT_FALSE(sign_request(*leaf, make_certificate_wish("a")->request, {{"a"}, valid_for(1h)}));
}

}  // namespace

}  // namespace autopilot::net
