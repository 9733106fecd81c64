// SPDX-License-Identifier: Apache-2.0
#include "core/yaml.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <unordered_set>
#include <utility>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "core/parse.hpp"
#include "core/text.hpp"

namespace autopilot {
namespace {

// Thrown through yaml-cpp and caught in parse_yaml: yaml-cpp has no other means to stop its parser.
struct StopParsing {};

// Builds our tree from yaml-cpp's events, which include both of two equal keys and the line of each.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(YamlNode& root, YamlProblems& problems) : root_(root), problems_(problems) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) stop(mark, "more than one document; a file holds one document");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(mark, anchor, YamlNode::Kind::null, {}, false);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    stop(mark, "aliases (*name) are not accepted");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (tag != "?" && tag != "!" && !tag.empty()) stop(mark, "tags (" + tag + ") are not accepted");
    if (expects_key()) {
      take_key(mark, value);
      return;
    }
    const bool quoted = tag == "!";
    const bool is_null = !quoted && (value.empty() || value == "~" || value == "null");
    add(mark, anchor, is_null ? YamlNode::Kind::null : YamlNode::Kind::scalar, value, quoted);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, YamlNode::Kind::list);
  }
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, YamlNode::Kind::map);
  }
  void OnMapEnd() override { open_.pop_back(); }

 private:
  struct Open {
    YamlNode* node;
    std::optional<std::string> key;
    int key_line = 0;
    std::unordered_set<std::string> keys;
  };

  [[noreturn]] void stop(const YAML::Mark& mark, std::string what) {
    problems_.add(mark.line + 1, std::move(what));
    throw StopParsing{};
  }
  [[nodiscard]] bool expects_key() const {
    return !open_.empty() && open_.back().node->kind == YamlNode::Kind::map && !open_.back().key;
  }
  void take_key(const YAML::Mark& mark, const std::string& key) {
    Open& top = open_.back();
    top.key = key;
    top.key_line = mark.line + 1;
    if (!top.keys.insert(key).second) problems_.add(mark.line + 1, "duplicate key `" + key + "`");
  }
  // Returns the place for the next value.
  YamlNode& slot(const YAML::Mark& mark) {
    if (open_.empty()) return root_;
    Open& top = open_.back();
    if (top.node->kind == YamlNode::Kind::list) return top.node->items.emplace_back();
    auto key = std::exchange(top.key, std::nullopt);
    if (!key) stop(mark, "a key must be a string");
    return top.node->members.emplace_back(YamlMember{std::move(*key), top.key_line, {}}).value;
  }
  YamlNode& add(const YAML::Mark& mark, YAML::anchor_t anchor, YamlNode::Kind kind, const std::string& text,
                bool quoted) {
    if (anchor != 0) stop(mark, "anchors (&name) are not accepted");
    YamlNode& node = slot(mark);
    node.kind = kind;
    node.text = text;
    node.quoted = quoted;
    node.line = mark.line + 1;
    return node;
  }
  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YamlNode::Kind kind) {
    if (tag != "?" && tag != "!" && !tag.empty()) stop(mark, "tags (" + tag + ") are not accepted");
    if (open_.size() >= kMaxYamlDepth) stop(mark, "nested too deeply");
    // The pointer stays valid: a container grows only while it is the innermost open one.
    YamlNode& node = add(mark, anchor, kind, {}, false);
    open_.push_back(Open{&node, std::nullopt, 0, {}});
  }

  YamlNode& root_;
  YamlProblems& problems_;
  std::vector<Open> open_;
  int documents_ = 0;
};

std::string_view kind_name(YamlNode::Kind kind) {
  switch (kind) {
    case YamlNode::Kind::null:
      return "nothing";
    case YamlNode::Kind::scalar:
      return "a string";
    case YamlNode::Kind::list:
      return "a list";
    case YamlNode::Kind::map:
      return "a map";
  }
  return "?";
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  for (const YamlMember& member : members)
    if (member.key == key) return &member.value;
  return nullptr;
}

void YamlProblems::add(int line, std::string what) {
  problems_.push_back({line, std::move(what)});
}

std::string YamlProblems::to_string() const {
  std::vector<Problem> sorted = problems_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Problem& a, const Problem& b) { return a.line < b.line; });
  std::string text;
  for (std::size_t i = 0; i < std::min(sorted.size(), kMaxShown); ++i) {
    if (!text.empty()) text += '\n';
    text += file_;
    if (sorted[i].line > 0) text += ':' + std::to_string(sorted[i].line);
    text += ": " + sorted[i].what;
  }
  if (sorted.size() > kMaxShown)
    text += '\n' + file_ + ": and " + std::to_string(sorted.size() - kMaxShown) + " more problems";
  return text;
}

Status YamlProblems::status() const {
  if (problems_.empty()) return {};
  return fail(Errc::malformed, to_string());
}

YamlNode parse_yaml(std::string_view text, YamlProblems& problems) {
  if (text.size() > kMaxYamlBytes) {
    problems.add(1, "larger than " + std::to_string(kMaxYamlBytes) + " bytes");
    return {};
  }
  // yaml-cpp silently ends its input at a NUL and guesses UTF-16 and UTF-32; valid UTF-8 has none of these
  // bytes.
  constexpr std::string_view binary("\0\xfe\xff", 3);
  if (const std::size_t at = text.find_first_of(binary); at != std::string_view::npos) {
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    problems.add(static_cast<int>(line), "binary data, expected UTF-8 text");
    return {};
  }
  YamlNode root;
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder builder(root, problems);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const StopParsing&) {
    return {};
  } catch (const YAML::Exception& error) {
    problems.add(error.mark.line + 1, error.msg);
    return {};
  } catch (const std::exception& error) {
    problems.add(1, error.what());
    return {};
  }
  return root;
}

YamlMap::YamlMap(const YamlNode& node, std::string what, YamlProblems& problems)
    : node_(node), what_(std::move(what)), problems_(problems) {
  if (node_.kind != YamlNode::Kind::map && node_.kind != YamlNode::Kind::null)
    problems_.add(node_.line, what_ + ": expected a map, found " + std::string(kind_name(node_.kind)));
}

YamlMap::~YamlMap() {
  for (const YamlMember& member : node_.members) {
    if (std::find(asked_.begin(), asked_.end(), member.key) != asked_.end()) continue;
    std::string text = what_ + ": unknown key `" + member.key + "`";
    // The hint is needed only if the problem is shown.
    const bool is_shown = problems_.size() < YamlProblems::kMaxShown;
    if (const auto nearest = is_shown ? nearest_word(member.key, asked_) : std::nullopt)
      text += "; did you mean `" + *nearest + "`?";
    problems_.add(member.line, std::move(text));
  }
}

int YamlMap::line_of(std::string_view key) const {
  for (const YamlMember& member : node_.members)
    if (member.key == key) return member.line;
  return node_.line;
}

const YamlNode* YamlMap::any(std::string_view key) {
  asked_.emplace_back(key);
  const YamlNode* node = node_.find(key);
  if (node == nullptr || node->kind == YamlNode::Kind::null) return nullptr;
  return node;
}

void YamlMap::missing(std::string_view key) {
  problems_.add(line_of(key), what_ + ": `" + std::string(key) + "` is missing");
}

void YamlMap::wrong(std::string_view key, const YamlNode& node, std::string_view expected) {
  std::string text = what_ + ": `" + std::string(key) + "`: expected " + std::string(expected) + ", found ";
  if (node.kind == YamlNode::Kind::scalar)
    text += '`' + node.text.substr(0, 80) + '`' + (node.quoted ? " in quotes" : "");
  else
    text += kind_name(node.kind);
  problems_.add(node.line, std::move(text));
}

void YamlMap::unknown_word(std::string_view key, const std::string& text,
                           const std::vector<std::string>& known) {
  std::string message =
      what_ + ": `" + std::string(key) + "`: unknown value `" + text.substr(0, 80) + "`; expected one of";
  for (const std::string& word : known)
    message += ' ' + word;
  problems_.add(line_of(key), std::move(message));
}

const YamlNode* YamlMap::scalar(std::string_view key, std::string_view expected) {
  const YamlNode* node = any(key);
  if (node == nullptr) return nullptr;
  if (node->kind == YamlNode::Kind::scalar) return node;
  wrong(key, *node, expected);
  return nullptr;
}

std::optional<std::string> YamlMap::word(std::string_view key) {
  const YamlNode* node = scalar(key, "a string");
  if (node == nullptr) return std::nullopt;
  return node->text;
}

std::optional<double> YamlMap::number(std::string_view key) {
  const YamlNode* node = scalar(key, "a number");
  if (node == nullptr) return std::nullopt;
  const auto value = node->quoted ? std::nullopt : parse_number<double>(node->text);
  if (value && std::isfinite(*value)) return value;
  wrong(key, *node, "a number");
  return std::nullopt;
}

std::optional<std::int64_t> YamlMap::integer(std::string_view key) {
  const YamlNode* node = scalar(key, "an integer");
  if (node == nullptr) return std::nullopt;
  const auto value = node->quoted ? std::nullopt : parse_number<std::int64_t>(node->text);
  if (!value) wrong(key, *node, "an integer");
  return value;
}

std::optional<bool> YamlMap::boolean(std::string_view key) {
  const YamlNode* node = scalar(key, "true or false");
  if (node == nullptr) return std::nullopt;
  if (!node->quoted && node->text == "true") return true;
  if (!node->quoted && node->text == "false") return false;
  wrong(key, *node, "true or false");
  return std::nullopt;
}

std::optional<Duration> YamlMap::duration(std::string_view key) {
  constexpr std::string_view expected = "a duration such as 250ms, 2s, 1m30s, 12h, 7d";
  const YamlNode* node = scalar(key, expected);
  if (node == nullptr) return std::nullopt;
  const auto value = parse_duration(node->text);
  if (!value) wrong(key, *node, expected);
  return value;
}

std::optional<std::vector<std::string>> YamlMap::words(std::string_view key) {
  const YamlNode* node = list(key);
  if (node == nullptr) return std::nullopt;
  std::vector<std::string> words;
  for (const YamlNode& item : node->items) {
    if (item.kind == YamlNode::Kind::scalar)
      words.push_back(item.text);
    else
      wrong(key, item, "a list of strings");
  }
  return words;
}

const YamlNode* YamlMap::list(std::string_view key) {
  const YamlNode* node = any(key);
  if (node == nullptr || node->kind == YamlNode::Kind::list) return node;
  wrong(key, *node, "a list");
  return nullptr;
}

const YamlNode* YamlMap::map(std::string_view key) {
  const YamlNode* node = any(key);
  if (node == nullptr || node->kind == YamlNode::Kind::map) return node;
  wrong(key, *node, "a map");
  return nullptr;
}

std::string YamlMap::required_word(std::string_view key) {
  const std::size_t before = problems_.size();
  auto value = word(key).value_or("");
  if (value.empty() && problems_.size() == before) missing(key);
  return value;
}

double YamlMap::required_number(std::string_view key) {
  const std::size_t before = problems_.size();
  const auto value = number(key);
  if (!value && problems_.size() == before) missing(key);
  return value.value_or(0);
}

std::int64_t YamlMap::required_integer(std::string_view key) {
  const std::size_t before = problems_.size();
  const auto value = integer(key);
  if (!value && problems_.size() == before) missing(key);
  return value.value_or(0);
}

std::vector<std::string> YamlMap::required_words(std::string_view key) {
  const std::size_t before = problems_.size();
  auto value = words(key);
  if ((!value || value->empty()) && problems_.size() == before) missing(key);
  return std::move(value).value_or(std::vector<std::string>{});
}

}  // namespace autopilot
