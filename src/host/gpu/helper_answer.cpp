// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/helper_answer.hpp"

#include <utility>

#include "core/parse.hpp"

namespace autopilot::host {
namespace json = boost::json;

namespace {
constexpr std::size_t kMaxAnswerBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxAnswerText = 1024;
}  // namespace

std::string presentable(std::string_view text) {
  return to_printable(text, kMaxAnswerText);
}

tl::unexpected<Error> malformed_answer(std::string what) {
  return fail(Errc::malformed, "helper's answer: " + std::move(what));
}

Result<json::object> parse_answer_object(std::string_view text) {
  if (text.size() > kMaxAnswerBytes) return malformed_answer("longer than 1 MiB");
  boost::system::error_code error;
  json::value value = json::parse(json::string_view(text.data(), text.size()), error);
  if (error) return malformed_answer("not JSON: " + error.message());
  if (!value.is_object()) return malformed_answer("not an object");
  return std::move(value.as_object());
}

Result<std::string> answer_text(const json::value& value, std::string_view name) {
  const json::string* text = value.if_string();
  if (text == nullptr) return malformed_answer(std::string(name) + " is not a string");
  const std::string_view view(text->data(), text->size());
  if (view.size() > kMaxAnswerText || !is_printable(view))
    return malformed_answer(std::string(name) + " is not a short printable string");
  return std::string(view);
}

Result<std::string> text_member(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(json::string_view(name.data(), name.size()));
  if (value == nullptr) return malformed_answer(std::string(name) + " is missing");
  return answer_text(*value, name);
}

Result<std::int64_t> answer_integer(const json::value& value, std::string_view name, std::int64_t low,
                                    std::int64_t high) {
  boost::system::error_code error;
  const auto number = value.to_number<std::int64_t>(error);
  if (error || number < low || number > high)
    return malformed_answer(std::string(name) + " is not an integer from " + std::to_string(low) + " to " +
                            std::to_string(high));
  return number;
}

Result<std::int64_t> integer_member(const json::object& object, std::string_view name, std::int64_t high) {
  const json::value* value = object.if_contains(json::string_view(name.data(), name.size()));
  if (value == nullptr) return malformed_answer(std::string(name) + " is missing");
  return answer_integer(*value, name, 0, high);
}

Result<const json::array*> array_member(const json::object& object, std::string_view name,
                                        std::size_t limit) {
  const json::value* value = object.if_contains(json::string_view(name.data(), name.size()));
  if (value == nullptr || !value->is_array()) return malformed_answer(std::string(name) + " is not a list");
  if (value->as_array().size() > limit) return malformed_answer(std::string(name) + " is too long");
  return &value->as_array();
}

}  // namespace autopilot::host
