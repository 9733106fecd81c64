// SPDX-License-Identifier: Apache-2.0
#include "preflight/report_sender.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>

#include "tests/support/kube/scripted_api.hpp"

namespace autopilot::preflight {
namespace {

using kube::ReportedOutcome;
using net::testing::answer;
using net::testing::Scripted;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kExists = R"({"reason":"AlreadyExists"})";
const std::string kPath = "/apis/autopilot.ibm.com/v1alpha1/namespaces/autopilot/healthcheckreports";

kube::HealthCheckReport report(ReportedOutcome outcome = ReportedOutcome::failed) {
  kube::HealthCheckReport one;
  one.meta.name = "gpu-7-0123456789";
  one.node = "gpu-7";
  one.pod = {"team-a", "train-0", "u1"};
  one.tests = {"gpu.pcie_bandwidth"};
  one.outcome = outcome;
  return one;
}

Scripted there(ReportedOutcome outcome, const std::string& uid = "u1") {
  kube::HealthCheckReport one = report(outcome);
  one.pod.uid = uid;
  one.meta.version = "7";
  return {answer(200, kube::health_check_report_json(one))};
}

class ReportSenderTest : public kube::testing::ScriptedApi {
 protected:
  // Why it was not written; empty: it was.
  std::string send(std::vector<Scripted> script, const kube::HealthCheckReport& one = report(),
                   const kube::BackOffTimes& pauses = ReportSender::kPauses) {
    serve(std::move(script));
    ReportSender sender(
        loop_, *client_, "autopilot", [] { return 0.0; }, pauses);
    std::optional<Status> written;
    sender.send(one, [&written](const Status& status) { written = status; });
    EXPECT_FALSE(written);
    EXPECT_TRUE(net::testing::run_until(loop_, [&] { return written.has_value(); }));
    return written && !*written ? written->error().what : "";
  }
  [[nodiscard]] std::vector<std::string> requests() const {
    std::vector<std::string> lines;
    for (const std::string& request : server_->requests())
      lines.push_back(request.substr(0, request.find_first_of("?\r")));
    return lines;
  }
};

TEST_F(ReportSenderTest, makes_the_report) {
  EXPECT_EQ(send({{answer(201, "{}")}}), "");
  EXPECT_THAT(requests(), ElementsAre(StartsWith("POST " + kPath)));
  EXPECT_THAT(server_->requests()[0],
              AllOf(HasSubstr(R"("outcome":"failed")"), HasSubstr(R"("namespace":"autopilot")")));
}

TEST_F(ReportSenderTest, one_that_says_so_already_stays) {
  EXPECT_EQ(send({{answer(409, kExists)}, there(ReportedOutcome::failed)}), "");
  EXPECT_EQ(send({{answer(409, kExists)}, there(ReportedOutcome::failed)}, report(ReportedOutcome::started)),
            "");
  EXPECT_THAT(requests(), ElementsAre(StartsWith("POST "), StartsWith("GET " + kPath + "/gpu-7-0123456789")));
}

TEST_F(ReportSenderTest, a_pod_that_was_let_in_may_fail_later) {
  EXPECT_EQ(send({{answer(409, kExists)}, there(ReportedOutcome::started), {answer(200, "{}")}}), "");
  EXPECT_THAT(requests(), ElementsAre(StartsWith("POST "), StartsWith("GET "), StartsWith("PUT " + kPath)));
  EXPECT_THAT(server_->requests()[2],
              AllOf(HasSubstr(R"("outcome":"failed")"), HasSubstr(R"("resourceVersion":"7")")));
}

TEST_F(ReportSenderTest, what_was_changed_meanwhile_is_looked_at_again) {
  EXPECT_EQ(send({{answer(409, kExists)},
                  there(ReportedOutcome::started),
                  {answer(409, R"({"reason":"Conflict"})")},
                  {answer(409, kExists)},
                  there(ReportedOutcome::failed)}),
            "");
}

TEST_F(ReportSenderTest, a_server_that_is_busy_is_asked_again) {
  EXPECT_EQ(send({{answer(503, "{}")}, {answer(500, "{}")}, {answer(201, "{}")}}), "");
}

TEST_F(ReportSenderTest, a_server_that_is_away_for_ten_minutes_gets_the_report_once) {
  kube::BackOff waits;
  Duration shortest{0};
  for (std::uint32_t i = 1; i < ReportSender::kTries; ++i)
    shortest += waits.fail(ReportSender::kPauses, 0.0);
  EXPECT_GE(shortest, std::chrono::minutes{15});

  std::vector<Scripted> script(ReportSender::kTries - 2, Scripted{answer(503, "{}")});
  script.push_back({answer(201, "{}")});
  const kube::BackOffTimes at_once{.first = std::chrono::milliseconds{1},
                                   .last = std::chrono::milliseconds{1}};
  EXPECT_EQ(send(script, report(), at_once), "");
  EXPECT_EQ(requests().size(), script.size());
}

TEST_F(ReportSenderTest, what_the_server_does_not_take_is_given_up) {
  EXPECT_THAT(send({{answer(403, "{}")}}), HasSubstr("403"));
  EXPECT_THAT(send({{answer(422, "{}")}}), HasSubstr("422"));
}

TEST_F(ReportSenderTest, a_report_of_another_pod_with_this_name_is_left_alone) {
  EXPECT_THAT(send({{answer(409, kExists)}, there(ReportedOutcome::started, "u2")}),
              HasSubstr("of another pod"));
}

TEST_F(ReportSenderTest, has_no_room_for_too_many) {
  serve({});
  ReportSender sender(loop_, *client_, "autopilot", [] { return 0.0; });
  std::optional<Status> last;
  for (std::size_t i = 0; i <= ReportSender::kMostAtOnce; ++i)
    sender.send(report(), [&last](const Status& status) { last = status; });
  ASSERT_TRUE(net::testing::run_until(loop_, [&] { return last.has_value(); }));
  EXPECT_EQ(last->error().code, Errc::exhausted);
}

}  // namespace
}  // namespace autopilot::preflight
