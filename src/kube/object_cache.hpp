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

#include "core/parse.hpp"
#include "core/result.hpp"
#include "kube/objects.hpp"
#include "kube/watch.hpp"

namespace autopilot::kube {

// "ml/train-0", and "gpu-7" of what belongs to the whole cluster.
[[nodiscard]] inline std::string cache_key(std::string_view name_space, std::string_view name) {
  return name_space.empty() ? std::string(name) : std::string(name_space) + '/' + std::string(name);
}

// The objects that a Watch follows, as they were told last, of each what T keeps of it (T::meta is its Meta).
// Readers always see a whole list: while a new one comes in, the old one stands. On one thread.
template <class T>
class ObjectCache {
 public:
  using Objects = std::map<std::string, T, std::less<>>;
  struct Options {
    std::size_t most = 100'000;  // of more, those that come later are left out, and counted
    // Others are not kept. It may change its mind about an object with every version.
    std::function<bool(const T& object)> is_wanted = [](const T&) { return true; };
    // This object is there, is another version, or is gone. Not for what a new list tells as it was.
    std::function<void(const std::string& key)> on_changed = [](const std::string&) {};
    std::function<void()> on_synced = [] {};  // after every list
    std::function<void()> on_heard = [] {};   // whenever the watch has told that it lives
  };

  ObjectCache(T (*parse)(const JsonObject& object), Options options)
      : parse_(parse), options_(std::move(options)) {}
  ObjectCache(const ObjectCache&) = delete;
  ObjectCache& operator=(const ObjectCache&) = delete;
  ~ObjectCache() = default;

  // For the Watch, which this must outlive.
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

  // What the server answered to a write of ours. Until the watch tells as much, what it tells is older and
  // not taken for true. One that is not here was deleted meanwhile, unless it `is_new`.
  void note_written(T object, bool is_new = false) {
    std::string key = key_of(object);
    if (!is_new && !objects_.contains(key)) return;
    written_.insert_or_assign(key, object.meta.version);
    if (options_.is_wanted(object) && keep(objects_, std::move(object))) options_.on_changed(key);
  }

  // Null: there is none, or none is known.
  [[nodiscard]] const T* find(std::string_view name_space, std::string_view name) const {
    const auto found = objects_.find(cache_key(name_space, name));
    return found == objects_.end() ? nullptr : &found->second;
  }
  // By cache_key.
  [[nodiscard]] const Objects& objects() const { return objects_; }
  // False until the first list was complete: what is missing may be there.
  [[nodiscard]] bool is_synced() const { return is_synced_; }
  // Why the objects grow old; nothing: they are followed.
  [[nodiscard]] const std::optional<Error>& problem() const { return problem_; }
  // Objects left out, since the last list began.
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

 private:
  // Versions are numbers wherever there is an API server; of others nobody can say which is older.
  [[nodiscard]] bool is_older_than_ours(const std::string& key, const T& object) const {
    const auto ours = written_.find(key);
    if (ours == written_.end()) return false;
    const auto known = parse_number<std::uint64_t>(ours->second);
    const auto told = parse_number<std::uint64_t>(object.meta.version);
    return known && told && *told < *known;
  }

  // The watch goes on.
  void hear() {
    problem_.reset();
    options_.on_heard();
  }

  static std::string key_of(const T& object) { return cache_key(object.meta.name_space, object.meta.name); }

  // False: there is no room.
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
    // Who goes is told before who comes: one may come in the place of the other.
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
  Objects listed_;                                           // of the list that comes in
  std::map<std::string, std::string, std::less<>> written_;  // versions of ours that the watch has not told
  bool is_synced_ = false;
  std::optional<Error> problem_;
  std::uint64_t left_out_ = 0;
};

}  // namespace autopilot::kube
