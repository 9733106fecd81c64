// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/job_outlets.hpp"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <vector>

#include "host/clock/system_clock.hpp"
#include "net/http_server.hpp"
#include "tests/support/host/test_folder.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::agent::job_outlets_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

jobs::JobFinding finding_of(const std::string& id, const std::string& job) {
  jobs::JobFinding finding;
  finding.id = id;
  finding.job = job;
  finding.effect = jobs::Effect::hang;
  finding.culprit = {.kind = jobs::EntityKind::host, .node = "gpu-001", .gpu = -1, .nic = {}};
  return finding;
}

JobNews alert_news(const std::string& id) {
  JobNews news;
  news.alerts.push_back({.id = id,
                         .job = "slurm/12",
                         .kind = jobs::AlertKind::raised,
                         .severity = jobs::Severity::page,
                         .time = WallTime{std::chrono::seconds{1767225600}},
                         .title = "job slurm/12 hangs",
                         .body = {}});
  jobs::JobReport report;
  report.state.job = "slurm/12";
  report.findings = {finding_of(id, "slurm/12")};
  news.reports = {report};
  return news;
}

JobNews action_news(const std::string& id, const std::string& job = "slurm/12") {
  JobNews news;
  const jobs::JobFinding finding = finding_of(id, job);
  news.actions.push_back({.finding = finding,
                          .request = {.job = job,
                                      .choice = jobs::Choice::restart_in_place,
                                      .culprit = finding.culprit,
                                      .cause = "stopped",
                                      .is_known = true},
                          .owner = {}});
  return news;
}

class JobOutletsTest : public ::testing::Test {
 protected:
  JobOutletsTest() {
    server_.route("POST", "/hook", [this](const net::HttpRequest& request, net::Responder responder) {
      bodies_.push_back(request.body);
      responder.respond(net::HttpResponse{});
    });
    port_ = server_.listen_tcp("127.0.0.1:0").value();
    std::ofstream(scontrol()) << "#!/bin/sh\necho \"$*\" >> '" << folder_.path() << "/log'\n";
    std::filesystem::permissions(scontrol(), std::filesystem::perms::owner_all);
  }

  [[nodiscard]] std::string scontrol() const { return folder_ / "scontrol"; }
  [[nodiscard]] std::string commands() const {
    std::ifstream file(folder_ / "log");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] config::AlertReceiver receiver() const {
    return {.name = "on-call",
            .url = "http://127.0.0.1:" + std::to_string(port_) + "/hook",
            .format = config::AlertFormat::json};
  }
  [[nodiscard]] std::shared_ptr<SlurmActor> actor() const {
    return std::make_shared<SlurmActor>(clock_, folder_ / "actions.json", scontrol());
  }
  void open(std::vector<config::AlertReceiver> receivers, std::shared_ptr<SlurmActor> actor,
            Status may_act = {}) {
    outlets_.emplace(JobOutletsContext{
        .loop = loop_,
        .clock = clock_,
        .read_file = [](const std::string& path) -> Result<std::string> {
          return fail(Errc::not_found, path);
        },
        .receivers = std::move(receivers),
        .actor = std::move(actor),
        .may_act = std::move(may_act),
        .on_acted = [this](const jobs::WantedAction& action) { acted_.push_back(action.finding.id); }});
  }
  [[nodiscard]] bool run_until(const std::function<bool()>& is_so) {
    return net::testing::run_until(loop_, is_so);
  }
  [[nodiscard]] std::uint64_t ended(std::string_view kind) const {
    return outlets_->figures().actions.at(kind);
  }

  host::TestFolder folder_;
  const std::shared_ptr<const Clock> clock_ = std::make_shared<host::SystemClock>();
  net::EventLoop loop_;
  net::HttpServer server_{loop_, {}};
  std::uint16_t port_ = 0;
  std::vector<std::string> bodies_;
  std::vector<std::string> acted_;
  std::optional<JobOutlets> outlets_;
};

TEST_F(JobOutletsTest, a_receiver_gets_an_alert_with_its_culprit) {
  open({receiver()}, nullptr);
  outlets_->publisher()(alert_news("a"));
  ASSERT_TRUE(run_until([&] { return !bodies_.empty(); }));
  EXPECT_THAT(bodies_[0], HasSubstr(R"("finding":"a")"));
  EXPECT_THAT(bodies_[0], HasSubstr(R"("node":"gpu-001")"));
  ASSERT_TRUE(run_until([&] { return outlets_->figures().receivers.at(0).delivered == 1; }));
  const std::string metrics = render_outlet_metrics(outlets_->figures());
  EXPECT_THAT(metrics,
              HasSubstr("autopilot_alert_requests_total{receiver=\"on-call\",outcome=\"accepted\"} 1\n"));
  EXPECT_THAT(metrics, Not(HasSubstr("autopilot_job_actions_total")));
}

TEST_F(JobOutletsTest, an_action_is_done_and_counts_for_the_guard_rails) {
  open({}, actor());
  outlets_->publisher()(action_news("a"));
  ASSERT_TRUE(run_until([&] { return ended("done") == 1; }));
  EXPECT_EQ(commands(), "requeue 12\n");
  EXPECT_THAT(acted_, ElementsAre("a"));
  // Offered again after a restart of the agent.
  open({}, actor());
  outlets_->publish(action_news("a"));
  ASSERT_TRUE(run_until([&] { return ended("repeated") == 1; }));
  EXPECT_EQ(commands(), "requeue 12\n");
  EXPECT_THAT(acted_, ElementsAre("a", "a"));
  EXPECT_THAT(render_outlet_metrics(outlets_->figures()),
              HasSubstr("autopilot_job_actions_total{state=\"repeated\"} 1\n"));
}

TEST_F(JobOutletsTest, an_action_that_is_not_possible_does_not_count) {
  open({}, actor());
  outlets_->publish(action_news("a", "ml/Job/llama"));
  ASSERT_TRUE(run_until([&] { return ended("refused") == 1; }));
  EXPECT_THAT(acted_, IsEmpty());
  EXPECT_THAT(commands(), IsEmpty());
}

TEST_F(JobOutletsTest, an_agent_that_may_not_act_does_nothing) {
  open({}, actor(), fail(Errc::denied, "this machine is simulated"));
  outlets_->publish(action_news("a"));
  EXPECT_EQ(ended("refused"), 1U);
  EXPECT_THAT(commands(), IsEmpty());
}

TEST_F(JobOutletsTest, beyond_the_limit_actions_are_refused) {
  open({}, actor());
  JobNews news;
  for (std::size_t number = 0; number < JobOutlets::kMostActions + 9; ++number)
    news.actions.push_back(action_news(std::to_string(number), "a job of no scheduler").actions[0]);
  // The first command holds up the lane until it can read a line.
  ASSERT_EQ(::mkfifo((folder_ / "go").c_str(), 0600), 0);
  std::ofstream(scontrol()) << "#!/bin/sh\nread -r word < '" << folder_.path() << "/go'\n";
  news.actions.insert(news.actions.begin(), action_news("first").actions[0]);
  outlets_->publish(news);
  EXPECT_GE(ended("refused"), 9U);
  std::ofstream(folder_ / "go") << '\n';
  EXPECT_TRUE(run_until([&] { return ended("refused") == JobOutlets::kMostActions + 9; }));
}

TEST_F(JobOutletsTest, news_after_its_end_are_lost) {
  open({}, actor());
  const auto publish = outlets_->publisher();
  publish(action_news("a"));
  outlets_.reset();
  publish(action_news("b"));
  bool has_run = false;
  loop_.post([&] { has_run = true; });
  ASSERT_TRUE(run_until([&] { return has_run; }));
  EXPECT_THAT(commands(), IsEmpty());
}

}  // namespace
}  // namespace autopilot::agent::job_outlets_test
