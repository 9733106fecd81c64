// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace autopilot {

// The YAML that Autopilot accepts: one document of maps, lists and scalars. Anchors, aliases, explicit tags
// and duplicate keys are refused, because they make a file differ from what its text shows.
struct YamlMember;

struct YamlNode {
  enum class Kind : std::uint8_t { null, scalar, list, map };
  Kind kind = Kind::null;
  std::string text;     // set for a scalar
  bool quoted = false;  // a quoted scalar is a string, never a number or a boolean
  int line = 1;
  std::vector<YamlNode> items;      // set for a list
  std::vector<YamlMember> members;  // set for a map, in the order of the file

  [[nodiscard]] const YamlNode* find(std::string_view key) const;
};

struct YamlMember {
  std::string key;
  int line = 1;
  YamlNode value;
};

// Problems of one file. The reader continues after a problem, so that a person sees all of them at once.
class YamlProblems {
 public:
  static constexpr std::size_t kMaxShown = 100;

  explicit YamlProblems(std::string file) : file_(std::move(file)) {}

  void add(int line, std::string what);
  [[nodiscard]] bool empty() const { return problems_.empty(); }
  [[nodiscard]] std::size_t size() const { return problems_.size(); }
  // "file:line: what", one per line, ordered by line ("file: what" for line 0); after kMaxShown only their
  // number.
  [[nodiscard]] std::string to_string() const;
  // Errc::malformed with that text, or success without problems.
  [[nodiscard]] Status status() const;

 private:
  struct Problem {
    int line;
    std::string what;
  };
  std::string file_;
  std::vector<Problem> problems_;
};

inline constexpr std::size_t kMaxYamlBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxYamlDepth = 32;

// A null node if the text is empty or cannot be parsed; the latter adds to `problems`.
[[nodiscard]] YamlNode parse_yaml(std::string_view text, YamlProblems& problems);

// Reads the keys of one map, each by its type. A wrong type or a missing required key becomes a problem and
// gives the empty value of the type. The destructor reports every key that was not read as a problem that
// names the nearest key. node and problems must outlive the reader.
class YamlMap {
 public:
  // what: the name of this map in messages, such as "threshold" or "agent".
  YamlMap(const YamlNode& node, std::string what, YamlProblems& problems);
  YamlMap(const YamlMap&) = delete;
  YamlMap& operator=(const YamlMap&) = delete;
  ~YamlMap();

  [[nodiscard]] int line() const { return node_.line; }
  [[nodiscard]] bool has(std::string_view key) const { return node_.find(key) != nullptr; }
  void problem(int line, std::string text) { problems_.add(line, std::move(text)); }
  // A reader of a map inside this one, which reports to the same problems.
  [[nodiscard]] YamlMap nested(const YamlNode& node, std::string what) {
    return YamlMap(node, std::move(what), problems_);
  }
  // The line of that key, or of the map if the key is missing.
  [[nodiscard]] int line_of(std::string_view key) const;

  // Optional keys: nullopt if absent or wrong.
  std::optional<std::string> word(std::string_view key);
  std::optional<double> number(std::string_view key);
  std::optional<std::int64_t> integer(std::string_view key);
  std::optional<bool> boolean(std::string_view key);
  std::optional<Duration> duration(std::string_view key);
  std::optional<std::vector<std::string>> words(std::string_view key);
  const YamlNode* list(std::string_view key);
  const YamlNode* map(std::string_view key);
  const YamlNode* any(std::string_view key);

  // Required keys. A required string must not be empty.
  std::string required_word(std::string_view key);
  double required_number(std::string_view key);
  std::int64_t required_integer(std::string_view key);
  std::vector<std::string> required_words(std::string_view key);

  // A string out of a list, required or optional, converted by `parse`.
  template <class T>
  std::optional<T> choice(std::string_view key, std::optional<T> (*parse)(std::string_view),
                          const std::vector<std::string>& known) {
    const auto text = word(key);
    if (!text) return std::nullopt;
    if (const auto value = parse(*text)) return value;
    unknown_word(key, *text, known);
    return std::nullopt;
  }

 private:
  const YamlNode* scalar(std::string_view key, std::string_view expected);
  void missing(std::string_view key);
  void wrong(std::string_view key, const YamlNode& node, std::string_view expected);
  void unknown_word(std::string_view key, const std::string& text, const std::vector<std::string>& known);

  const YamlNode& node_;
  std::string what_;
  YamlProblems& problems_;
  std::vector<std::string> asked_;
};

}  // namespace autopilot
