// SPDX-License-Identifier: Apache-2.0

#include "kube/watch.hpp"

#include <boost/json.hpp>
#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "kube/json_object.hpp"
#include "kube/json_path.hpp"
#include "tests/support/net/test_server.hpp"

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

using ::testing::IsEmpty;

class ObjectCacheTest : public ::testing::Test {
 protected:
  static boost::json::object pod(const std::string& name, int version, const std::string& uid = "u") {
    return {{"metadata", boost::json::object{{"name", name},
                                             {"namespace", "ml"},
                                             {"uid", uid},
                                             {"resourceVersion", std::to_string(version)}}}};
  }
  void list(const std::vector<boost::json::object>& pods) {
    events_.on_list_begin();
    for (const auto& one : pods)
      events_.on_listed({one});
    events_.on_list_end();
  }
  void changed(const boost::json::object& one) { events_.on_changed({one}); }
  void removed(const boost::json::object& one) { events_.on_removed({one}); }
  [[nodiscard]] std::vector<std::string> keys() const {
    std::vector<std::string> keys;
    for (const auto& [key, object] : cache_.objects())
      keys.push_back(key + " " + object.meta.version);
    return keys;
  }
  [[nodiscard]] std::vector<std::string> take_told() { return std::exchange(told_, {}); }

  // g++ 12 crashes over designated initializers in the initializer of a member.
  [[nodiscard]] ObjectCache<Pod>::Options options() {
    ObjectCache<Pod>::Options options;
    options.most = 3;
    options.on_changed = [this](const std::string& key) { told_.push_back(key); };
    options.on_synced = [this] { told_.emplace_back("synced"); };
    return options;
  }

  std::vector<std::string> told_;
  ObjectCache<Pod> cache_{static_cast<Pod (*)(const JsonObject&)>(parse_pod), options()};
  WatchEvents events_ = cache_.events();
};

TEST_F(ObjectCacheTest, holds_what_was_listed_and_follows_the_changes) {
  EXPECT_FALSE(cache_.is_synced());
  list({pod("a", 1), pod("b", 2)});
  EXPECT_TRUE(cache_.is_synced());
  EXPECT_THAT(take_told(), ElementsAre("ml/a", "ml/b", "synced"));
  changed(pod("a", 3));
  removed(pod("b", 4));
  changed(pod("c", 5));
  EXPECT_THAT(take_told(), ElementsAre("ml/a", "ml/b", "ml/c"));
  EXPECT_THAT(keys(), ElementsAre("ml/a 3", "ml/c 5"));
  EXPECT_EQ(cache_.find("ml", "a")->meta.version, "3");
  EXPECT_EQ(cache_.find("ml", "b"), nullptr);
  removed(pod("b", 4));
  EXPECT_THAT(take_told(), IsEmpty()) << "it was gone";
}

TEST_F(ObjectCacheTest, a_new_list_tells_only_what_differs) {
  list({pod("a", 1), pod("b", 2), pod("c", 3)});
  EXPECT_EQ(take_told().size(), 4U);
  list({pod("b", 2), pod("c", 9), pod("d", 8)});
  EXPECT_THAT(take_told(), ElementsAre("ml/a", "ml/c", "ml/d", "synced")) << "who goes comes first";
  list({pod("b", 2, "another"), pod("c", 9), pod("d", 8)});
  EXPECT_THAT(take_told(), ElementsAre("ml/b", "synced")) << "made anew under its name";
}

TEST_F(ObjectCacheTest, the_old_list_stands_until_the_new_one_is_whole) {
  list({pod("a", 1)});
  events_.on_list_begin();
  const auto other = pod("b", 2);
  events_.on_listed({other});
  EXPECT_THAT(keys(), ElementsAre("ml/a 1"));
  // It was cut, and begins again.
  list({pod("c", 3)});
  EXPECT_THAT(keys(), ElementsAre("ml/c 3"));
}

TEST_F(ObjectCacheTest, of_too_many_the_later_ones_are_left_out_and_counted) {
  list({pod("a", 1), pod("b", 1), pod("c", 1), pod("d", 1)});
  changed(pod("e", 2));
  changed(pod("a", 2));
  EXPECT_THAT(keys(), ElementsAre("ml/a 2", "ml/b 1", "ml/c 1"));
  EXPECT_EQ(cache_.left_out(), 2U);
  list({pod("a", 2)});
  EXPECT_EQ(cache_.left_out(), 0U);
}

TEST_F(ObjectCacheTest, says_why_it_grows_old_until_something_is_told_again) {
  list({pod("a", 1)});
  events_.on_problem({.error = {Errc::unavailable, "away"}});
  ASSERT_TRUE(cache_.problem());
  EXPECT_EQ(cache_.problem()->what, "away");
  EXPECT_THAT(keys(), ElementsAre("ml/a 1"));
  events_.on_current();
  EXPECT_FALSE(cache_.problem());
}

class WrittenObjectTest : public ObjectCacheTest {
 protected:
  void written(const boost::json::object& one, bool is_new = false) {
    cache_.note_written(parse_pod(JsonObject{one}), is_new);
  }
};

TEST_F(WrittenObjectTest, what_was_written_is_seen_at_once_and_not_taken_back_by_older_news) {
  list({pod("a", 1)});
  told_.clear();
  written(pod("a", 9));
  EXPECT_THAT(take_told(), ElementsAre("ml/a"));
  changed(pod("a", 5));
  EXPECT_THAT(keys(), ElementsAre("ml/a 9")) << "told late";
  changed(pod("a", 9));
  changed(pod("a", 12));
  EXPECT_THAT(keys(), ElementsAre("ml/a 12"));
}

TEST_F(WrittenObjectTest, a_list_from_before_the_write_does_not_take_it_back) {
  list({pod("a", 1)});
  written(pod("a", 9));
  list({pod("a", 5)});
  EXPECT_THAT(keys(), ElementsAre("ml/a 9"));
  list({pod("a", 10)});
  list({pod("a", 11)});
  EXPECT_THAT(keys(), ElementsAre("ml/a 11"));
}

TEST_F(WrittenObjectTest, an_answer_that_comes_after_the_deletion_brings_nothing_back) {
  list({pod("a", 1)});
  removed(pod("a", 8));
  written(pod("a", 7));
  EXPECT_THAT(keys(), IsEmpty());
  written(pod("b", 9), true);
  EXPECT_THAT(keys(), ElementsAre("ml/b 9"));
}

TEST(WantedObjects, are_kept_alone_whichever_way_they_come) {
  ObjectCache<Pod> cache{static_cast<Pod (*)(const JsonObject&)>(parse_pod),
                         {.is_wanted = [](const Pod& pod) { return pod.meta.labels.contains("autopilot"); }}};
  const WatchEvents events = cache.events();
  const auto pod = [](bool is_ours) {
    boost::json::object meta{{"name", "a"}, {"namespace", "ml"}};
    if (is_ours) meta["labels"] = boost::json::object{{"autopilot", ""}};
    return boost::json::object{{"metadata", meta}};
  };
  const auto ours = pod(true);
  const auto other = pod(false);
  events.on_list_begin();
  events.on_listed({other});
  events.on_list_end();
  EXPECT_EQ(cache.objects().size(), 0U);
  events.on_changed({ours});
  EXPECT_EQ(cache.objects().size(), 1U);
  events.on_changed({other});
  EXPECT_EQ(cache.objects().size(), 0U) << "it lost its label";
}

TEST(CacheKey, is_the_name_of_what_has_no_namespace) {
  EXPECT_EQ(cache_key("", "gpu-7"), "gpu-7");
  EXPECT_EQ(cache_key("ml", "train-0"), "ml/train-0");
}

}  // namespace

}  // namespace autopilot::kube
