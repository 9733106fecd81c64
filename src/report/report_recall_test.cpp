// SPDX-License-Identifier: Apache-2.0
#include "report/report_recall.hpp"

#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "report/recall.hpp"
#include "tests/support/api/test_samples.hpp"
#include "tests/support/host/test_clock.hpp"
#include "tests/support/host/test_folder.hpp"
#include "tests/support/net/test_server.hpp"
#include "tests/support/report/sample_report.hpp"

namespace autopilot::report {
namespace {

using net::testing::answer;
using net::testing::Scripted;
using net::testing::ScriptedServer;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

class ReportRecallTest : public ::testing::Test {
 protected:
  static kube::ClusterDoor door(std::uint16_t port) {
    kube::ClusterDoor door;
    door.access.server = {false, "127.0.0.1", port, ""};
    door.access.token = "secret";
    door.name_space = "autopilot";
    return door;
  }
  Result<NodeReport> ask(const Scripted& said, bool simulated = true, Duration deadline = seconds{20}) {
    const ScriptedServer server({said});
    auto report = recall_report(door(server.port()), "node-1", simulated, clock_, deadline);
    requests_ = server.requests();
    return report;
  }

  host::FixedClock clock_;
  std::vector<std::string> requests_;
};

TEST_F(ReportRecallTest, takes_what_stands_in_the_cluster_into_a_new_journal) {
  const auto taken = ask({answer(200, sample_report())});
  ASSERT_TRUE(taken) << taken.error().what;
  ASSERT_THAT(requests_, SizeIs(1));
  EXPECT_THAT(requests_[0], StartsWith("GET /apis/autopilot.ibm.com/v1alpha1/namespaces/autopilot/"
                                       "nodehealthreports/node-1 HTTP"));
  EXPECT_THAT(requests_[0], HasSubstr("Authorization: Bearer secret\r\n"));

  const host::TestFolder folder;
  const auto opened = store::Journal::open(folder / "journal.db", api::testing::sample_time());
  ASSERT_TRUE(opened->journal->commit(to_batch(*taken)));
  const auto remembered = recall(*opened->journal, "another boot", {}).value();
  ASSERT_THAT(remembered.state.incidents, SizeIs(1));
  EXPECT_EQ(remembered.state.incidents[0].id, "0a1b2c3d-7");
  EXPECT_EQ(remembered.state.incidents[0].acknowledged.value_or(Acknowledgement{}).by, "alice (uid 1000)");
  ASSERT_THAT(remembered.state.incidents[0].gpu_users, SizeIs(2)) << "the pods that it hit";
  EXPECT_EQ(remembered.state.incidents[0].gpu_users[1].owner.pod, "idle-0");
  EXPECT_EQ(remembered.state.incidents[0].gpu_users[1].owner.candidate_by, "api");
  ASSERT_THAT(remembered.state.findings, SizeIs(1));
  EXPECT_EQ(remembered.state.findings[0].boot_id, "0a1b2c3d-boot");
  EXPECT_EQ(incidents::incident_of(remembered.state.findings[0]), "0a1b2c3d-7");
  EXPECT_EQ(remembered.state.next_incident, 12U);
  const ClusterMemory memory = cluster_memory(remembered.facts);
  EXPECT_EQ(memory.written, taken->written);
  ASSERT_THAT(memory.pass_records, SizeIs(1));
  EXPECT_EQ(memory.pass_records[0].gpu_uuid, "GPU-1");
}

TEST_F(ReportRecallTest, a_server_that_is_busy_is_asked_again) {
  const ScriptedServer server({{answer(429, "{}")}, {answer(503, "{}")}, {answer(200, sample_report())}});
  const auto taken = recall_report(door(server.port()), "node-1", true, clock_, seconds{20});
  ASSERT_TRUE(taken) << taken.error().what;
  EXPECT_EQ(taken->saved.incidents.size(), 1U);
  EXPECT_THAT(server.requests(), SizeIs(3));
}

TEST_F(ReportRecallTest, a_report_of_another_kind_of_machine_is_not_taken) {
  const auto real = ask({answer(200, sample_report())}, false);
  ASSERT_FALSE(real);
  EXPECT_EQ(real.error().code, Errc::conflict);
  EXPECT_THAT(real.error().what, HasSubstr("of a simulated machine"));
  std::string other = sample_report();
  other.replace(other.find("node-1"), 6, "node-2");
  EXPECT_EQ(ask({answer(200, other)}).error().code, Errc::conflict);
}

TEST_F(ReportRecallTest, what_is_wrong_is_told) {
  EXPECT_EQ(ask({answer(404, "{}")}).error().code, Errc::not_found);
  EXPECT_EQ(ask({answer(403, "{}")}).error().code, Errc::denied);
  for (const auto& said :
       {answer(409, "{}"), answer(400, "{}"), answer(410, "{}"), std::string("no HTTP\r\n\r\n")})
    EXPECT_NE(ask({said}, true, milliseconds{200}).error().code, Errc::not_found) << said;
  for (const auto& said : {answer(409, "{}"), answer(422, "{}"), std::string("no HTTP\r\n\r\n")}) {
    const Errc code = ask({said}, true, milliseconds{200}).error().code;
    EXPECT_TRUE(code != Errc::malformed && code != Errc::conflict) << said << ": of the way to it";
  }
  const auto damaged = ask({answer(200, sample_report().substr(0, 500))});
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, Errc::malformed);
  EXPECT_THAT(damaged.error().what, StartsWith("the report in the cluster: "));
}

TEST_F(ReportRecallTest, a_server_or_a_file_that_does_not_answer_costs_only_the_deadline) {
  EXPECT_EQ(ask({"", true}, true, milliseconds{50}).error().code, Errc::timed_out);
  kube::ClusterDoor slow = door(1);
  std::promise<void> end;
  slow.access.token_file = "/token";
  slow.read_file = [ended = end.get_future().share()](const std::string&) -> Result<std::string> {
    ended.wait();
    return std::string("secret");
  };
  EXPECT_EQ(recall_report(slow, "node-1", true, clock_, milliseconds{50}).error().code, Errc::timed_out);
  end.set_value();
}

}  // namespace
}  // namespace autopilot::report
