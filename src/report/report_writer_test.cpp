// SPDX-License-Identifier: Apache-2.0
#include "report/report_writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "tests/support/host/test_clock.hpp"
#include "tests/support/kube/cluster_fixture.hpp"

namespace autopilot::report {
namespace {

using net::testing::answer;
using std::chrono::seconds;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kGood = R"({"at":"2026-11-21T03:04:05.678Z","health":"healthy"})";
constexpr const char* kGoodLater = R"({"at":"2026-11-21T03:05:05.678Z","health":"healthy"})";
constexpr const char* kBad = R"({"at":"2026-11-21T03:05:05.678Z","health":"failed"})";

class ReportWriterTest : public kube::testing::ClusterFixture {
 protected:
  void begin(std::vector<net::testing::Scripted> script) {
    serve(std::move(script));
    at(0);
    report_ = std::make_unique<ReportWriter>(
        *client_, *writer_, report_clock_, ReportWriterOptions{.name_space = "autopilot", .node = "node-1"});
  }
  // Seconds since the first moment.
  void at(int second) { report_clock_.set(seconds{1000 + second}); }
  void write(const char* text) {
    const auto writes = writer_->stats().writes;
    report_->note(text);
    EXPECT_TRUE(run_until([&] { return writer_->stats().writes == writes + 1; }));
  }

  host::FixedClock report_clock_;
  std::unique_ptr<ReportWriter> report_;
};

TEST_F(ReportWriterTest, applies_the_whole_object) {
  begin({{answer(200, "{}")}});
  EXPECT_FALSE(report_->is_due()) << "nothing is known yet";
  write(kGood);
  const std::string request = server_->requests().front();
  EXPECT_THAT(request, StartsWith("PATCH /apis/autopilot.ibm.com/v1alpha1/namespaces/autopilot/"
                                  "nodehealthreports/node-1?fieldManager=test&force=true HTTP"));
  EXPECT_THAT(request, HasSubstr("Content-Type: application/apply-patch+yaml\r\n"));
  EXPECT_THAT(request, EndsWith(kGood));
  EXPECT_FALSE(report_->is_due());
}

TEST_F(ReportWriterTest, writes_news_at_once_and_then_not_too_often) {
  begin({{answer(200, "{}")}, {answer(200, "{}")}});
  write(kGood);
  at(60);
  report_->note(kGoodLater);
  EXPECT_FALSE(report_->is_due()) << "only times changed";
  write(kBad);
  at(79);
  report_->note(kGood);
  EXPECT_FALSE(report_->is_due());
  at(80);
  EXPECT_TRUE(report_->is_due());
}

TEST_F(ReportWriterTest, shows_that_it_is_alive_every_five_minutes) {
  begin({{answer(200, "{}")}});
  write(kGood);
  report_->note(kGoodLater);
  at(299);
  EXPECT_FALSE(report_->is_due());
  at(300);
  EXPECT_TRUE(report_->is_due());
}

TEST_F(ReportWriterTest, says_when_the_cluster_has_no_such_kind) {
  begin({{answer(404, R"({"message":"no such kind"})")}});
  report_->note(kGood);
  ASSERT_TRUE(run_until([this] { return writer_->stats().failures == 1; }));
  EXPECT_THAT(writer_->problem(), HasSubstr("the report of the node cannot be written: "));
  EXPECT_TRUE(report_->is_due());
}

}  // namespace
}  // namespace autopilot::report
