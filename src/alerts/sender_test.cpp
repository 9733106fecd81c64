// SPDX-License-Identifier: Apache-2.0
#include "alerts/sender.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "alerts/alertmanager.hpp"
#include "alerts/signature.hpp"
#include "alerts/webhook.hpp"
#include "host/clock/system_clock.hpp"
#include "net/http_server.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::alerts::sender_test {
namespace {

using ::testing::HasSubstr;

jobs::Alert alert_of(const std::string& id, jobs::Severity severity,
                     jobs::AlertKind kind = jobs::AlertKind::raised) {
  return {.id = id,
          .job = "ml/llama",
          .kind = kind,
          .severity = severity,
          .time = WallTime{std::chrono::seconds{1767225630}},
          .title = "title of " + id,
          .body = "body"};
}

// A server on the loop of the test. It keeps each request and answers with the status that the test sets.
class Senders : public ::testing::Test {
 protected:
  struct Got {
    std::string path;
    std::string signature;
    std::string body;
  };

  Senders() {
    const auto take = [this](const net::HttpRequest& request, net::Responder responder) {
      const auto signature = request.headers.find("x-autopilot-signature");
      got_.push_back(
          {request.path, signature == request.headers.end() ? "" : signature->second, request.body});
      net::HttpResponse response;
      response.status = next_status();
      responder.respond(std::move(response));
    };
    server_.route("POST", "/hook", take, {.body_bytes = std::size_t{4} << 20});
    server_.route("POST", "/am/api/v2/alerts", take, {.body_bytes = std::size_t{4} << 20});
    port_ = server_.listen_tcp("127.0.0.1:0").value();
  }

  [[nodiscard]] config::AlertReceiver receiver(config::AlertFormat format) const {
    const std::string path = format == config::AlertFormat::alertmanager ? "/am/" : "/hook";
    return {.name = "r", .url = "http://127.0.0.1:" + std::to_string(port_) + path, .format = format};
  }
  void start(std::vector<config::AlertReceiver> receivers) {
    sender_ = std::make_unique<Sender>(
        Surroundings{loop_, clock_,
                     [this](const std::string& path) -> Result<std::string> {
                       const auto found = files_.find(path);
                       if (found == files_.end()) return fail(Errc::not_found, path + ": no such file");
                       return found->second;
                     },
                     [](const std::function<void()>& task) { task(); }, [] { return 0.0; }},
        receivers);
  }
  void send(const jobs::Alert& alert) { sender_->send(std::vector{alert}, {}); }
  [[nodiscard]] bool run_until(const std::function<bool()>& is_so) {
    return net::testing::run_until(loop_, is_so);
  }
  [[nodiscard]] ReceiverFigures figures() const { return sender_->figures().at(0); }
  [[nodiscard]] boost::json::array alerts_in(std::size_t request) const {
    return boost::json::parse(got_.at(request).body).as_array();
  }

  net::EventLoop loop_;
  const host::SystemClock clock_;
  net::HttpServer server_{loop_, {}};
  std::uint16_t port_ = 0;
  std::vector<int> statuses_;  // of the next answers; then 200
  std::vector<Got> got_;
  std::map<std::string, std::string> files_;
  std::unique_ptr<Sender> sender_;

 private:
  int next_status() {
    if (statuses_.empty()) return 200;
    const int status = statuses_.front();
    statuses_.erase(statuses_.begin());
    return status;
  }
};

TEST_F(Senders, a_webhook_gets_each_alert_once_and_in_order) {
  start({receiver(config::AlertFormat::json)});
  for (const char* id : {"a", "b", "c"})
    send(alert_of(id, jobs::Severity::page));
  ASSERT_TRUE(run_until([&] { return figures().delivered == 3; }));
  ASSERT_EQ(got_.size(), 3);
  EXPECT_THAT(got_[0].body, HasSubstr(R"("finding":"a")"));
  EXPECT_THAT(got_[2].body, HasSubstr(R"("finding":"c")"));
  EXPECT_EQ(got_[0].signature, "");
}

TEST_F(Senders, a_signature_is_made_with_the_key_of_the_file) {
  files_["/key"] = "secret\n";
  config::AlertReceiver hook = receiver(config::AlertFormat::json);
  hook.secret_file = "/key";
  start({hook});
  send(alert_of("a", jobs::Severity::page));
  ASSERT_TRUE(run_until([&] { return figures().delivered == 1; }));
  const std::string& given = got_[0].signature;
  const auto seconds = std::stoll(given.substr(2, given.find(',') - 2));
  EXPECT_EQ(given, sign("secret", WallTime{std::chrono::seconds{seconds}}, got_[0].body));
}

TEST_F(Senders, without_the_key_nothing_is_sent_and_the_problem_names_the_file) {
  config::AlertReceiver hook = receiver(config::AlertFormat::json);
  hook.secret_file = "/missing";
  start({hook});
  send(alert_of("a", jobs::Severity::page));
  ASSERT_TRUE(run_until([&] { return !figures().problem.empty(); }));
  EXPECT_THAT(figures().problem, HasSubstr("/missing"));
  EXPECT_EQ(figures().waiting, 1);
  EXPECT_TRUE(got_.empty());
}

TEST_F(Senders, a_receiver_that_is_away_gets_the_alert_later) {
  statuses_ = {503};
  start({receiver(config::AlertFormat::json)});
  send(alert_of("a", jobs::Severity::page));
  ASSERT_TRUE(run_until([&] { return figures().delivered == 1; }));
  EXPECT_EQ(got_.size(), 2);
  EXPECT_EQ(got_[0].body, got_[1].body);
  EXPECT_EQ(figures().failed, 1);
  EXPECT_EQ(figures().problem, "");
}

TEST_F(Senders, a_refused_alert_does_not_keep_the_next_one) {
  statuses_ = {400};
  start({receiver(config::AlertFormat::slack)});
  send(alert_of("a", jobs::Severity::page));
  send(alert_of("b", jobs::Severity::page));
  ASSERT_TRUE(run_until([&] { return figures().delivered == 1; }));
  EXPECT_THAT(got_[1].body, HasSubstr("title of b"));
  EXPECT_EQ(figures().dropped, 1);
}

TEST_F(Senders, more_messages_than_the_limit_drop_the_oldest) {
  config::AlertReceiver hook = receiver(config::AlertFormat::json);
  hook.secret_file = "/missing";
  start({hook});
  for (std::size_t i = 0; i < Webhook::kMaxWaiting + 3; ++i)
    send(alert_of(std::to_string(i), jobs::Severity::page));
  EXPECT_EQ(figures().waiting, Webhook::kMaxWaiting);
  EXPECT_EQ(figures().dropped, 3);
}

TEST_F(Senders, a_receiver_gets_its_severity_and_the_end_of_what_it_got) {
  config::AlertReceiver hook = receiver(config::AlertFormat::json);
  hook.least = config::AlertLevel::ticket;
  start({hook});
  send(alert_of("small", jobs::Severity::info));
  send(alert_of("large", jobs::Severity::ticket));
  send(alert_of("small", jobs::Severity::info, jobs::AlertKind::resolved));
  send(alert_of("large", jobs::Severity::info, jobs::AlertKind::resolved));
  ASSERT_TRUE(run_until([&] { return figures().delivered == 2; }));
  EXPECT_THAT(got_[0].body, HasSubstr(R"("finding":"large","kind":"raised")"));
  EXPECT_THAT(got_[1].body, HasSubstr(R"("finding":"large","kind":"resolved")"));
}

TEST_F(Senders, what_an_earlier_sender_sent_stays_open_and_its_end_is_sent) {
  start({receiver(config::AlertFormat::json), receiver(config::AlertFormat::alertmanager)});
  const std::vector open{alert_of("a", jobs::Severity::page)};
  sender_->resume(open, {});
  ASSERT_TRUE(run_until([&] { return sender_->figures().at(1).delivered == 1; }));
  ASSERT_EQ(got_.size(), 1) << "a webhook has its message already";
  EXPECT_EQ(got_[0].path, "/am/api/v2/alerts");
  send(alert_of("a", jobs::Severity::info, jobs::AlertKind::resolved));
  ASSERT_TRUE(run_until([&] { return got_.size() == 3 && figures().delivered == 1; }))
      << "the webhook gets the end";
}

TEST_F(Senders, an_open_alert_of_alertmanager_ends_by_itself_if_it_is_not_sent_again) {
  start({receiver(config::AlertFormat::alertmanager)});
  send(alert_of("a", jobs::Severity::page));
  ASSERT_TRUE(run_until([&] { return figures().delivered == 1; }));
  EXPECT_EQ(got_[0].path, "/am/api/v2/alerts");
  const auto alert = alerts_in(0).at(0).as_object();
  const auto end = parse_time(std::string(alert.at("endsAt").as_string()));
  ASSERT_TRUE(end);
  EXPECT_GT(*end, clock_.now().wall + std::chrono::minutes{4});
  EXPECT_EQ(alert.at("labels").as_object().at("severity"), "critical");
}

TEST_F(Senders, the_end_has_the_labels_of_the_begin) {
  start({receiver(config::AlertFormat::alertmanager)});
  send(alert_of("a", jobs::Severity::page));
  ASSERT_TRUE(run_until([&] { return figures().delivered == 1; }));
  send(alert_of("a", jobs::Severity::info, jobs::AlertKind::resolved));
  ASSERT_TRUE(run_until([&] { return figures().delivered == 2; }));
  const auto begin = alerts_in(0).at(0).as_object();
  const auto end = alerts_in(1).at(0).as_object();
  EXPECT_EQ(end.at("labels"), begin.at("labels"));
  EXPECT_EQ(end.at("endsAt"), "2026-01-01T00:00:30.000Z");
}

TEST_F(Senders, a_finding_that_gets_more_severe_ends_its_first_alert) {
  start({receiver(config::AlertFormat::alertmanager)});
  send(alert_of("a", jobs::Severity::ticket));
  ASSERT_TRUE(run_until([&] { return figures().delivered == 1; }));
  send(alert_of("a", jobs::Severity::page, jobs::AlertKind::changed));
  ASSERT_TRUE(run_until([&] { return figures().delivered >= 2 && figures().waiting == 0; }));
  std::map<std::string, std::string> ends;
  for (std::size_t i = 1; i < got_.size(); ++i)
    for (const auto& alert : alerts_in(i))
      ends[std::string(alert.as_object().at("labels").as_object().at("severity").as_string())] =
          std::string(alert.as_object().at("endsAt").as_string());
  EXPECT_EQ(ends.at("warning"), "2026-01-01T00:00:30.000Z");
  EXPECT_GT(ends.at("critical"), format_time(clock_.now().wall));
}

TEST_F(Senders, many_alerts_go_in_several_requests) {
  start({receiver(config::AlertFormat::alertmanager)});
  for (std::size_t i = 0; i < Alertmanager::kMaxInRequest * 2 + 1; ++i)
    send(alert_of(std::to_string(i), jobs::Severity::page));
  ASSERT_TRUE(run_until([&] { return figures().waiting == 0 && figures().delivered > 0; }));
  std::size_t sent = 0;
  for (std::size_t i = 0; i < got_.size(); ++i) {
    EXPECT_LE(alerts_in(i).size(), Alertmanager::kMaxInRequest);
    sent += alerts_in(i).size();
  }
  EXPECT_EQ(sent, Alertmanager::kMaxInRequest * 2 + 1);
}

TEST_F(Senders, more_open_alerts_than_the_limit_are_counted) {
  config::AlertReceiver am = receiver(config::AlertFormat::alertmanager);
  am.url.clear();
  am.url_file = "/missing";
  start({am});
  for (std::size_t i = 0; i < Alertmanager::kMaxOpen + 2; ++i)
    send(alert_of(std::to_string(i), jobs::Severity::page));
  EXPECT_EQ(figures().dropped, 2);
}

TEST_F(Senders, a_secret_address_is_in_no_problem) {
  config::AlertReceiver hook = receiver(config::AlertFormat::slack);
  hook.url.clear();
  hook.url_file = "/url";
  files_["/url"] = "http://user@host/T0/token";
  start({hook});
  ASSERT_TRUE(run_until([&] { return !figures().problem.empty(); }));
  EXPECT_EQ(figures().problem, "/url is not an http or https URL");
}

}  // namespace
}  // namespace autopilot::alerts::sender_test
