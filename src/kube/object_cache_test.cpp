// SPDX-License-Identifier: Apache-2.0
#include "kube/object_cache.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "kube/json_object.hpp"

namespace autopilot::kube {
namespace {

using ::testing::ElementsAre;
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
