// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.hpp"
#include "core/yaml.hpp"

namespace autopilot::catalog {

// All values of Action.
[[nodiscard]] const std::vector<std::string>& action_words();

// One entry of a file: the strict reader, and the keys that several kinds of entry share.
class Entry : public YamlMap {
 public:
  using YamlMap::YamlMap;

  Provenance provenance();
  std::string id(const char* pattern);
  Health health(std::string_view key);
  Action action(std::string_view key);
  ClearRule clear_rule();
  double confidence();
  int rounds(std::string_view key, int fallback);
  // A required integer; a value outside the limits is a problem and returns the nearest limit.
  int within(std::string_view key, int least, int most);
  // A code of a driver, as `within`; drivers print unsigned 32-bit numbers.
  std::uint32_t code(std::string_view key, std::uint32_t least = 0);
  void known_word(std::string_view key, const std::string& word, const std::vector<std::string>& known);
  // A required word from a list.
  template <class T>
  T required(std::string_view key, std::optional<T> (*parse)(std::string_view),
             const std::vector<std::string>& known) {
    if (required_word(key).empty()) return T{};
    return choice<T>(key, parse, known).value_or(T{});
  }

 private:
  std::int64_t integer_within(std::string_view key, std::int64_t least, std::int64_t most);
};

}  // namespace autopilot::catalog
