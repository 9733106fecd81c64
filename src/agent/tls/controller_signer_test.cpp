// SPDX-License-Identifier: Apache-2.0
#include "agent/tls/controller_signer.hpp"

#include <atomic>
#include <chrono>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "api/controller.hpp"
#include "host/clock/system_clock.hpp"
#include "net/http_server.hpp"
#include "tests/support/net/test_programs.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// A controller whose certificate names "controller", as this machine knows it: by its files.
class ControllerSignerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!net::testing::has_program("openssl")) GTEST_SKIP() << "openssl is not installed";
    certificates_.make_authority("ca");
    certificates_.make_authority("other");
    certificates_.make_node("localhost", "ca");
    server_.route("POST", api::kCertificatesPath,
                  [this](const net::HttpRequest& request, net::Responder responder) {
                    seen_ = request;
                    responder.respond(answer_);
                  });
    const net::TlsServerIdentity identity{.certificate = certificates_.text("localhost.crt"),
                                          .key = certificates_.text("localhost.key"),
                                          .authorities = ""};
    port_ = server_.listen_tls("127.0.0.1:0", net::TlsContext::make(identity).value()).value();
    files_ = {{"/ca.crt", certificates_.text("ca.crt")}, {"/token", "a.b.c\n"}};
    answer_.body = api::to_json(api::SignedCertificate{"CERTIFICATE", "AUTHORITY"});
  }

  // What came of the question.
  Result<SignedKey> sign() {
    ControllerSigner signer(
        loop_, clock_, {{true, "localhost", port_, ""}, "/ca.crt", "/token"},
        // A thread that was given up may outlast the test.
        [files = files_, is_hanging = is_hanging_](const std::string& path) -> Result<std::string> {
          while (*is_hanging)
            std::this_thread::sleep_for(1ms);
          const auto found = files.find(path);
          if (found == files.end()) return fail(Errc::not_found, path + " is not there");
          return found->second;
        },
        {.look = 1ms, .patience = *is_hanging_ ? Duration{20ms} : Duration{10s}, .deadline = 10s});
    std::optional<Result<SignedKey>> key;
    signer.sign("WISH", [&](const Result<SignedKey>& answer, std::optional<Duration> retry_after) {
      key = answer;
      retry_after_ = retry_after;
    });
    EXPECT_FALSE(key);
    EXPECT_TRUE(net::testing::run_until(loop_, [&key] { return key.has_value(); }));
    *is_hanging_ = false;
    return key.value_or(fail(Errc::internal, "no answer"));
  }

  net::testing::TestCertificates certificates_;
  host::SystemClock clock_;
  net::EventLoop loop_;
  net::HttpServer server_{loop_, {}};
  std::uint16_t port_ = 0;
  std::map<std::string, std::string> files_;
  std::shared_ptr<std::atomic<bool>> is_hanging_ = std::make_shared<std::atomic<bool>>(false);
  net::HttpResponse answer_;
  net::HttpRequest seen_;
  std::optional<Duration> retry_after_;
};

TEST_F(ControllerSignerTest, shows_its_token_and_gets_what_the_controller_signed) {
  const auto key = sign();
  ASSERT_TRUE(key) << key.error().what;
  EXPECT_EQ(key->certificate, "CERTIFICATE");
  EXPECT_EQ(key->authorities, "AUTHORITY");
  EXPECT_EQ(seen_.headers["authorization"], "Bearer a.b.c");
  EXPECT_EQ(api::parse_signing_request(seen_.body)->request, "WISH");
}

TEST_F(ControllerSignerTest, a_controller_that_somebody_else_vouches_for_sees_no_token) {
  files_["/ca.crt"] = certificates_.text("other.crt");
  const auto key = sign();
  ASSERT_FALSE(key);
  EXPECT_EQ(key.error().code, Errc::denied) << key.error().what;
  EXPECT_TRUE(seen_.headers.empty());
}

TEST_F(ControllerSignerTest, a_refusal_is_told_with_its_words_and_when_to_ask_again) {
  answer_ = net::error_response(403, "denied", "not the account of the agents");
  auto key = sign();
  ASSERT_FALSE(key);
  EXPECT_EQ(key.error().code, Errc::denied);
  EXPECT_THAT(key.error().what, HasSubstr("not the account of the agents"));
  answer_ = net::error_response(429, "exhausted", "too often");
  answer_.headers.emplace_back("Retry-After", "30");
  key = sign();
  ASSERT_FALSE(key);
  EXPECT_EQ(key.error().code, Errc::unavailable);
  EXPECT_EQ(retry_after_, Duration{30s});
}

TEST_F(ControllerSignerTest, files_that_are_missing_empty_or_no_certificate_are_named) {
  files_["/token"] = "\n";
  EXPECT_THAT(sign().error().what, HasSubstr("/token is empty"));
  files_.erase("/token");
  EXPECT_THAT(sign().error().what, HasSubstr("/token is not there"));
  files_["/token"] = "a.b.c";
  files_["/ca.crt"] = "nonsense";
  EXPECT_THAT(sign().error().what, HasSubstr("/ca.crt"));
}

TEST_F(ControllerSignerTest, files_that_do_not_answer_are_given_up) {
  *is_hanging_ = true;
  const auto key = sign();
  ASSERT_FALSE(key);
  EXPECT_EQ(key.error().code, Errc::timed_out);
}

TEST_F(ControllerSignerTest, an_answer_of_somebody_else_is_an_error) {
  answer_.body = "<html>";
  EXPECT_EQ(sign().error().code, Errc::malformed);
}

}  // namespace
}  // namespace autopilot::agent
