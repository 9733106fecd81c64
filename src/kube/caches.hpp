// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "net/http_session.hpp"

namespace autopilot::kube {

// At most that many values by name; the least recently used are removed.
template <class Value>
class RecentMap {
 public:
  // limit >= 1.
  explicit RecentMap(std::size_t limit) : limit_(limit) {}

  // The value of that name; a new one starts as `fresh`. Valid until the next call.
  [[nodiscard]] Value& get(std::string_view name, const Value& fresh) {
    if (const auto found = by_name_.find(name); found != by_name_.end()) {
      values_.splice(values_.begin(), values_, found->second);
      return values_.front().second;
    }
    if (values_.size() >= limit_) {
      by_name_.erase(values_.back().first);
      values_.pop_back();
      ++forgotten_;
    }
    values_.emplace_front(std::string(name), fresh);
    by_name_.emplace(values_.front().first, values_.begin());
    return values_.front().second;
  }
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] std::uint64_t forgotten() const { return forgotten_; }

 private:
  using Values = std::list<std::pair<std::string, Value>>;

  std::size_t limit_;
  Values values_;  // most recently used first
  std::unordered_map<std::string_view, typename Values::iterator> by_name_;
  std::uint64_t forgotten_ = 0;
};

// Shares requests between callers: concurrent requests for the same key become one, and its result is cached
// for a while. The number of concurrent requests is limited. On the loop's thread.
template <class Key, class Value>
class SharedAnswers {
 public:
  struct Limits {
    Duration remembered{0};
    std::size_t most_remembered = 0;  // beyond, the oldest is removed
    std::size_t most_at_once = 0;     // beyond, the result is `too_many`
  };
  using OnValue = std::function<void(const Value& value)>;

  SharedAnswers(const Clock& clock, Limits limits, Value too_many)
      : clock_(clock), limits_(limits), too_many_(std::move(too_many)) {}
  SharedAnswers(const SharedAnswers&) = delete;
  SharedAnswers& operator=(const SharedAnswers&) = delete;
  ~SharedAnswers() = default;

  // Answers immediately from the cache. True: this is the first request for the key, and the caller must
  // ensure that settle() is called. `on_value` can call ask(), but not destroy this object.
  [[nodiscard]] bool ask(const Key& key, OnValue on_value) {
    const auto found = entries_.find(key);
    const bool is_known = found != entries_.end();
    if (is_known && found->second.is_asked()) {
      found->second.waiting.push_back(std::move(on_value));
      return false;
    }
    if (is_known && clock_.now().mono < found->second.until) {
      const Value value = found->second.value;
      on_value(value);
      return false;
    }
    if (under_way() >= limits_.most_at_once) {
      on_value(too_many_);
      return false;
    }
    make_room();
    entries_.insert_or_assign(key, Entry{}).first->second.waiting.push_back(std::move(on_value));
    return true;
  }
  // Keeps the request that determines the result; it ends with this object.
  void hold(const Key& key, net::Exchange exchange) { entries_.at(key).exchange = std::move(exchange); }
  // Callbacks can call ask(), which can remove cached results.
  void settle(const Key& key, const Value& value, bool is_remembered) {
    Entry& entry = entries_.at(key);
    const auto waiting = std::exchange(entry.waiting, {});
    entry.value = value;
    entry.until = clock_.now().mono + limits_.remembered;
    if (!is_remembered) entries_.erase(key);
    for (const OnValue& told : waiting)
      told(value);
  }

 private:
  struct Entry {
    [[nodiscard]] bool is_asked() const { return !waiting.empty(); }

    std::vector<OnValue> waiting;
    Value value{};
    MonoTime until{};
    net::Exchange exchange;  // declared last: its destructor can call back
  };

  [[nodiscard]] std::size_t under_way() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(entries_, [](const auto& one) { return one.second.is_asked(); }));
  }
  // Requests in progress are never the oldest, because they are not cached yet.
  void make_room() {
    const MonoTime now = clock_.now().mono;
    std::erase_if(entries_,
                  [now](const auto& one) { return !one.second.is_asked() && one.second.until <= now; });
    if (entries_.size() < limits_.most_remembered) return;
    const auto oldest = std::ranges::min_element(entries_, {}, [](const auto& one) {
      return one.second.is_asked() ? MonoTime::max() : one.second.until;
    });
    if (!oldest->second.is_asked()) entries_.erase(oldest);
  }

  const Clock& clock_;
  const Limits limits_;
  const Value too_many_;
  std::map<Key, Entry> entries_;
};

}  // namespace autopilot::kube
