// SPDX-License-Identifier: Apache-2.0
#include "controller/certificates/certificate_issuer.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/controller.hpp"
#include "kube/reviews.hpp"
#include "net/certificates.hpp"
#include "net/http_server.hpp"
#include "tests/support/kube/scripted_api.hpp"

namespace autopilot::controller {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kAgent = "system:serviceaccount:autopilot:autopilot";

class CertificateIssuerTest : public ::testing::Test {
 protected:
  struct Answer {
    int status = 0;
    std::string body;
    std::string retry_after;
  };

  CertificateIssuerTest() {
    clock_.time = 24h * 20'000;
    keys_ = new_keys(clock_.now().wall, AuthorityTimes{}).value();
    api_.route("POST", kube::kTokenReviews,
               [this](const net::HttpRequest& request, net::Responder responder) {
                 reviews_.push_back(request.body);
                 if (is_silent_) return kept_.push_back(std::move(responder));
                 if (status_ != 201)
                   return responder.respond(net::error_response(status_, "denied", "you may not ask"));
                 responder.respond({201, "application/json", review_, {}});
               });
    client_ = std::make_unique<kube::Client>(
        loop_, net::ServerUrl{false, "127.0.0.1", api_.listen_tcp("127.0.0.1:0").value(), ""},
        kube::ClientOptions{.user_agent = "test", .field_manager = "test", .deadline = 5s});
    issuer_ = std::make_unique<CertificateIssuer>(*client_, clock_, "autopilot",
                                                  [this] { return keys_ ? &*keys_ : nullptr; });
    server_.route("POST", "/v1/certificates",
                  [this](const net::HttpRequest& request, net::Responder responder) {
                    issuer_->answer(request, std::move(responder));
                  });
    session_ = std::make_unique<net::HttpSession>(
        loop_, net::ServerUrl{false, "127.0.0.1", server_.listen_tcp("127.0.0.1:0").value(), ""}, nullptr);
    is_user(kAgent, {"node-1"});
  }
  void is_user(const std::string& name, const std::vector<std::string>& nodes) {
    json::array list(nodes.begin(), nodes.end());
    review_ = json::serialize(json::object{
        {"kind", "TokenReview"},
        {"status",
         {{"authenticated", true},
          {"audiences", {"autopilot.ibm.com"}},
          {"user", {{"username", name}, {"extra", {{"authentication.kubernetes.io/node-name", list}}}}}}}});
  }
  [[nodiscard]] std::string body() const { return json::serialize(json::object{{"request", wish_.request}}); }
  net::Exchange send(const std::string& body, const std::string& token, std::optional<Answer>& answer) {
    net::HttpRequest request;
    request.method = "POST";
    request.path = "/v1/certificates";
    request.body = body;
    if (!token.empty()) request.headers["Authorization"] = "Bearer " + token;
    return session_->send(std::move(request), 10s, [&answer](Result<net::HttpResponse> got) {
      answer.emplace();
      if (!got) return;
      answer->status = got->status;
      answer->body = got->body;
      for (const auto& [name, value] : got->headers)
        if (name == "retry-after") answer->retry_after = value;
    });
  }
  Answer ask(const std::string& body, const std::string& token = "token") {
    std::optional<Answer> answer;
    const auto exchange = send(body, token, answer);
    EXPECT_TRUE(run_until([&] { return answer.has_value(); }));
    return answer.value_or(Answer{});
  }
  [[nodiscard]] bool run_until(const std::function<bool()>& is_so) {
    return net::testing::run_until(loop_, is_so);
  }
  [[nodiscard]] std::uint64_t count(Issuance outcome) const {
    return issuer_->counts().at(static_cast<std::size_t>(outcome));
  }

  kube::testing::SetClock clock_;
  net::EventLoop loop_;
  net::HttpServer api_{loop_, {}};
  net::HttpServer server_{loop_, {}};
  std::optional<AuthorityKeys> keys_;
  const net::CertificateWish wish_ = net::make_certificate_wish("somebody.else").value();
  std::string review_;
  int status_ = 201;
  bool is_silent_ = false;
  std::vector<std::string> reviews_;
  std::vector<net::Responder> kept_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<CertificateIssuer> issuer_;
  std::unique_ptr<net::HttpSession> session_;
};

TEST_F(CertificateIssuerTest, an_agent_gets_a_certificate_of_the_node_in_its_token_for_a_day) {
  const Answer answer = ask(body(), "secret-token");
  ASSERT_EQ(answer.status, 200) << answer.body;
  ASSERT_THAT(reviews_, SizeIs(1));
  EXPECT_THAT(reviews_[0], HasSubstr(R"("token":"secret-token","audiences":["autopilot.ibm.com"])"));
  const auto read = api::parse_signed_certificate(answer.body);
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->authority, believed(*keys_));
  const std::string& certificate = read->certificate;
  EXPECT_EQ(net::validity_of(certificate)->until, clock_.now().wall + 24h);
  EXPECT_TRUE(net::TlsContext::make(net::TlsServerIdentity{certificate, wish_.key, ""}));
  EXPECT_EQ(count(Issuance::issued), 1);
}

TEST_F(CertificateIssuerTest, who_shows_no_token_or_nobodys_is_told_so) {
  EXPECT_EQ(ask(body(), "").status, 401);
  EXPECT_THAT(reviews_, IsEmpty());
  review_ = R"({"kind":"TokenReview","status":{"error":"it has expired"}})";
  const Answer expired = ask(body());
  EXPECT_EQ(expired.status, 401);
  EXPECT_THAT(expired.body, HasSubstr("it has expired"));
  review_ =
      R"({"kind":"TokenReview","status":{"authenticated":true,"audiences":["other"],"user":{"username":")" +
      kAgent + R"("}}})";
  EXPECT_EQ(ask(body()).status, 401);
  EXPECT_EQ(count(Issuance::unknown), 3);
}

TEST_F(CertificateIssuerTest, others_than_agents_and_tokens_without_a_node_get_none) {
  for (const char* name :
       {"alice", "system:serviceaccount:team:autopilot", "system:serviceaccount:autopilot:default"}) {
    is_user(name, {"node-1"});
    const Answer answer = ask(body());
    EXPECT_EQ(answer.status, 403) << name;
    EXPECT_THAT(answer.body, HasSubstr(name));
  }
  for (const auto& nodes :
       std::vector<std::vector<std::string>>{{}, {"node-1", "node-2"}, {""}, {"node 1"}}) {
    is_user(kAgent, nodes);
    EXPECT_EQ(ask(body()).status, 403);
  }
  EXPECT_EQ(count(Issuance::forbidden), 7);
}

TEST_F(CertificateIssuerTest, what_cannot_be_signed_is_refused) {
  for (const char* sent : {"", "no JSON", "[]", "{}", R"({"request": 7})", R"({"request": "no PEM"})"}) {
    const Answer answer = ask(sent);
    EXPECT_EQ(answer.status, 400) << sent;
    clock_.time += 1h;
  }
  EXPECT_EQ(ask(std::string(CertificateIssuer::kLongestBody + 1, ' ')).status, 413);
  EXPECT_EQ(count(Issuance::malformed), 7);
}

TEST_F(CertificateIssuerTest, one_node_gets_six_at_once_and_then_one_in_ten_minutes) {
  for (int times = 0; times < 6; ++times)
    EXPECT_EQ(ask(body()).status, 200);
  const Answer late = ask(body());
  EXPECT_EQ(late.status, 429);
  EXPECT_EQ(late.retry_after, "600");
  EXPECT_EQ(count(Issuance::rate_limited), 1);
  is_user(kAgent, {"node-2"});
  EXPECT_EQ(ask(body()).status, 200);
  is_user(kAgent, {"node-1"});
  clock_.time += 10min;
  EXPECT_EQ(ask(body()).status, 200);
}

TEST_F(CertificateIssuerTest, few_tokens_are_asked_about_at_once) {
  is_silent_ = true;
  std::vector<std::optional<Answer>> answers(CertificateIssuer::kMostAtOnce + 1);
  std::vector<net::Exchange> exchanges;
  for (auto& answer : answers)
    exchanges.push_back(send(body(), "token", answer));
  ASSERT_TRUE(run_until(
      [&] { return std::ranges::any_of(answers, [](const auto& answer) { return answer.has_value(); }); }));
  const auto refused = std::ranges::find_if(answers, [](const auto& answer) { return answer.has_value(); });
  EXPECT_EQ((*refused)->status, 429);
  EXPECT_EQ((*refused)->retry_after, "1");
}

TEST_F(CertificateIssuerTest, many_tokens_in_a_short_time_are_not_asked_about) {
  review_ = R"({"kind":"TokenReview","status":{}})";
  int asked = 0;
  while (ask(body()).status == 401)
    ++asked;
  EXPECT_EQ(asked, CertificateIssuer::kReviewBurst);
  clock_.time += CertificateIssuer::kReviewSpacing;
  EXPECT_EQ(ask(body()).status, 401);
}

TEST_F(CertificateIssuerTest, without_an_authority_or_an_api_server_it_says_try_again) {
  keys_.reset();
  EXPECT_EQ(ask(body()).status, 503);
  status_ = 403;
  const Answer forbidden = ask(body());
  EXPECT_EQ(forbidden.status, 503);
  EXPECT_THAT(forbidden.body, HasSubstr("cannot check the token"));
  status_ = 201;
  review_ = "{}";
  EXPECT_EQ(ask(body()).status, 503);
  EXPECT_EQ(count(Issuance::unavailable), 3);
}

}  // namespace
}  // namespace autopilot::controller
