// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/clock.hpp"
#include "core/parse.hpp"
#include "core/result.hpp"
#include "kube/client.hpp"
#include "kube/objects.hpp"
#include "kube/pacing.hpp"
#include "net/event_loop.hpp"

namespace autopilot::kube {

struct JsonObject;  // json_object.hpp

// Callbacks of a watch, in order. After on_list() the objects of the list are complete; on_changed() and
// on_removed() continue from there.
struct WatchEvents {
  std::function<void()> on_list_begin;
  std::function<void(const JsonObject& object)> on_listed;
  std::function<void()> on_list_end;
  std::function<void(const JsonObject& object)> on_changed;  // added or changed
  std::function<void(const JsonObject& object)> on_removed;
  // All changes until now are reported, also if there were none: about once a minute.
  std::function<void()> on_current = [] {};
  // The data is out of date from now on, until the next call of another callback. Called at each failure.
  std::function<void(const ApiError& error)> on_problem;
};

struct WatchOptions {
  ApiPath list;  // with selectors in its query
  std::size_t page = 500;
  // Every list is a consistent read from the server's store, not from the cache of one server. It costs the
  // cluster more.
  bool is_exact = false;
  Duration serve = std::chrono::minutes{5};     // requested duration of one watch
  Duration silence = std::chrono::seconds{90};  // longest time without a byte, including bookmarks
  Duration between_lists = std::chrono::seconds{10};
  BackOffTimes back_off;
};

// Lists once, then follows changes: after closed watches, silence and server restarts it continues from its
// last version. It lists again only if the server no longer has that version (410), and at most once per
// `between_lists`. On the loop's thread. Ends with its destruction.
class Watch {
 public:
  // random: in [0, 1), for the jitter of pauses.
  Watch(net::EventLoop& loop, Client& client, WatchOptions options, WatchEvents events,
        std::function<double()> random);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() = default;

  void start();
  // False until the first list is complete.
  [[nodiscard]] bool is_synced() const { return is_synced_; }
  // Number of started lists and watches.
  [[nodiscard]] std::uint64_t lists() const { return lists_; }
  [[nodiscard]] std::uint64_t watches() const { return watches_; }

 private:
  void list_when_allowed();
  void list_page(const std::string& from);
  void take_page(const ApiResult<std::string>& page);
  void follow();
  void take_line(std::string_view line);
  void give_up_on_watch(const ApiError& why);
  void take_end(const std::optional<ApiError>& why);
  void retry(const ApiError& error, std::function<void()> step);

  net::EventLoop& loop_;
  Client& client_;
  const WatchOptions options_;
  const WatchEvents events_;
  const std::function<double()> random_;

  net::Exchange exchange_;
  net::Subscription pause_;
  net::Subscription list_again_;  // active while a list must wait
  BackOff back_off_;
  std::string version_;      // start of the next watch
  bool wants_list_ = false;  // list as soon as allowed
  bool is_exact_ = false;    // the next list must be a consistent read, not from the server's cache
  bool is_first_page_ = false;
  bool is_synced_ = false;
  bool has_news_ = false;  // the watch in progress has delivered data
  std::uint64_t lists_ = 0;
  std::uint64_t watches_ = 0;
};

// "ml/train-0", and "gpu-7" for a cluster-scoped object.
[[nodiscard]] inline std::string cache_key(std::string_view name_space, std::string_view name) {
  return name_space.empty() ? std::string(name) : std::string(name_space) + '/' + std::string(name);
}

// The last known state of the objects that a Watch follows, reduced to T (T::meta is its Meta). Readers
// always get a complete list: while a new list arrives, the old one remains. On one thread.
template <class T>
class ObjectCache {
 public:
  using Objects = std::map<std::string, T, std::less<>>;
  struct Options {
    std::size_t most = 100'000;  // beyond, later objects are left out and counted
    // Other objects are not kept. The result can change with each version of an object.
    std::function<bool(const T& object)> is_wanted = [](const T&) { return true; };
    // The object was added, changed or removed. Not called for unchanged objects of a new list.
    std::function<void(const std::string& key)> on_changed = [](const std::string&) {};
    std::function<void()> on_synced = [] {};  // after every list
    std::function<void()> on_heard = [] {};   // whenever the watch shows that it is alive
  };

  ObjectCache(T (*parse)(const JsonObject& object), Options options)
      : parse_(parse), options_(std::move(options)) {}
  ObjectCache(const ObjectCache&) = delete;
  ObjectCache& operator=(const ObjectCache&) = delete;
  ~ObjectCache() = default;

  // For the Watch, which must be destroyed before this object.
  [[nodiscard]] WatchEvents events() {
    WatchEvents events;
    events.on_list_begin = [this] {
      listed_.clear();
      left_out_ = 0;
    };
    events.on_listed = [this](const JsonObject& object) { list(parse_(object)); };
    events.on_list_end = [this] { take_list(); };
    events.on_changed = [this](const JsonObject& object) { put(parse_(object)); };
    events.on_removed = [this](const JsonObject& object) { remove(key_of(parse_(object))); };
    events.on_current = [this] { hear(); };
    events.on_problem = [this](const ApiError& error) { problem_ = error.error; };
    return events;
  }

  // Records the server's response to our own write. Older versions from the watch are ignored until the watch
  // catches up. An object that is missing here was deleted meanwhile, unless it `is_new`.
  void note_written(T object, bool is_new = false) {
    std::string key = key_of(object);
    if (!is_new && !objects_.contains(key)) return;
    written_.insert_or_assign(key, object.meta.version);
    if (options_.is_wanted(object) && keep(objects_, std::move(object))) options_.on_changed(key);
  }

  // Null: missing or unknown.
  [[nodiscard]] const T* find(std::string_view name_space, std::string_view name) const {
    const auto found = objects_.find(cache_key(name_space, name));
    return found == objects_.end() ? nullptr : &found->second;
  }
  // By cache_key.
  [[nodiscard]] const Objects& objects() const { return objects_; }
  // False until the first list is complete: a missing object can exist.
  [[nodiscard]] bool is_synced() const { return is_synced_; }
  // Why the objects are not up to date; nullopt: they are.
  [[nodiscard]] const std::optional<Error>& problem() const { return problem_; }
  // Objects left out since the last list began.
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

 private:
  // Versions of an API server are numbers; others cannot be ordered.
  [[nodiscard]] bool is_older_than_ours(const std::string& key, const T& object) const {
    const auto ours = written_.find(key);
    if (ours == written_.end()) return false;
    const auto known = parse_number<std::uint64_t>(ours->second);
    const auto told = parse_number<std::uint64_t>(object.meta.version);
    return known && told && *told < *known;
  }

  // The watch is alive.
  void hear() {
    problem_.reset();
    options_.on_heard();
  }

  static std::string key_of(const T& object) { return cache_key(object.meta.name_space, object.meta.name); }

  // False: the limit is reached.
  bool keep(Objects& objects, T object) {
    std::string key = key_of(object);
    if (objects.size() >= options_.most && !objects.contains(key)) {
      ++left_out_;
      return false;
    }
    objects.insert_or_assign(std::move(key), std::move(object));
    return true;
  }

  void list(T object) {
    const std::string key = key_of(object);
    if (is_older_than_ours(key, object)) {
      const auto ours = objects_.find(key);
      if (ours != objects_.end()) keep(listed_, ours->second);
      return;
    }
    written_.erase(key);
    if (options_.is_wanted(object)) keep(listed_, std::move(object));
  }

  void put(T object) {
    hear();
    const std::string key = key_of(object);
    if (is_older_than_ours(key, object)) return;
    written_.erase(key);
    if (!options_.is_wanted(object)) {
      if (objects_.erase(key) > 0) options_.on_changed(key);
      return;
    }
    if (keep(objects_, std::move(object))) options_.on_changed(key);
  }

  void remove(const std::string& key) {
    hear();
    written_.erase(key);
    if (objects_.erase(key) > 0) options_.on_changed(key);
  }

  void take_list() {
    hear();
    const Objects before = std::exchange(objects_, std::exchange(listed_, {}));
    is_synced_ = true;
    // Removals are reported before additions, because an addition can replace a removed object.
    for (const auto& [key, object] : before)
      if (!objects_.contains(key)) options_.on_changed(key);
    for (const auto& [key, object] : objects_) {
      const auto known = before.find(key);
      if (known == before.end() || known->second.meta.version != object.meta.version ||
          known->second.meta.uid != object.meta.uid)
        options_.on_changed(key);
    }
    options_.on_synced();
  }

  T (*const parse_)(const JsonObject& object);
  const Options options_;
  Objects objects_;
  Objects listed_;  // of the list that is arriving
  std::map<std::string, std::string, std::less<>>
      written_;  // versions that we wrote and the watch has not reported
  bool is_synced_ = false;
  std::optional<Error> problem_;
  std::uint64_t left_out_ = 0;
};

}  // namespace autopilot::kube
