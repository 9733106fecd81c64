// SPDX-License-Identifier: Apache-2.0
#include "controller/certificates/authority_publication.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "kube/base64.hpp"
#include "net/test_server.hpp"
#include "tests/fakes/fake_cluster.hpp"

namespace autopilot::controller {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kMaps = "/api/v1/namespaces/autopilot/configmaps";
const std::string kMap = kMaps + "/autopilot-authority";
const std::string kWebhooks = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
const std::string kWebhook = kWebhooks + "/autopilot-preflight";

class AuthorityPublicationTest : public ::testing::Test {
 protected:
  AuthorityPublicationTest() {
    api_.serve(kMaps);
    api_.serve(kWebhooks);
  }
  void put_webhook(const std::string& service) {
    api_.put(kWebhook,
             R"({"kind":"MutatingWebhookConfiguration","webhooks":[{"clientConfig":{"service":{"name":")" +
                 service + R"(","namespace":"autopilot"}}}]})");
  }
  [[nodiscard]] std::string authorities_of_webhook() const {
    return kube::decode_base64(api_.text_at(kWebhook, "/webhooks/0/clientConfig/caBundle")).value_or("?");
  }
  [[nodiscard]] std::string authorities_of_map() const { return api_.text_at(kMap, "/data/ca.crt"); }
  [[nodiscard]] bool run_until(const std::function<bool()>& is_so) {
    return net::testing::run_until(loop_, is_so);
  }
  // Until so many requests were answered since the beginning.
  void wait_for_answers(std::uint64_t count) {
    EXPECT_TRUE(run_until([&] { return answered() >= count; }));
  }
  [[nodiscard]] std::uint64_t answered() const {
    std::uint64_t all = 0;
    for (const std::uint64_t count : client_->counts())
      all += count;
    return all;
  }

  net::EventLoop loop_;
  fakes::FakeCluster api_{loop_};
  bool leads_ = true;
  std::vector<std::string> problems_;
  std::unique_ptr<kube::Client> client_ = api_.client();
  AuthorityPublication publication_{loop_,
                                    *client_,
                                    "autopilot",
                                    "autopilot-controller",
                                    [this] { return leads_; },
                                    [this](const Error& why) { problems_.push_back(why.what); },
                                    1ms};
};

TEST_F(AuthorityPublicationTest, the_map_and_the_webhooks_tell_whom_to_believe) {
  put_webhook("autopilot-controller");
  publication_.publish("one");
  ASSERT_TRUE(run_until([&] { return api_.writes.size() == 2; }));
  EXPECT_EQ(authorities_of_map(), "one");
  EXPECT_EQ(authorities_of_webhook(), "one");
  publication_.publish("two");
  ASSERT_TRUE(run_until([&] { return api_.writes.size() == 4; }));
  EXPECT_EQ(authorities_of_map(), "two");
  EXPECT_EQ(authorities_of_webhook(), "two");
}

TEST_F(AuthorityPublicationTest, what_is_as_it_should_be_is_not_written) {
  put_webhook("autopilot-controller");
  publication_.publish("one");
  wait_for_answers(4);
  publication_.publish("one");
  wait_for_answers(6);
  EXPECT_THAT(api_.writes, SizeIs(2));
}

TEST_F(AuthorityPublicationTest, what_somebody_else_wrote_is_put_right) {
  put_webhook("autopilot-controller");
  publication_.publish("one");
  wait_for_answers(4);
  put_webhook("autopilot-controller");
  publication_.publish("one");
  ASSERT_TRUE(run_until([&] { return authorities_of_webhook() == "one"; }));
}

TEST_F(AuthorityPublicationTest, an_installation_without_webhooks_and_webhooks_of_others_are_left_alone) {
  publication_.publish("one");
  wait_for_answers(3);
  EXPECT_THAT(api_.writes, ElementsAre("POST " + kMap));
  EXPECT_THAT(problems_, IsEmpty());
  put_webhook("somebody-else");
  publication_.publish("one");
  wait_for_answers(5);
  EXPECT_THAT(api_.writes, SizeIs(1));
}

TEST_F(AuthorityPublicationTest, who_leads_no_more_writes_nothing) {
  leads_ = false;
  publication_.publish("one");
  wait_for_answers(1);
  EXPECT_THAT(api_.writes, IsEmpty());
}

TEST_F(AuthorityPublicationTest, a_missing_right_is_told_once_and_gone_when_it_works) {
  api_.refusals["POST"] = 403;
  for (const std::uint64_t answers : {2U, 4U}) {
    publication_.publish("one");
    wait_for_answers(answers);
  }
  EXPECT_THAT(problems_, ElementsAre(HasSubstr("configmaps: 403")));
  api_.refusals.clear();
  publication_.publish("one");
  wait_for_answers(7);
  EXPECT_THAT(publication_.problem(), IsEmpty());
}

}  // namespace
}  // namespace autopilot::controller
