// SPDX-License-Identifier: Apache-2.0
#include "agent/tls/issued_keys.hpp"

#include <chrono>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "agent/tls/cert_manager.hpp"
#include "kube/base64.hpp"
#include "net/http_server.hpp"
#include "tests/support/kube/scripted_api.hpp"
#include "tests/support/net/test_programs.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

// The text between the next two marks after `begin`.
std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const auto from = text.find(begin) + begin.size();
  return text.substr(from, text.find(end, from) - from);
}

// Kubernetes with cert-manager, which signs what it is asked for when it is asked whether it has.
class IssuedKeysTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!net::testing::has_program("openssl")) GTEST_SKIP() << "openssl is not installed";
    certificates_.make_authority("ca");
    clock_.time = std::chrono::system_clock::now().time_since_epoch() - 1h;
    const std::string path = "/apis/cert-manager.io/v1/namespaces/autopilot/certificaterequests";
    server_.route("POST", path, [this](const net::HttpRequest& request, net::Responder responder) {
      if (status_ != 201) return responder.respond(net::error_response(status_, "denied", "no such right"));
      names_.push_back(between(request.body, R"("name":")", "\""));
      std::ofstream(certificates_.path("wish.csr"))
          << kube::decode_base64(between(request.body, R"("request":")", "\"")).value_or("");
      responder.respond({201, "application/json", R"({"kind":"CertificateRequest"})", {}});
    });
    server_.route("GET", path + "/{name}", [this](const net::HttpRequest&, net::Responder responder) {
      responder.respond({200, "application/json", answer_.empty() ? signed_answer() : answer_, {}});
    });
    server_.route("DELETE", path + "/{name}",
                  [this](const net::HttpRequest& request, net::Responder responder) {
                    removed_.push_back(request.parameters.at("name"));
                    responder.respond({200, "application/json", "{}", {}});
                  });
    const std::uint16_t port = server_.listen_tcp("127.0.0.1:0").value();
    client_ = std::make_unique<kube::Client>(
        loop_, net::ServerUrl{false, "127.0.0.1", port, ""},
        kube::ClientOptions{.user_agent = "test", .field_manager = "test", .deadline = 5s});
    keys_ = std::make_unique<IssuedKeys>(
        loop_, clock_, "node-1",
        std::make_unique<CertManager>(loop_, *client_, clock_,
                                      CertManagerWish{"node-1", "autopilot", "autopilot"},
                                      CertManager::Pace{.look = 1ms, .patience = 1h}),
        IssuedKeys::Listener{[this](const net::ReadyKeys& keys) { used_.push_back(keys); },
                             [this](const Error& why) { refused_.push_back(why.what); },
                             [this](const Error& why) { awaited_.push_back(why.what); }},
        [] { return 0.0; },
        IssuedKeys::Pace{.after_failures = {.first = 1ms, .last = 10ms}, .longest_rest = 2ms});
  }
  [[nodiscard]] std::string signed_answer() const {
    static_cast<void>(net::testing::run_program(
        {"openssl", "x509", "-req", "-days", "1", "-copy_extensions", "copy", "-in",
         certificates_.path("wish.csr"), "-CA", certificates_.path("ca.crt"), "-CAkey",
         certificates_.path("ca.key"), "-out", certificates_.path("node.crt")}));
    return R"({"kind":"CertificateRequest","status":{"conditions":[{"type":"Ready","status":"True"}],)"
           R"("certificate":")" +
           kube::encode_base64(certificates_.text("node.crt")) + R"(","ca":")" +
           kube::encode_base64(certificates_.text("ca.crt")) + R"("}})";
  }
  [[nodiscard]] bool run_until(const std::function<bool()>& is_so) {
    return net::testing::run_until(loop_, is_so);
  }

  net::testing::TestCertificates certificates_;
  kube::testing::SetClock clock_;
  net::EventLoop loop_;
  net::HttpServer server_{loop_, {}};
  int status_ = 201;
  std::string answer_;  // empty: what was asked for, signed
  std::vector<std::string> names_;
  std::vector<std::string> removed_;
  std::vector<net::ReadyKeys> used_;
  std::vector<std::string> refused_;
  std::vector<std::string> awaited_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<IssuedKeys> keys_;
};

TEST_F(IssuedKeysTest, a_node_gets_keys_that_name_it_and_leaves_nothing_behind) {
  keys_->start();
  ASSERT_TRUE(run_until([this] { return used_.size() == 1 && removed_.size() == 1; }));
  EXPECT_TRUE(used_[0].server);
  EXPECT_TRUE(used_[0].client);
  EXPECT_THAT(net::testing::run_program({"openssl", "x509", "-noout", "-ext", "subjectAltName", "-in",
                                         certificates_.path("node.crt")}),
              HasSubstr("DNS:node-1\n"));
  EXPECT_THAT(names_, ElementsAre(StartsWith("node-1.tls-")));
  EXPECT_EQ(removed_, names_);
  EXPECT_THAT(refused_, IsEmpty());
  const auto& validity = used_[0].validity;
  EXPECT_EQ(std::chrono::round<std::chrono::hours>(validity.until - validity.from), 24h);
  EXPECT_EQ(keys_->renewals().failed, 0U);
  EXPECT_FALSE(keys_->renewals().is_failing);
}

TEST_F(IssuedKeysTest, they_are_renewed_when_two_thirds_of_their_life_are_over) {
  keys_->start();
  ASSERT_TRUE(run_until([this] { return used_.size() == 1; }));
  clock_.time += 15h;
  bool is_later = false;
  const auto later = loop_.after(50ms, [&is_later] { is_later = true; });
  ASSERT_TRUE(run_until([&is_later] { return is_later; }));
  EXPECT_THAT(names_, SizeIs(1));
  clock_.time += 2h;
  ASSERT_TRUE(run_until([this] { return used_.size() == 2; }));
  EXPECT_NE(names_[0], names_[1]);
}

TEST_F(IssuedKeysTest, what_fails_is_told_once_counted_each_time_and_tried_again) {
  status_ = 403;
  keys_->start();
  ASSERT_TRUE(run_until([this] { return keys_->renewals().failed >= 3; }));
  EXPECT_TRUE(keys_->renewals().is_failing);
  EXPECT_THAT(refused_, SizeIs(1));
  status_ = 201;
  EXPECT_TRUE(run_until([this] { return used_.size() == 1; }));
  EXPECT_FALSE(keys_->renewals().is_failing);
  EXPECT_GE(keys_->renewals().failed, 3U);
}

TEST_F(IssuedKeysTest, whoever_signs_may_begin_later_than_the_agent_and_that_is_no_refusal) {
  status_ = 503;
  keys_->start();
  ASSERT_TRUE(run_until([this] { return keys_->renewals().failed >= 2; }));
  EXPECT_THAT(refused_, IsEmpty());
  EXPECT_THAT(awaited_, SizeIs(1));
  status_ = 201;
  ASSERT_TRUE(run_until([this] { return used_.size() == 1; }));
  status_ = 503;
  clock_.time += 17h;
  EXPECT_TRUE(run_until([this] { return !refused_.empty(); })) << "there are keys that end";
}

TEST_F(IssuedKeysTest, a_request_that_is_denied_is_taken_away_and_made_anew) {
  answer_ =
      R"({"kind":"CertificateRequest","status":{"conditions":[{"type":"Denied","status":"True","message":"no"}]}})";
  keys_->start();
  ASSERT_TRUE(run_until([this] { return !removed_.empty(); }));
  EXPECT_THAT(refused_, ElementsAre(EndsWith("no")));
  answer_.clear();
  EXPECT_TRUE(run_until([this] { return used_.size() == 1; }));
}

TEST_F(IssuedKeysTest, who_does_not_decide_is_waited_for_and_not_for_ever) {
  answer_ = R"({"kind":"CertificateRequest"})";
  keys_->start();
  ASSERT_TRUE(run_until([this] { return names_.size() == 1; }));
  EXPECT_THAT(refused_, IsEmpty());
  clock_.time += 2h;
  ASSERT_TRUE(run_until([this] { return !refused_.empty(); }));
  EXPECT_THAT(refused_, ElementsAre("cert-manager has not issued the certificate yet"));
}

TEST_F(IssuedKeysTest, a_certificate_of_another_key_is_not_used) {
  certificates_.make_node("node-1", "ca");
  answer_ = R"({"kind":"CertificateRequest","status":{"conditions":[{"type":"Ready","status":"True"}],)"
            R"("certificate":")" +
            kube::encode_base64(certificates_.text("node-1.crt")) + R"(","ca":")" +
            kube::encode_base64(certificates_.text("ca.crt")) + R"("}})";
  keys_->start();
  ASSERT_TRUE(run_until([this] { return !refused_.empty(); }));
  EXPECT_THAT(refused_, ElementsAre(HasSubstr("key of the server")));
  EXPECT_THAT(used_, IsEmpty());
}

}  // namespace
}  // namespace autopilot::agent
