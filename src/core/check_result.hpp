// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "core/finding.hpp"
#include "core/observation.hpp"

namespace autopilot {

// The last completed run of one check.
struct CheckResult {
  std::string check;
  Health health =
      Health::unknown;  // worst of its findings; healthy without findings; unknown before the first run
  std::vector<std::string> witnesses;  // data sources that answered, in the check's order
  Duration duration{0};
  WallTime completed{};  // epoch before the first run
  bool required = false;
  Findings findings;
  SharedObservations observations;  // of the latest run
};

// A list whose copies share their results, because most results are equal in consecutive snapshots. Changing
// a result in a copy copies that result first.
class CheckResults {
  using Shared = std::vector<std::shared_ptr<const CheckResult>>;

 public:
  using value_type = CheckResult;
  class const_iterator {  // NOLINT(readability-identifier-naming): as the standard library names it
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = CheckResult;
    using difference_type = std::ptrdiff_t;
    using pointer = const CheckResult*;
    using reference = const CheckResult&;

    const_iterator() = default;
    explicit const_iterator(Shared::const_iterator at) : at_(at) {}

    reference operator*() const { return **at_; }
    pointer operator->() const { return at_->get(); }
    const_iterator& operator++() {
      ++at_;
      return *this;
    }
    const_iterator operator++(int) { return const_iterator(at_++); }  // NOLINT(cert-dcl21-cpp)
    friend bool operator==(const const_iterator&, const const_iterator&) = default;

   private:
    Shared::const_iterator at_;
  };

  CheckResults() = default;
  CheckResults(std::initializer_list<CheckResult> results) {
    for (const CheckResult& result : results)
      push_back(result);
  }

  void push_back(CheckResult result) { add(std::make_shared<const CheckResult>(std::move(result))); }
  void add(std::shared_ptr<const CheckResult> result) { shared_.push_back(std::move(result)); }  // never null

  [[nodiscard]] const_iterator begin() const { return const_iterator(shared_.begin()); }
  [[nodiscard]] const_iterator end() const { return const_iterator(shared_.end()); }
  [[nodiscard]] std::size_t size() const { return shared_.size(); }
  [[nodiscard]] bool empty() const { return shared_.empty(); }
  const CheckResult& operator[](std::size_t i) const { return *shared_[i]; }
  [[nodiscard]] const CheckResult& front() const { return *shared_.front(); }
  [[nodiscard]] const CheckResult& back() const { return *shared_.back(); }

  // For an immediate change only: a later call or a copy of the list can invalidate the reference.
  CheckResult& operator[](std::size_t i) { return put(shared_[i], *shared_[i]); }
  CheckResult& emplace_back() { return put(shared_.emplace_back(), {}); }
  void pop_back() { shared_.pop_back(); }
  void clear() { shared_.clear(); }

 private:
  static CheckResult& put(Shared::value_type& place, CheckResult result) {
    auto own = std::make_shared<CheckResult>(std::move(result));
    CheckResult& changed = *own;
    place = std::move(own);
    return changed;
  }

  Shared shared_;
};

}  // namespace autopilot
