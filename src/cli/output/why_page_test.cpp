// SPDX-License-Identifier: Apache-2.0
#include "cli/output/why_page.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "catalog/catalog.hpp"
#include "core/parse.hpp"

namespace autopilot::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr WallTime kWhyAsked{std::chrono::hours{24 * 365}};

why::Evidence piece(const std::string& message, why::Kind kind = why::Kind::device_error) {
  why::Evidence evidence;
  evidence.kind = kind;
  evidence.source = "kernel log";
  evidence.finding.message = message;
  evidence.finding.health = Health::failed;
  evidence.finding.since = kWhyAsked - std::chrono::hours{3};
  return evidence;
}

why::Report why_report_of(int causes) {
  why::Report report;
  report.node = "gpu-017";
  report.now = kWhyAsked;
  for (int i = 0; i < causes; ++i) {
    why::FoundCause cause;
    cause.main =
        piece("cause " + std::to_string(i) + " " + std::string(200, 'x') + " " + std::string(300, 'y'));
    cause.main.finding.reason = "gpu_fallen_off_bus";
    cause.grounds = std::string(50, 'a') + " " + std::string(60, 'b') + " " + std::string(70, 'c');
    report.explanation.causes.push_back(cause);
    report.explanation.order.push_back(cause.main);
    report.explanation.seen.push_back(cause.main);
    report.sources.push_back({"source " + std::to_string(i), "7 records", "", ""});
    report.sources.push_back({"other " + std::to_string(i), "", "permission is missing", "run it as root"});
  }
  return report;
}

std::string why_page_of(const why::Report& report) {
  return render_why(report, catalog::builtin(), {});
}

TEST(WhyPage, FitsAScreenWhateverWasFound) {
  for (const int causes : {0, 1, 2, 5, 100}) {
    const std::string page = why_page_of(why_report_of(causes));
    EXPECT_LE(std::ranges::count(page, '\n'), static_cast<std::ptrdiff_t>(kWhyPageLines)) << causes;
    for (const std::string_view line : split(page, '\n'))
      EXPECT_LE(line.size(), 80U) << line;
  }
}

TEST(WhyPage, NamesCauseTimeAndNextCommand) {
  why::Report report = why_report_of(1);
  report.explanation.causes[0].main.finding.message = "GPU 3 fell off the bus.";
  const std::string page = why_page_of(report);
  EXPECT_THAT(page, HasSubstr("CAUSE     GPU 3 fell off the bus."));
  EXPECT_THAT(page, HasSubstr("3h ago ("));
  EXPECT_THAT(page, HasSubstr("Next      autopilot explain gpu_fallen_off_bus"));
  EXPECT_THAT(page,
              HasSubstr("NOT READ  other 0: permission is missing\n          To read more, run it as root"));
}

// The pid is that of the newest record.
TEST(WhyPage, AProgramThatCrashedAgainAndAgainHasTheTimeOfItsPid) {
  why::Evidence crash = piece("sim (25148) crashed.", why::Kind::crashed);
  crash.finding.since = kWhyAsked + std::chrono::hours{6};
  crash.finding.last_seen = kWhyAsked + std::chrono::hours{7};
  crash.finding.evidence.emplace_back("count", std::int64_t{70});
  why::Report report;
  report.now = kWhyAsked + std::chrono::hours{8};
  report.explanation.causes.resize(2);
  report.explanation.causes[0].main = piece("cause");
  report.explanation.causes[1].main = crash;
  report.explanation.causes[1].certainty = why::Certainty::certain;
  report.explanation.order = {crash, crash};
  report.explanation.seen = {crash};
  const std::string page = why_page_of(report);
  EXPECT_THAT(page, HasSubstr("ALSO      certain 07:00:00 70 times since 06:00:00: sim (25148) crashed."));
  EXPECT_THAT(page, HasSubstr("IN ORDER  06:00:00 70 times until 07:00:00, last: sim (25148) crashed."));
  EXPECT_THAT(page, HasSubstr("SEEN      07:00:00 70 times since 06:00:00: sim (25148) crashed."));
}

TEST(WhyPage, SaysThatNoCauseWasFound) {
  why::Report report = why_report_of(0);
  report.target.text = "4242";
  report.sources.push_back({"kernel log", "", "permission is missing", ""});
  const std::string page = why_page_of(report);
  EXPECT_THAT(page, HasSubstr("No cause found"));
  EXPECT_THAT(page, HasSubstr("Not everything could be read"));
}

TEST(WhyPage, HidesControlCharacters) {
  why::Report report = why_report_of(1);
  report.node = "a\x1b[31m";
  report.explanation.causes[0].main.finding.message = "b\x1b[2J\r\n";
  report.sources[0].name = "c\x07";
  EXPECT_THAT(why_page_of(report), Not(HasSubstr("\x1b")));
  EXPECT_THAT(why_page_of(report), Not(HasSubstr("\x07")));
}

TEST(WhyPage, ANameOfTheMachineBecomesNoCommand) {
  why::Evidence kill = piece("killed", why::Kind::killed_for_memory);
  kill.finding.reason = "memory_limit";
  GpuUser user;
  user.owner.pod_namespace = "ml";
  user.owner.pod = "a; rm -rf /";
  kill.users = {user};
  EXPECT_EQ(next_command(kill, catalog::builtin()), "");
  kill.users[0].owner.pod = "train-0";
  EXPECT_EQ(next_command(kill, catalog::builtin()), "kubectl -n ml describe pod train-0");
  kill.users[0].owner.job = "slurm 4711";
  EXPECT_THAT(next_command(kill, catalog::builtin()), HasSubstr("sacct -j 4711"));
}

TEST(WhyPage, JsonHasEverything) {
  const std::string json = why_json(why_report_of(30), catalog::builtin());
  EXPECT_THAT(json, HasSubstr("cause 29"));
  EXPECT_THAT(json, HasSubstr(R"("certainty")"));
  EXPECT_THAT(json, HasSubstr(R"("read":false)"));
}

TEST(WhyPage, JsonOfDamagedTextIsValid) {
  why::Report report = why_report_of(1);
  report.explanation.causes[0].main.finding.message = "\xff\xfe";
  EXPECT_THAT(why_json(report, catalog::builtin()), HasSubstr("\xef\xbf\xbd"));
}

}  // namespace
}  // namespace autopilot::cli
