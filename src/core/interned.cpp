// SPDX-License-Identifier: Apache-2.0
#include "core/interned.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_set>

namespace autopilot {

struct Interned::Entry {
  explicit Entry(std::string_view own_text) : text(own_text) {}

  const std::string text;
  std::atomic<std::uint32_t> values{1};
};

// The last value of a text is dropped under the lock, so that no thread finds an entry that is being removed.
class Interned::Table {
 public:
  // Lives until the process ends: values can be dropped during exit.
  static Table& of_process() {
    static Table& table = *new Table;  // NOLINT(cppcoreguidelines-owning-memory)
    return table;
  }

  Entry* take(std::string_view text) {
    const std::lock_guard lock(mutex_);
    if (const auto known = entries_.find(text); known != entries_.end()) {
      (*known)->values.fetch_add(1, std::memory_order_relaxed);
      return known->get();
    }
    return entries_.insert(std::make_unique<Entry>(text)).first->get();
  }

  void drop(Entry& entry) {
    std::uint32_t values = entry.values.load(std::memory_order_relaxed);
    while (values > 1)
      if (entry.values.compare_exchange_weak(values, values - 1, std::memory_order_acq_rel)) return;
    const std::lock_guard lock(mutex_);
    if (entry.values.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    entries_.erase(entries_.find(std::string_view(entry.text)));
  }

 private:
  using Owned = std::unique_ptr<Entry>;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    std::size_t operator()(const Owned& entry) const { return (*this)(std::string_view(entry->text)); }
  };
  struct Equal {
    using is_transparent = void;
    static std::string_view text_of(std::string_view text) { return text; }
    static std::string_view text_of(const Owned& entry) { return entry->text; }
    bool operator()(const auto& a, const auto& b) const { return text_of(a) == text_of(b); }
  };

  std::mutex mutex_;
  std::unordered_set<Owned, Hash, Equal> entries_;
};

Interned::Interned(std::string_view text) : entry_(text.empty() ? nullptr : Table::of_process().take(text)) {}

Interned::Interned(const Interned& other) noexcept : entry_(other.entry_) {
  if (entry_ != nullptr) entry_->values.fetch_add(1, std::memory_order_relaxed);
}

Interned::~Interned() {
  if (entry_ != nullptr) Table::of_process().drop(*entry_);
}

const std::string& Interned::text() const {
  static const std::string& none = *new std::string;  // NOLINT(cppcoreguidelines-owning-memory): as the table
  return entry_ == nullptr ? none : entry_->text;
}

}  // namespace autopilot
