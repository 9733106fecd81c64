// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/service/selected_nodes.hpp"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/kube/scripted_api.hpp"

namespace autopilot::compat::ibm_autopilot {
namespace {

using namespace std::chrono_literals;
using net::testing::answer;
using net::testing::Scripted;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

Scripted page(const std::string& items, const std::string& rest = "") {
  return {answer(200, R"({"metadata":{"continue":")" + rest + R"("},"items":[)" + items + "]}")};
}
std::string node(const std::string& name) {
  return R"({"metadata":{"name":")" + name + R"("}})";
}
std::string pod(const std::string& node) {
  return R"({"metadata":{"name":"p"},"spec":{"nodeName":")" + node + R"("},"status":{"phase":"Succeeded"}})";
}

class SelectedNodesTest : public kube::testing::ScriptedApi {
 protected:
  void script(std::vector<Scripted> script) {
    serve(std::move(script));
    nodes_ = std::make_unique<SelectedNodes>(*client_, clock_);
  }
  // "a b", or what is wrong.
  std::string labeled(const std::string& selector) {
    return ask([&](SelectedNodes::OnNames on_names) { nodes_->labeled(selector, std::move(on_names)); });
  }
  std::string of_pods(const std::string& name_space, const std::string& selector) {
    return ask(
        [&](SelectedNodes::OnNames on_names) { nodes_->of_pods(name_space, selector, std::move(on_names)); });
  }
  std::string ask(const std::function<void(SelectedNodes::OnNames)>& begin) {
    std::optional<std::string> told;
    begin([&told](const Result<SelectedNodes::Names>& names) {
      told = names ? "" : names.error().what;
      if (names)
        for (const std::string& name : *names)
          *told += (told->empty() ? "" : " ") + name;
    });
    EXPECT_TRUE(net::testing::run_until(loop_, [&told] { return told.has_value(); }));
    return told.value_or("");
  }

  std::unique_ptr<SelectedNodes> nodes_;
};

TEST_F(SelectedNodesTest, all_pages_of_nodes_are_read_and_remembered_for_seconds) {
  script({page(node("b") + "," + node("a"), "next"), page(node("c")), page(node("d"))});
  EXPECT_EQ(labeled("rack in (7,8)"), "a b c");
  EXPECT_THAT(server_->requests()[0],
              AllOf(StartsWith("GET /api/v1/nodes?"), HasSubstr("labelSelector=rack%20in%20%287%2C8%29"),
                    HasSubstr("limit=100")));
  EXPECT_THAT(server_->requests()[1], HasSubstr("continue=next"));
  clock_.time = 9s;
  EXPECT_EQ(labeled("rack in (7,8)"), "a b c");
  clock_.time = 10s;
  EXPECT_EQ(labeled("rack in (7,8)"), "d");
}

TEST_F(SelectedNodesTest, pods_name_their_nodes_also_those_that_ended) {
  script({page(pod("a") + "," + pod("") + "," + pod("a") + "," + pod("b"))});
  EXPECT_EQ(of_pods("team-a", "app=x"), "a b");
  EXPECT_THAT(server_->requests()[0], StartsWith("GET /api/v1/namespaces/team-a/pods?"));
}

TEST_F(SelectedNodesTest, what_could_not_be_listed_is_said_and_not_remembered) {
  script({{answer(400, R"({"kind":"Status","message":"unable to parse requirement"})")}, page(node("a"))});
  EXPECT_THAT(labeled("a b"), HasSubstr("unable to parse requirement"));
  EXPECT_EQ(labeled("a b"), "a");
}

TEST_F(SelectedNodesTest, a_list_without_end_is_left) {
  script(std::vector<Scripted>(SelectedNodes::kMostPages, page(node("a"), "more")));
  EXPECT_EQ(labeled("a"), "more than 5000 objects are selected");
  EXPECT_THAT(server_->requests(), SizeIs(SelectedNodes::kMostPages));
}

TEST_F(SelectedNodesTest, few_look_at_once) {
  script({page(node("a")), page(node("b"))});
  std::vector<std::string> told;
  for (const char* selector : {"a", "b", "c"})
    nodes_->labeled(selector, [&told](const Result<SelectedNodes::Names>& names) {
      told.push_back(names ? *names->begin() : names.error().what);
    });
  EXPECT_THAT(told, ::testing::ElementsAre("too many look for nodes at once; try again"));
  EXPECT_TRUE(net::testing::run_until(loop_, [&told] { return told.size() == 3; }));
}

}  // namespace
}  // namespace autopilot::compat::ibm_autopilot
