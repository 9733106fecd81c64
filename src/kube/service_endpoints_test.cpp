// SPDX-License-Identifier: Apache-2.0
#include "kube/service_endpoints.hpp"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/kube/scripted_api.hpp"

namespace autopilot::kube {
namespace {

using namespace std::chrono_literals;
using net::testing::answer;
using net::testing::Scripted;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

std::string slice(const std::string& endpoints) {
  return R"({"metadata":{"name":"x"},"addressType":"IPv4","endpoints":[)" + endpoints + "]}";
}
std::string endpoint(const std::string& address, const std::string& conditions = "{}") {
  return R"({"addresses":[")" + address + R"("],"conditions":)" + conditions + R"(,"nodeName":"n-)" +
         address + R"(","targetRef":{"kind":"Pod","name":"p-)" + address + R"("}})";
}
Scripted slices(const std::string& items) {
  return {answer(200, R"({"items":[)" + items + "]}")};
}

class ServiceEndpointsTest : public testing::ScriptedApi {
 protected:
  void script(std::vector<Scripted> script) {
    serve(std::move(script));
    endpoints_ = std::make_unique<ServiceEndpoints>(*client_, clock_, "autopilot", "agents");
  }
  // What so many who ask at once are told: the addresses, with "-" before those that are not ready.
  std::vector<std::string> ask(int times = 1) {
    std::vector<std::string> told;
    bool runs = false;
    for (int i = 0; i < times; ++i)
      endpoints_->get([&, times](const Result<std::vector<Endpoint>>& endpoints) {
        std::string text = endpoints ? "" : endpoints.error().what;
        if (endpoints)
          for (const Endpoint& one : *endpoints)
            text += (text.empty() ? "" : " ") + std::string(one.is_ready ? "" : "-") + one.address;
        told.push_back(text);
        if (runs && told.size() == static_cast<std::size_t>(times)) loop_.stop();
      });
    if (told.size() == static_cast<std::size_t>(times)) return told;
    const auto patience = loop_.after(net::testing::kPatience, [this] { loop_.stop(); });
    runs = true;
    loop_.run();
    return told;
  }

  std::unique_ptr<ServiceEndpoints> endpoints_;
};

TEST_F(ServiceEndpointsTest, each_address_is_there_once_and_ready_where_one_slice_says_so) {
  script({slices(
      slice(endpoint("10.0.0.2", R"({"ready":false})") + "," + endpoint("10.0.0.1")) + "," +
      slice(endpoint("10.0.0.2", R"({"ready":true})") + "," + endpoint("10.0.0.3", R"({"ready":false})")))});
  EXPECT_THAT(ask(), ElementsAre("10.0.0.1 10.0.0.2 -10.0.0.3"));
  EXPECT_THAT(server_->requests().front(),
              AllOf(HasSubstr("GET /apis/discovery.k8s.io/v1/namespaces/autopilot/endpointslices?"),
                    HasSubstr("labelSelector=kubernetes.io%2Fservice-name%3Dagents")));
}

TEST_F(ServiceEndpointsTest, each_serves_the_ports_that_its_slices_name) {
  const auto with_ports = [](const std::string& endpoints, const std::string& ports) {
    return R"({"addressType":"IPv4","endpoints":[)" + endpoints + R"(],"ports":[)" + ports + "]}";
  };
  const std::string api = R"({"name":"api","port":3333})";
  const std::string tls = R"({"name":"tls","port":3334})";
  script({slices(with_ports(endpoint("10.0.0.1") + "," + endpoint("10.0.0.2"), api) + "," +
                 with_ports(endpoint("10.0.0.2"), tls))});
  std::vector<Endpoint> seen;
  endpoints_->get([&](const Result<std::vector<Endpoint>>& endpoints) { seen = endpoints.value(); });
  ASSERT_TRUE(net::testing::run_until(loop_, [&] { return !seen.empty(); }));
  ASSERT_THAT(seen, SizeIs(2));
  EXPECT_THAT(seen[0].ports, ElementsAre("api"));
  EXPECT_THAT(seen[1].ports, UnorderedElementsAre("api", "tls"));
}

TEST_F(ServiceEndpointsTest, the_list_is_remembered_for_seconds_and_shared_by_those_who_ask_at_once) {
  script({slices(slice(endpoint("10.0.0.1"))), slices(slice(endpoint("10.0.0.9")))});
  EXPECT_THAT(ask(3), ElementsAre("10.0.0.1", "10.0.0.1", "10.0.0.1"));
  clock_.time = 9s;
  EXPECT_THAT(ask(), ElementsAre("10.0.0.1"));
  EXPECT_EQ(endpoints_->lists(), 1U);
  clock_.time = 10s;
  EXPECT_THAT(ask(), ElementsAre("10.0.0.9"));
  EXPECT_EQ(endpoints_->lists(), 2U);
}

TEST_F(ServiceEndpointsTest, an_error_is_told_and_not_remembered) {
  script({{answer(403, R"({"kind":"Status","message":"not yours"})")},
          {answer(200, "no JSON")},
          slices(slice(endpoint("10.0.0.1")))});
  EXPECT_THAT(ask(), ElementsAre(HasSubstr("not yours")));
  EXPECT_THAT(ask(), ElementsAre(HasSubstr("JSON")));
  EXPECT_THAT(ask(), ElementsAre("10.0.0.1"));
}

}  // namespace
}  // namespace autopilot::kube
