// SPDX-License-Identifier: Apache-2.0
#include "api/job_evidence.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <vector>

#include "cli/cli.hpp"
#include "host/files/files.hpp"
#include "net/responses.hpp"
#include "tests/support/host/test_folder.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// An agent with two captures of one job; the newer one has a dump that takes two answers.
class JobsEvidence : public testing::Test {
 protected:
  JobsEvidence() {
    list_.folder = "/var/lib/autopilot/jobs/evidence";
    list_.evidence.push_back({.id = "00c0ffee00c0ffee", .job = "ml/llama", .time = {}, .items = {}});
    list_.evidence[0].items.push_back(
        {.name = "flight_recorder_dump", .file = "flight_recorder_rank_0", .bytes = dump_.size()});
    list_.evidence[0].items.push_back({.name = "kernel_log", .problem = "no permission"});
    list_.evidence.push_back({.id = "00c0ffee00c0ff00", .job = "ml/llama", .time = {}, .items = {}});
    list_.evidence[1].items.push_back({.name = "ras", .file = "ras-rank0.txt", .bytes = 4});
    server_.server().route("GET", "/v1/jobs/evidence",
                           [this](const net::HttpRequest& request, net::Responder responder) {
                             responder.respond(answer(request));
                           });
    server_.start();
  }
  [[nodiscard]] net::HttpResponse answer(const net::HttpRequest& request) const {
    if (!request.query.contains("id")) return net::json_response(api::to_json(list_));
    const std::string text = request.query.at("item") == "ras-rank0.txt" ? "ras\n" : dump_;
    return net::text_response(text.substr(std::stoul(request.query.at("offset")), api::kMostEvidenceBytes));
  }
  int run_verb(const std::vector<std::string>& arguments) {
    std::vector<std::string> words{"autopilot", "jobs", "evidence", "--socket",
                                   "127.0.0.1:" + std::to_string(server_.port())};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (auto& word : words)
      pointers.push_back(word.data());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = run(static_cast<int>(pointers.size()), pointers.data());
    out_ = testing::internal::GetCapturedStdout();
    errors_ = testing::internal::GetCapturedStderr();
    return code;
  }

  const std::string dump_ = std::string(api::kMostEvidenceBytes, '\x80') + "end";
  api::EvidenceList list_;
  net::testing::TestServer server_;
  std::string out_;
  std::string errors_;
};

TEST_F(JobsEvidence, lists_all_captures) {
  EXPECT_EQ(run_verb({}), kExitHealthy) << errors_;
  EXPECT_THAT(out_, HasSubstr("00c0ffee00c0ffee"));
  EXPECT_THAT(out_, HasSubstr("00c0ffee00c0ff00"));
}

TEST_F(JobsEvidence, shows_the_files_of_a_job_or_of_one_capture) {
  EXPECT_EQ(run_verb({"ml/llama"}), kExitHealthy) << errors_;
  EXPECT_THAT(out_, HasSubstr("flight_recorder_rank_0"));
  EXPECT_THAT(out_, HasSubstr("kernel_log: no permission"));
  EXPECT_THAT(out_, HasSubstr("ras-rank0.txt"));
  EXPECT_EQ(run_verb({"00c0ffee00c0ff00"}), kExitHealthy) << errors_;
  EXPECT_THAT(out_, Not(HasSubstr("flight_recorder_rank_0")));
}

TEST_F(JobsEvidence, as_json_are_what_the_agent_answers) {
  EXPECT_EQ(run_verb({"00c0ffee00c0ff00", "-o", "json"}), kExitHealthy) << errors_;
  const auto list = api::parse_evidence_list(out_);
  ASSERT_TRUE(list) << list.error().what;
  ASSERT_EQ(list->evidence.size(), 1U);
  EXPECT_EQ(list->evidence[0].id, "00c0ffee00c0ff00");
}

TEST_F(JobsEvidence, a_long_file_is_printed_as_it_is) {
  EXPECT_EQ(run_verb({"ml/llama", "--get", "flight_recorder_rank_0"}), kExitHealthy) << errors_;
  EXPECT_TRUE(out_ == dump_);
  EXPECT_EQ(run_verb({"ml/llama", "--get", "ras-rank0.txt"}), kExitHealthy) << "of an older capture";
  EXPECT_EQ(out_, "ras\n");
}

TEST_F(JobsEvidence, all_files_are_copied_into_a_new_folder) {
  const host::TestFolder folder;
  EXPECT_EQ(run_verb({"ml/llama", "--all", folder / "copy"}), kExitHealthy) << errors_;
  EXPECT_EQ(out_, "2 files of 2 captures are in " + (folder / "copy") + "\n");
  EXPECT_EQ(host::Files().read(folder / "copy/00c0ffee00c0ff00/ras-rank0.txt").value(), "ras\n");
  EXPECT_EQ(run_verb({"ml/llama", "--all", folder / "copy"}), kExitInternal) << "it is not empty";
}

TEST_F(JobsEvidence, a_file_name_of_the_agent_does_not_lead_out_of_the_folder) {
  const host::TestFolder folder;
  list_.evidence[1].items[0].file = "../../ras-rank0.txt";
  EXPECT_EQ(run_verb({"00c0ffee00c0ff00", "--all", folder / "copy"}), kExitInternal);
  EXPECT_FALSE(host::Files().exists(folder / "ras-rank0.txt"));
}

TEST_F(JobsEvidence, what_is_not_there_is_an_error) {
  EXPECT_EQ(run_verb({"ml/other"}), kExitInternal);
  EXPECT_THAT(errors_, HasSubstr("no evidence about ml/other on this machine"));
  EXPECT_EQ(run_verb({"ml/llama", "--get", "secret"}), kExitInternal);
  EXPECT_THAT(errors_, HasSubstr("has no file secret"));
  EXPECT_EQ(run_verb({"--get", "ras-rank0.txt"}), kExitUsage);
}

}  // namespace
}  // namespace autopilot::cli
