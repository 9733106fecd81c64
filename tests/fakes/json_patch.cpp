// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/json_patch.hpp"

#include <boost/json.hpp>
#include <utility>
#include <vector>

#include "core/parse.hpp"

namespace autopilot {
namespace {

class PatchedDocument {
 public:
  explicit PatchedDocument(boost::json::value document) : document_(std::move(document)) {}

  // False where the patch does not fit; the document is spoiled then.
  [[nodiscard]] bool apply(const boost::json::array& patch) {
    for (const boost::json::value& step : patch)
      if (!step.is_object() || !apply_step(step.get_object())) return false;
    return true;
  }
  [[nodiscard]] const boost::json::value& document() const { return document_; }

 private:
  // The last name of a path, and what holds it.
  struct Place {
    boost::json::value* holder = nullptr;
    std::string name;
  };

  static std::string text_of(const boost::json::object& step, std::string_view name) {
    const boost::json::value* value = step.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
  }

  static std::string unescaped(std::string_view token) {
    std::string name;
    for (std::size_t i = 0; i < token.size(); ++i)
      if (token[i] == '~' && i + 1 < token.size())
        name += token[++i] == '1' ? '/' : '~';
      else
        name += token[i];
    return name;
  }

  static boost::json::value* member_of(boost::json::value& holder, const std::string& name) {
    if (auto* object = holder.if_object()) return object->if_contains(name);
    auto* list = holder.if_array();
    const auto index = parse_number<std::size_t>(name);
    return list != nullptr && index && *index < list->size() ? &(*list)[*index] : nullptr;
  }

  Place place_of(std::string_view path) {
    std::vector<std::string_view> tokens = split(path, '/');
    if (tokens.size() < 2 || !tokens.front().empty()) return {};
    Place place{&document_, ""};
    for (std::size_t i = 1; i + 1 < tokens.size() && place.holder != nullptr; ++i)
      place.holder = member_of(*place.holder, unescaped(tokens[i]));
    place.name = unescaped(tokens.back());
    return place;
  }

  static bool add(const Place& place, boost::json::value value) {
    if (place.holder == nullptr) return false;
    if (auto* object = place.holder->if_object()) {
      (*object)[place.name] = std::move(value);
      return true;
    }
    auto* list = place.holder->if_array();
    if (list == nullptr) return false;
    const auto index = place.name == "-" ? list->size() : parse_number<std::size_t>(place.name);
    if (!index || *index > list->size()) return false;
    list->insert(list->begin() + *index, std::move(value));
    return true;
  }

  static bool take(const Place& place, boost::json::value& taken) {
    boost::json::value* member = place.holder == nullptr ? nullptr : member_of(*place.holder, place.name);
    if (member == nullptr) return false;
    taken = std::move(*member);
    if (auto* object = place.holder->if_object())
      object->erase(place.name);
    else
      place.holder->get_array().erase(member);
    return true;
  }

  bool apply_step(const boost::json::object& step) {
    const std::string op = text_of(step, "op");
    const std::string path = text_of(step, "path");
    const boost::json::value* value = step.if_contains("value");
    boost::json::value taken;
    if (op == "add") return value != nullptr && add(place_of(path), *value);
    if (op == "remove") return take(place_of(path), taken);
    if (op == "move")
      return take(place_of(text_of(step, "from")), taken) && add(place_of(path), std::move(taken));
    if (op != "replace" || value == nullptr) return false;
    const Place place = place_of(path);
    boost::json::value* member = place.holder == nullptr ? nullptr : member_of(*place.holder, place.name);
    if (member == nullptr) return false;
    *member = *value;
    return true;
  }

  boost::json::value document_;
};

}  // namespace

std::optional<std::string> apply_json_patch(std::string_view document, std::string_view patch) {
  const boost::json::parse_options options{.max_depth = 64};
  boost::json::error_code error;
  boost::json::value value = boost::json::parse({document.data(), document.size()}, error, {}, options);
  if (error) return std::nullopt;
  const boost::json::value steps = boost::json::parse({patch.data(), patch.size()}, error, {}, options);
  PatchedDocument patched(std::move(value));
  if (error || !steps.is_array() || !patched.apply(steps.get_array())) return std::nullopt;
  return boost::json::serialize(patched.document());
}

}  // namespace autopilot
