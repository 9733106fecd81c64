// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

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

}  // namespace autopilot::kube
