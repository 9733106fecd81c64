// SPDX-License-Identifier: Apache-2.0
#include "kube/watch.hpp"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "kube/json_object.hpp"
#include "kube/object_text.hpp"
#include "net/scripted_server.hpp"
#include "net/test_server.hpp"

namespace autopilot::kube {
namespace {

using namespace std::chrono_literals;
using net::testing::answer;
using net::testing::pieces;
using net::testing::Scripted;
using net::testing::ScriptedServer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string pod(const std::string& name, int version) {
  return R"({"metadata":{"name":")" + name + R"(","resourceVersion":")" + std::to_string(version) + R"("}})";
}

std::string list(const std::vector<std::string>& pods, int version, const std::string& rest = "") {
  std::string items;
  for (const std::string& one : pods)
    items += (items.empty() ? "" : ",") + one;
  return answer(200, R"({"metadata":{"resourceVersion":")" + std::to_string(version) + R"(","continue":")" +
                         rest + R"("},"items":[)" + items + "]}");
}

std::string event(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}";
}

const std::string kExpired = R"({"kind":"Status","code":410,"reason":"Expired","message":"too old"})";

class WatchTest : public ::testing::Test {
 protected:
  // Runs a watch against the script until as much was told.
  std::vector<std::string> tell(std::vector<Scripted> script, std::size_t enough) {
    server_ = std::make_unique<ScriptedServer>(std::move(script));
    Client client(loop_, {false, "127.0.0.1", server_->port(), ""}, {"test", "test"});
    WatchOptions options;
    options.list.path = "/api/v1/pods";
    options.list.query["fieldSelector"] = "spec.nodeName=node-1";
    options.silence = silence_;
    options.is_exact = is_exact_;
    options.between_lists = 1ms;
    options.back_off.first = 1ms;
    options.back_off.last = 5ms;
    const auto note = [this, enough](const std::string& word) {
      told_.push_back(word);
      if (told_.size() >= enough) loop_.stop();
    };
    const auto name = [](const JsonObject& object) {
      return std::string(text_at(object.value, {"metadata", "name"}));
    };
    WatchEvents events;
    events.on_list_begin = [&] { note("begin"); };
    events.on_listed = [&](const auto& object) { note("listed " + name(object)); };
    events.on_list_end = [&] { note("end"); };
    events.on_changed = [&](const auto& object) { note("changed " + name(object)); };
    events.on_removed = [&](const auto& object) { note("removed " + name(object)); };
    events.on_current = [&] { note("current"); };
    events.on_problem = [&](const ApiError& error) {
      problems_.push_back(error.error.what);
      note("problem " + std::to_string(error.status));
    };
    Watch watch(loop_, client, options, events, [] { return 0.5; });
    EXPECT_FALSE(watch.is_synced());
    watch.start();
    const auto patience = loop_.after(net::testing::kPatience, [this] { loop_.stop(); });
    loop_.run();
    return told_;
  }
  // The first line of a request.
  [[nodiscard]] std::string line(std::size_t which) const {
    const auto all = server_->requests();
    return which < all.size() ? all[which].substr(0, all[which].find('\r')) : "";
  }

  net::EventLoop loop_;
  std::unique_ptr<ScriptedServer> server_;
  std::vector<std::string> told_;
  std::vector<std::string> problems_;
  Duration silence_ = 20s;
  bool is_exact_ = false;
};

TEST_F(WatchTest, lists_and_follows) {
  const auto told = tell(
      {{list({pod("a", 3), pod("b", 4)}, 7)},
       {pieces({event("ADDED", pod("c", 8)), event("MODIFIED", pod("a", 9)), event("DELETED", pod("b", 10))},
               true)}},
      7);
  EXPECT_THAT(told,
              ElementsAre("begin", "listed a", "listed b", "end", "changed c", "changed a", "removed b"));
  EXPECT_THAT(line(0), HasSubstr("fieldSelector=spec.nodeName%3Dnode-1"));
  EXPECT_THAT(line(0), HasSubstr("resourceVersion=0"));
  EXPECT_THAT(line(1), HasSubstr("watch=true"));
  EXPECT_THAT(line(1), HasSubstr("resourceVersion=7"));
  EXPECT_THAT(line(1), HasSubstr("allowWatchBookmarks=true"));
}

TEST_F(WatchTest, asks_for_the_newest_list_where_an_older_one_will_not_do) {
  is_exact_ = true;
  tell({{list({pod("a", 3)}, 7)}, {pieces({}, false), true}}, 3);
  EXPECT_THAT(line(0), Not(HasSubstr("resourceVersion")));
}

TEST_F(WatchTest, takes_a_long_list_in_pages) {
  const auto told =
      tell({{list({pod("a", 3)}, 7, "more")}, {list({pod("b", 4)}, 7)}, {pieces({}, false), true}}, 4);
  EXPECT_THAT(told, ElementsAre("begin", "listed a", "listed b", "end"));
  EXPECT_THAT(line(1), HasSubstr("continue=more"));
  EXPECT_THAT(line(1), Not(HasSubstr("resourceVersion")));
}

TEST_F(WatchTest, goes_on_where_a_cut_watch_was) {
  const auto told = tell({{list({}, 7)},
                          {pieces({event("ADDED", pod("a", 8)), event("BOOKMARK", pod("", 20))}, false)},
                          {pieces({event("ADDED", pod("b", 21))}, true)}},
                         6);
  EXPECT_THAT(told, ElementsAre("begin", "end", "changed a", "current", "problem 0", "changed b"));
  EXPECT_THAT(line(2), HasSubstr("resourceVersion=20"));
}

TEST_F(WatchTest, goes_on_without_a_word_after_a_watch_that_ended_in_its_time) {
  const auto told =
      tell({{list({}, 7)}, {pieces({}, true)}, {pieces({event("ADDED", pod("a", 8))}, true)}}, 3);
  EXPECT_THAT(told, ElementsAre("begin", "end", "changed a"));
  EXPECT_THAT(line(2), HasSubstr("resourceVersion=7"));
}

TEST_F(WatchTest, lists_again_what_the_server_has_forgotten) {
  for (const bool is_within : {true, false}) {
    told_.clear();
    const Scripted gone =
        is_within ? Scripted{pieces({event("ERROR", kExpired)}, true)} : Scripted{answer(410, kExpired)};
    const auto told = tell({{list({pod("a", 3)}, 7)}, gone, {list({pod("b", 30)}, 31)}}, 6);
    EXPECT_THAT(told, ElementsAre("begin", "listed a", "end", "begin", "listed b", "end"));
    // The newest, not what the server remembers.
    EXPECT_THAT(line(2), Not(HasSubstr("resourceVersion")));
  }
}

TEST_F(WatchTest, a_list_that_is_forgotten_half_way_begins_anew) {
  const auto told =
      tell({{list({pod("a", 3)}, 7, "more")}, {answer(410, kExpired)}, {list({pod("a", 9)}, 9)}}, 6);
  EXPECT_THAT(told, ElementsAre("begin", "listed a", "problem 410", "begin", "listed a", "end"));
}

TEST_F(WatchTest, tries_again_what_is_refused_and_says_so) {
  const auto told =
      tell({{answer(403, R"({"kind":"Status","message":"pods is forbidden","reason":"Forbidden"})")},
            {answer(500, "oops")},
            {answer(200, "no JSON")},
            {list({}, 7)}},
           5);
  EXPECT_THAT(told, ElementsAre("problem 403", "problem 500", "problem 0", "begin", "end"));
  EXPECT_THAT(problems_.at(0), HasSubstr("GET /api/v1/pods: 403: pods is forbidden"));
  EXPECT_THAT(problems_.at(1), HasSubstr("oops"));
}

TEST_F(WatchTest, gives_a_silent_watch_up) {
  silence_ = 50ms;
  const auto told =
      tell({{list({}, 7)}, {pieces({}, false), true}, {pieces({event("ADDED", pod("a", 8))}, true)}}, 4);
  EXPECT_THAT(told, ElementsAre("begin", "end", "problem 0", "changed a"));
}

TEST_F(WatchTest, a_line_that_makes_no_sense_ends_the_watch) {
  const auto told = tell({{list({}, 7)},
                          {pieces({"nonsense", event("ADDED", pod("x", 8))}, false), true},
                          {pieces({event("ADDED", pod("a", 8))}, true)}},
                         4);
  EXPECT_THAT(told, ElementsAre("begin", "end", "problem 0", "changed a"));
}

}  // namespace
}  // namespace autopilot::kube
