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
    // This object is there, is another version, or is gone. Not for what a new list tells as it was.
    std::function<void(const std::string& key)> on_changed = [](const std::string&) {};
    std::function<void()> on_synced = [] {};  // after every list
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
    events.on_listed = [this](const JsonObject& object) { keep(listed_, parse_(object)); };
    events.on_list_end = [this] { take_list(); };
    events.on_changed = [this](const JsonObject& object) { put(parse_(object)); };
    events.on_removed = [this](const JsonObject& object) { remove(key_of(parse_(object))); };
    events.on_current = [this] { problem_.reset(); };
    events.on_problem = [this](const ApiError& error) { problem_ = error.error; };
    return events;
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

  void put(T object) {
    problem_.reset();
    const std::string key = key_of(object);
    if (keep(objects_, std::move(object))) options_.on_changed(key);
  }

  void remove(const std::string& key) {
    problem_.reset();
    if (objects_.erase(key) > 0) options_.on_changed(key);
  }

  void take_list() {
    problem_.reset();
    const Objects before = std::exchange(objects_, std::exchange(listed_, {}));
    is_synced_ = true;
    for (const auto& [key, object] : objects_) {
      const auto known = before.find(key);
      if (known == before.end() || known->second.meta.version != object.meta.version ||
          known->second.meta.uid != object.meta.uid)
        options_.on_changed(key);
    }
    for (const auto& [key, object] : before)
      if (!objects_.contains(key)) options_.on_changed(key);
    options_.on_synced();
  }

  T (*const parse_)(const JsonObject& object);
  const Options options_;
  Objects objects_;
  Objects listed_;  // of the list that comes in
  bool is_synced_ = false;
  std::optional<Error> problem_;
  std::uint64_t left_out_ = 0;
};

}  // namespace autopilot::kube
