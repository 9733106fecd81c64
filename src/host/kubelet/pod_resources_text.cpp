// SPDX-License-Identifier: Apache-2.0
#include <boost/json.hpp>
#include <utility>

#include "host/kubelet/pod_resources.hpp"

namespace autopilot::host {
namespace {

namespace json = boost::json;

// The frame has room for 1 MiB, with what stands around the answer.
constexpr std::size_t kMaxText = std::size_t{1000} << 10U;
constexpr std::size_t kAround = 128;  // names of members, quotes, commas

tl::unexpected<Error> malformed_answer(const std::string& what) {
  return fail(Errc::malformed, "kubelet helper's answer: " + what);
}

std::size_t size_of(const HeldDevices& held) {
  std::size_t size =
      kAround + held.pod_namespace.size() + held.pod.size() + held.container.size() + held.resource.size();
  for (const std::string& id : held.ids)
    size += id.size() + 3;
  return size;
}

json::object json_of(const HeldDevices& held) {
  return {{"namespace", held.pod_namespace},
          {"pod", held.pod},
          {"container", held.container},
          {"resource", held.resource},
          {"ids", json::array(held.ids.begin(), held.ids.end())}};
}

Result<std::string> answer_text(const json::value& value) {
  const json::string* text = value.if_string();
  if (text == nullptr || !PodResources::is_name(*text))
    return malformed_answer("no name where one should be");
  return std::string(*text);
}

Result<std::string> member(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr) return malformed_answer(std::string(name) + " is missing");
  return answer_text(*value);
}

Result<HeldDevices> held_of(const json::value& value) {
  const json::object* object = value.if_object();
  if (object == nullptr) return malformed_answer("no object where one should be");
  HeldDevices held;
  held.pod_namespace = TRY(member(*object, "namespace"));
  held.pod = TRY(member(*object, "pod"));
  held.container = TRY(member(*object, "container"));
  held.resource = TRY(member(*object, "resource"));
  const json::value* ids = object->if_contains("ids");
  if (ids == nullptr || !ids->is_array() || ids->get_array().size() > PodResources::kMaxIds)
    return malformed_answer("ids is no list");
  for (const json::value& id : ids->get_array())
    held.ids.push_back(TRY(answer_text(id)));
  return held;
}

}  // namespace

std::string format_pod_resources(const PodResources& resources) {
  json::array held;
  std::size_t size = kAround;
  std::size_t left_out = resources.left_out;
  for (const HeldDevices& one : resources.held) {
    const std::size_t more = size_of(one);
    if (size + more > kMaxText) {
      left_out += one.ids.size();
      continue;
    }
    size += more;
    held.push_back(json_of(one));
  }
  return json::serialize(json::object{{"held", std::move(held)}, {"leftOut", left_out}});
}

Result<PodResources> parse_pod_resources_answer(std::string_view text) {
  boost::system::error_code error;
  const json::value value = json::parse(json::string_view(text.data(), text.size()), error);
  if (error || !value.is_object()) return malformed_answer("no object");
  const json::object& object = value.get_object();
  const json::value* held = object.if_contains("held");
  const json::value* left_out = object.if_contains("leftOut");
  if (held == nullptr || !held->is_array() || held->get_array().size() > PodResources::kMaxHeld)
    return malformed_answer("held is no list");
  PodResources resources;
  if (left_out != nullptr) resources.left_out = left_out->to_number<std::size_t>(error);
  constexpr std::size_t kMostLeftOut = 1'000'000'000;
  if (left_out == nullptr || error || resources.left_out > kMostLeftOut)
    return malformed_answer("leftOut is no number");
  for (const json::value& one : held->get_array())
    resources.held.push_back(TRY(held_of(one)));
  return resources;
}

}  // namespace autopilot::host
