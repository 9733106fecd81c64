// SPDX-License-Identifier: Apache-2.0
// The client of src/kube against the real API server of the test cluster.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "kube/client.hpp"
#include "kube/credentials.hpp"
#include "kube/kubeconfig.hpp"
#include "kube/objects.hpp"
#include "kube/service_endpoints.hpp"
#include "kube/watch.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kMaps = "/api/v1/namespaces/default/configmaps";

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(Errc::not_found, path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class KubeClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("KUBECONFIG");
    if (path == nullptr) GTEST_SKIP() << "KUBECONFIG names no cluster";
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    // cluster.py writes its own file first, and takes the folder away last.
    if (!std::filesystem::exists(path) && !std::filesystem::exists(folder / "cluster.json"))
      GTEST_SKIP() << "there is no cluster in " << folder.string() << "; make cluster starts one";
    const auto access = read_kubeconfig({path}, "", read_file);
    ASSERT_TRUE(access) << access.error().what;
    Credentials credentials(*access, read_file, nullptr);
    const auto refreshed = credentials.refresh({});
    ASSERT_TRUE(refreshed) << refreshed.error().what;
    const auto tls = net::TlsContext::make(credentials.take_changed_identity().value());
    ASSERT_TRUE(tls) << tls.error().what;
    client_ = std::make_unique<Client>(
        loop_, access->server, ClientOptions{.user_agent = "test", .field_manager = "kube-client-test"});
    client_->use(*tls);
    name_ = "kube-client-test-" + std::to_string(::getpid()) + "-" +
            ::testing::UnitTest::GetInstance()->current_test_info()->name();
    for (char& c : name_)
      if (c == '_') c = '-';
  }
  void TearDown() override {
    if (client_)
      static_cast<void>(wait([&](OnObject on) { return client_->remove({mine(), {}}, "", std::move(on)); }));
  }
  [[nodiscard]] std::string mine() const { return kMaps + "/" + name_; }

  using Ask = std::function<net::Exchange(OnObject)>;
  ApiResult<std::string> wait(const Ask& ask) {
    std::optional<ApiResult<std::string>> outcome;
    const auto patience = loop_.after(net::testing::kPatience, [this] { loop_.stop(); });
    const net::Exchange exchange = ask([&](ApiResult<std::string> one) {
      outcome = std::move(one);
      loop_.stop();
    });
    loop_.run();
    return outcome.value();
  }
  ApiResult<std::string> create(const std::string& value) {
    return wait([&](OnObject on) {
      return client_->create({kMaps, {}},
                             R"({"metadata":{"name":")" + name_ + R"("},"data":{"key":")" + value + R"("}})",
                             std::move(on));
    });
  }
  ApiResult<std::string> get(const std::string& path) {
    return wait([&](OnObject on) { return client_->get({path, {}}, std::move(on)); });
  }

  net::EventLoop loop_;
  std::unique_ptr<Client> client_;
  std::string name_;
};

TEST_F(KubeClientTest, reads_a_node) {
  const auto text = get("/api/v1/nodes/sim-0");
  ASSERT_TRUE(text) << text.error().error.what;
  const auto node = parse_node(*text);
  ASSERT_TRUE(node);
  EXPECT_EQ(node->meta.name, "sim-0");
  EXPECT_FALSE(node->conditions.empty());
  EXPECT_EQ(node->allocatable.at("nvidia.com/gpu"), 8);
}

TEST_F(KubeClientTest, creates_patches_applies_and_removes) {
  ASSERT_TRUE(create("one"));
  const auto again = create("two");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().status, 409);
  EXPECT_EQ(again.error().reason, "AlreadyExists");
  EXPECT_THAT(again.error().error.what, HasSubstr(name_));
  const auto patched = wait([&](OnObject on) {
    return client_->patch({mine(), {}}, Patch::merge, R"({"data":{"key":null,"other":"three"}})",
                          std::move(on));
  });
  ASSERT_TRUE(patched) << patched.error().error.what;
  EXPECT_THAT(*patched, HasSubstr(R"("data":{"other":"three"})"));
  const std::string applied = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name_ +
                              R"("},"data":{"other":"four"}})";
  const auto apply = [&](bool force) {
    return wait([&](OnObject on) {
      return client_->patch({mine(), {}}, Patch::apply, applied, std::move(on), force);
    });
  };
  EXPECT_TRUE(apply(true));
  ASSERT_TRUE(wait([&](OnObject on) { return client_->remove({mine(), {}}, "", std::move(on)); }));
  EXPECT_EQ(get(mine()).error().status, 404);
}

TEST_F(KubeClientTest, is_told_what_it_may_not) {
  client_->use(
      net::TlsContext::make(
          {.authorities = {}, .certificate = {}, .key = {}, .server_name = {}, .trusts_any_server = true})
          .value());
  EXPECT_EQ(get("/api/v1/nodes").error().status, 403);
  client_->use_token("made.up.token");
  EXPECT_EQ(get("/api/v1/nodes").error().status, 401);
}

TEST_F(KubeClientTest, remembers_objects_as_they_are) {
  const std::string claims = "/api/v1/namespaces/default/persistentvolumeclaims";
  const std::string claim = R"({"metadata":{"name":")" + name_ +
                            R"("},"spec":{"storageClassName":"none","accessModes":["ReadWriteOnce"],)" +
                            R"("resources":{"requests":{"storage":"1Mi"}}}})";
  const std::string key = "default/" + name_;
  net::Exchange step;
  const OnObject nothing = [](const ApiResult<std::string>& done) {
    EXPECT_TRUE(done) << done.error().error.what;
  };
  bool was_there = false;
  bool is_gone = false;
  std::optional<ObjectCache<PersistentVolumeClaim>> cache;
  cache.emplace(static_cast<PersistentVolumeClaim (*)(const JsonObject&)>(parse_claim),
                ObjectCache<PersistentVolumeClaim>::Options{
                    .on_changed =
                        [&](const std::string& changed) {
                          if (changed != key) return;
                          const auto* known = cache->find("default", name_);
                          is_gone = was_there && known == nullptr;
                          if (is_gone) loop_.stop();
                          if (known != nullptr && !known->meta.is_deleting && !std::exchange(was_there, true))
                            step = client_->remove({claims + "/" + name_, {}}, "", nothing);
                        },
                    .on_synced =
                        [&] {
                          step = client_->create({claims, {}}, claim, nothing);
                        }});
  WatchOptions options;
  options.list = {claims, {}};
  Watch watch(loop_, *client_, options, cache->events(), [] { return 0.5; });
  watch.start();
  const auto patience = loop_.after(net::testing::kPatience, [this] { loop_.stop(); });
  loop_.run();
  EXPECT_TRUE(was_there);
  EXPECT_TRUE(is_gone);
}

TEST_F(KubeClientTest, says_who_serves_a_service) {
  class : public Clock {
   public:
    [[nodiscard]] Instant now() const override { return {}; }
  } const clock;
  ServiceEndpoints endpoints(*client_, clock, "default", "kubernetes", 1h);
  std::vector<Endpoint> told;
  for (int i = 0; i < 2; ++i) {
    const auto patience = loop_.after(net::testing::kPatience, [this] { loop_.stop(); });
    bool is_told = false;
    bool runs = false;
    endpoints.get([&](const Result<std::vector<Endpoint>>& answer) {
      ASSERT_TRUE(answer) << answer.error().what;
      told = *answer;
      is_told = true;
      if (runs) loop_.stop();  // otherwise it would end the next run
    });
    runs = true;
    if (!is_told) loop_.run();
  }
  ASSERT_EQ(told.size(), 1U) << "the API server itself";
  EXPECT_TRUE(told.front().is_ready);
  EXPECT_NE(told.front().address, "");
  EXPECT_EQ(endpoints.lists(), 1U);
}

TEST_F(KubeClientTest, follows_what_happens_to_an_object) {
  std::vector<std::string> told;
  WatchOptions options;
  options.list = {kMaps, {{"fieldSelector", "metadata.name=" + name_}}};
  options.serve = 2s;
  const auto value_of = [](const JsonObject& object) { return parse_meta(object).annotations["key"]; };
  net::Exchange step;
  const auto next = [&](std::string word) {
    told.push_back(std::move(word));
    const OnObject nothing = [](const ApiResult<std::string>& done) {
      EXPECT_TRUE(done) << done.error().error.what;
    };
    const auto path = ApiPath{mine(), {}};
    if (told.back() == "end")
      step = client_->create(
          {kMaps, {}}, R"({"metadata":{"name":")" + name_ + R"(","annotations":{"key":"one"}}})", nothing);
    else if (told.back() == "changed one")
      step = client_->patch(path, Patch::merge, R"({"metadata":{"annotations":{"key":"two"}}})", nothing);
    else if (told.back() == "changed two")
      step = client_->remove(path, "", nothing);
    else
      loop_.stop();
  };
  WatchEvents events;
  events.on_list_begin = [] {};
  events.on_listed = [](const auto&) { FAIL() << "there is none yet"; };
  events.on_list_end = [&] { next("end"); };
  // Later than the server has ended the watch once, so that the next one goes on where it was.
  std::vector<net::Subscription> pauses;
  events.on_changed = [&](const auto& object) {
    pauses.push_back(loop_.after(3s, [&, word = "changed " + value_of(object)] { next(word); }));
  };
  events.on_removed = [&](const auto&) { next("removed"); };
  events.on_problem = [](const ApiError& error) { ADD_FAILURE() << error.error.what; };
  Watch watch(loop_, *client_, options, events, [] { return 0.5; });
  watch.start();
  const auto patience = loop_.after(net::testing::kPatience, [this] { loop_.stop(); });
  loop_.run();
  EXPECT_THAT(told, ElementsAre("end", "changed one", "changed two", "removed"));
  EXPECT_EQ(watch.lists(), 1U);
  EXPECT_GE(watch.watches(), 2U);
}

}  // namespace
}  // namespace autopilot::kube
