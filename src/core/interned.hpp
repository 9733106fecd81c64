// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace autopilot {

// A text that many values share. The process keeps one copy as long as any value of it lives, and a value has
// the size of a pointer. For the strings of observations: a node has thousands of them, the same in each run.
// Any thread can make, copy and drop values.
class Interned {
 public:
  Interned() = default;
  Interned(std::string_view text);
  Interned(const std::string& text) : Interned(std::string_view(text)) {}
  Interned(const char* text) : Interned(std::string_view(text)) {}
  Interned(const Interned& other) noexcept;
  Interned(Interned&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
  Interned& operator=(const Interned& other) noexcept { return *this = Interned(other); }
  Interned& operator=(Interned&& other) noexcept {
    std::swap(entry_, other.entry_);
    return *this;
  }
  ~Interned();

  [[nodiscard]] const std::string& text() const;
  operator const std::string&() const { return text(); }
  operator std::string_view() const { return text(); }
  [[nodiscard]] bool empty() const { return entry_ == nullptr; }
  [[nodiscard]] std::size_t size() const { return text().size(); }

  friend bool operator==(const Interned& a, const Interned& b) { return a.entry_ == b.entry_; }
  friend std::strong_ordering operator<=>(const Interned& a, const Interned& b) {
    return a.text() <=> b.text();
  }
  template <typename Text>
    requires(std::convertible_to<const Text&, std::string_view> && !std::same_as<Text, Interned>)
  friend bool operator==(const Interned& a, const Text& b) {
    return a.text() == std::string_view(b);
  }
  friend std::string operator+(const Interned& a, std::string_view b) { return a.text() + std::string(b); }
  friend std::string operator+(std::string_view a, const Interned& b) { return std::string(a) + b.text(); }
  friend std::ostream& operator<<(std::ostream& out, const Interned& a) { return out << a.text(); }

 private:
  struct Entry;
  class Table;

  Entry* entry_ = nullptr;  // null: the empty text
};

}  // namespace autopilot
