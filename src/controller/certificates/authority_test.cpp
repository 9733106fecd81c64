// SPDX-License-Identifier: Apache-2.0

#include "controller/certificates/authority.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base64.hpp"
#include "tests/fakes/fake_cluster.hpp"
#include "tests/support/kube/scripted_api.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::controller {

namespace {

using std::chrono::hours;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr WallTime kBegin{hours{24} * 20'000};
constexpr AuthorityTimes kTimes{
    .life = hours{1000}, .next_before = hours{90}, .switch_before = hours{60}, .backdated = hours{1}};

AuthorityKeys begun() {
  return new_keys(kBegin, kTimes).value();
}
AuthorityKeys at(const AuthorityKeys& keys, int hour) {
  return rotated(keys, kBegin + hours{hour}, kTimes).value();
}
std::size_t certificates_in(std::string_view pem) {
  std::size_t count = 0;
  for (auto from = pem.find("BEGIN CERT"); from != std::string_view::npos;
       from = pem.find("BEGIN CERT", from + 1))
    ++count;
  return count;
}

TEST(AuthorityKeys, a_new_one_counts_from_an_hour_ago_for_its_life) {
  const auto validity = net::validity_of(begun().current.certificate);
  EXPECT_EQ(validity->from, kBegin - hours{1});
  EXPECT_EQ(validity->until, kBegin + hours{1000});
  EXPECT_EQ(certificates_in(believed(begun())), 1);
}

TEST(AuthorityKeys, nothing_changes_for_most_of_its_life) {
  const AuthorityKeys keys = begun();
  EXPECT_EQ(at(keys, 0), keys);
  EXPECT_EQ(at(keys, 909), keys);
}

TEST(AuthorityKeys, the_next_one_is_believed_before_it_signs_and_the_last_until_it_ends) {
  const AuthorityKeys first = begun();
  const AuthorityKeys prepared = at(first, 910);
  EXPECT_EQ(prepared.current, first.current);
  ASSERT_TRUE(prepared.next);
  EXPECT_EQ(certificates_in(believed(prepared)), 2);
  EXPECT_EQ(at(prepared, 939), prepared);

  const AuthorityKeys switched = at(prepared, 940);
  EXPECT_EQ(switched.current, *prepared.next);
  EXPECT_FALSE(switched.next);
  EXPECT_EQ(switched.previous, first.current.certificate);
  EXPECT_EQ(at(switched, 999), switched);

  const AuthorityKeys alone = at(switched, 1000);
  EXPECT_THAT(alone.previous, IsEmpty());
  EXPECT_EQ(alone.current, switched.current);
}

TEST(AuthorityKeys, whoever_looks_late_gets_what_counts_now) {
  const AuthorityKeys first = begun();
  const AuthorityKeys late = at(first, 950);
  EXPECT_NE(late.current, first.current);
  EXPECT_EQ(late.previous, first.current.certificate);
  const AuthorityKeys very_late = at(at(first, 910), 50'000);
  EXPECT_GT(net::validity_of(very_late.current.certificate)->until, kBegin + hours{50'900});
  EXPECT_THAT(very_late.previous, IsEmpty());
  EXPECT_EQ(at(very_late, 50'000), very_late);
}

TEST(AuthorityKeys, the_secret_holds_all_of_them) {
  for (const AuthorityKeys& keys : {begun(), at(begun(), 910), at(begun(), 950)}) {
    const auto read = parse_keys(to_texts(keys));
    ASSERT_TRUE(read) << read.error().what;
    EXPECT_EQ(*read, keys);
    EXPECT_EQ(to_texts(keys).at("ca.crt"), believed(keys));
  }
}

TEST(AuthorityKeys, what_makes_no_sense_is_named_and_no_key_is_shown) {
  const kube::Texts good = to_texts(at(begun(), 910));
  const auto why = [&good](std::string_view name, const std::string& text) {
    kube::Texts texts = good;
    texts.insert_or_assign(std::string(name), text);
    const auto read = parse_keys(texts);
    return read ? "it was read" : read.error().what;
  };
  EXPECT_THAT(why("tls.crt", ""), HasSubstr("tls.crt and tls.key: "));
  EXPECT_THAT(why("tls.key", good.at("next.key")), HasSubstr("tls.crt and tls.key: "));
  EXPECT_THAT(why("next.key", "s3cret"), HasSubstr("next.crt and next.key: "));
  EXPECT_THAT(why("next.key", "s3cret"), Not(HasSubstr("s3cret")));
  EXPECT_THAT(why("previous.crt", "x"), HasSubstr("previous.crt: "));
  EXPECT_FALSE(parse_keys({}));
}

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::SizeIs;
using ::testing::StartsWith;

const std::string kList = "/api/v1/namespaces/autopilot/secrets";
const std::string kSecret = kList + "/autopilot-authority";

class AuthorityStoreTest : public ::testing::Test {
 protected:
  AuthorityStoreTest() {
    api_.serve(kList);
    clock_.time = 24h * 20'000;
  }
  // One of the controllers.
  struct Controller {
    bool leads = false;
    std::vector<AuthorityKeys> seen;
    std::vector<std::string> problems;
    std::unique_ptr<kube::Client> client;
    std::unique_ptr<AuthorityStore> store;
  };
  std::unique_ptr<Controller> controller(bool leads) {
    auto made = std::make_unique<Controller>();
    Controller& one = *made;
    one.leads = leads;
    one.client = api_.client();
    one.store = std::make_unique<AuthorityStore>(
        loop_, *one.client, clock_, "autopilot", AuthorityTimes{}, [&one] { return one.leads; },
        AuthorityStore::Listener{[&one](const AuthorityKeys& keys) { one.seen.push_back(keys); },
                                 [&one](const Error& why) { one.problems.push_back(why.what); }},
        [] { return 0.0; },
        AuthorityStore::Pace{
            .look = 1ms, .wait_for_leader = 1ms, .after_failures = {.first = 1ms, .last = 4ms}});
    one.store->look();
    return made;
  }
  [[nodiscard]] bool run_until(const std::function<bool()>& is_so) {
    return net::testing::run_until(loop_, is_so);
  }

  kube::testing::SetClock clock_;
  net::EventLoop loop_;
  fakes::FakeCluster api_{loop_};
};

TEST_F(AuthorityStoreTest, the_leader_makes_what_is_missing_and_the_others_wait_for_it) {
  const auto follower = controller(false);
  ASSERT_TRUE(run_until([&] { return !follower->problems.empty(); }));
  EXPECT_THAT(follower->problems, ElementsAre(HasSubstr("the authority does not exist yet")));
  EXPECT_THAT(api_.writes, IsEmpty());
  const auto leader = controller(true);
  ASSERT_TRUE(run_until([&] { return !leader->seen.empty() && !follower->seen.empty(); }));
  EXPECT_THAT(api_.writes, ElementsAre("POST " + kSecret));
  EXPECT_EQ(leader->seen[0], follower->seen[0]);
  EXPECT_THAT(follower->store->problem(), IsEmpty());
  EXPECT_EQ(api_.text_at(kSecret, "/type"), "kubernetes.io/tls");
}

TEST_F(AuthorityStoreTest, of_two_that_make_it_at_once_the_first_one_counts) {
  const auto one = controller(true);
  const auto two = controller(true);
  ASSERT_TRUE(run_until([&] { return !one->seen.empty() && !two->seen.empty(); }));
  EXPECT_EQ(one->seen[0], two->seen[0]);
  EXPECT_THAT(api_.writes, SizeIs(1));
  EXPECT_THAT(one->problems, IsEmpty());
  EXPECT_THAT(two->problems, IsEmpty());
}

TEST_F(AuthorityStoreTest, the_leader_makes_the_next_one_in_time_and_a_follower_does_not) {
  const auto leader = controller(true);
  ASSERT_TRUE(run_until([&] { return !leader->seen.empty(); }));
  leader->leads = false;
  clock_.time += AuthorityTimes{}.life - 80 * 24h;
  const std::size_t before = leader->seen.size();
  ASSERT_TRUE(run_until([&] { return leader->seen.size() > before + 2; }));
  EXPECT_FALSE(leader->seen.back().next);
  leader->leads = true;
  ASSERT_TRUE(run_until([&] { return leader->seen.back().next.has_value(); }));
  EXPECT_EQ(leader->seen.back().current, leader->seen.front().current);
  EXPECT_THAT(api_.writes, ElementsAre("POST " + kSecret, "PATCH " + kSecret));
}

TEST_F(AuthorityStoreTest, a_secret_that_makes_no_sense_is_told_once_and_stays) {
  api_.put(kSecret, R"({"kind":"Secret","data":{"tls.key":"czNjcmV0"}})");
  const auto leader = controller(true);
  ASSERT_TRUE(run_until([&] { return !leader->problems.empty(); }));
  EXPECT_THAT(leader->problems, ElementsAre(HasSubstr("delete it to get a new authority")));
  EXPECT_THAT(leader->problems[0], Not(HasSubstr("s3cret")));
  EXPECT_THAT(api_.writes, IsEmpty());
  api_.objects.clear();
  ASSERT_TRUE(run_until([&] { return !leader->seen.empty(); }));
}

TEST_F(AuthorityStoreTest, who_may_not_write_goes_on_with_what_there_is) {
  const auto leader = controller(true);
  ASSERT_TRUE(run_until([&] { return !leader->seen.empty(); }));
  api_.refusals["PATCH"] = 403;
  clock_.time += AuthorityTimes{}.life - 80 * 24h;
  ASSERT_TRUE(run_until([&] { return !leader->problems.empty(); }));
  const std::size_t before = leader->seen.size();
  ASSERT_TRUE(run_until([&] { return leader->seen.size() > before + 2; }));
  EXPECT_THAT(leader->problems, ElementsAre(StartsWith("PATCH " + kSecret + ": 403")));
  EXPECT_EQ(leader->seen.back(), leader->seen.front());
}

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
  // Runs until that many requests were answered.
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
