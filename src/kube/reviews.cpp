// SPDX-License-Identifier: Apache-2.0
#include "kube/reviews.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <optional>
#include <utility>

#include "core/parse.hpp"
#include "kube/base64.hpp"
#include "kube/json_object.hpp"
#include "kube/json_path.hpp"

namespace autopilot::kube {

namespace json = boost::json;

namespace {

// The status of a review; nullopt if the response is not of that kind.
std::optional<json::object> review_status_of(std::string_view answer, std::string_view kind) {
  const auto review = parse_object(answer);
  if (!review || text_at(*review, {"kind"}) != kind) return std::nullopt;
  const json::object* status = object_at(*review, {"status"});
  return status == nullptr ? std::nullopt : std::optional(*status);
}

UserInfo parse_user(const json::object& object) {
  UserInfo user;
  user.name = text_at(object, {"username"});
  user.uid = text_at(object, {"uid"});
  user.groups = texts_at(object, {"groups"});
  if (const json::object* extra = object_at(object, {"extra"}))
    for (const auto& member : *extra)
      user.extra.emplace(std::string(member.key()), texts_at(*extra, {member.key()}));
  return user;
}

json::array array_of(const std::vector<std::string>& texts) {
  json::array list;
  for (const std::string& text : texts)
    list.emplace_back(text);
  return list;
}

json::object extra_of(const UserInfo& user) {
  json::object extra;
  for (const auto& [key, values] : user.extra)
    extra[key] = array_of(values);
  return extra;
}

std::string because(std::string_view why) {
  return why.empty() ? "" : ": " + std::string(why);
}

}  // namespace

std::string to_string(const AccessQuestion& question) {
  std::string text = question.verb + " " + question.resource;
  if (!question.subresource.empty()) text += "/" + question.subresource;
  if (!question.group.empty()) text += "." + question.group;
  if (!question.name.empty()) text += " " + question.name;
  if (!question.name_space.empty()) text += " in namespace " + question.name_space;
  return text;
}

std::string token_review_json(std::string_view token, std::string_view audience) {
  return json::serialize(
      json::object{{"apiVersion", "authentication.k8s.io/v1"},
                   {"kind", "TokenReview"},
                   {"spec", json::object{{"token", token}, {"audiences", json::array{audience}}}}});
}

// A server without support for audiences returns none: its verification is then for itself, not for us.
Result<UserInfo> parse_token_review(std::string_view answer, std::string_view audience) {
  const auto status = review_status_of(answer, "TokenReview");
  if (!status) return fail(Errc::malformed, "the response is not a TokenReview");
  if (!flag_at(*status, {"authenticated"}))
    return fail(Errc::denied, "the token is not accepted" + because(text_at(*status, {"error"})));
  const auto audiences = texts_at(*status, {"audiences"});
  if (std::ranges::find(audiences, audience) == audiences.end())
    return fail(Errc::denied, "the token is not for the audience " + std::string(audience));
  const json::object* object = object_at(*status, {"user"});
  UserInfo user = object == nullptr ? UserInfo{} : parse_user(*object);
  if (user.name.empty()) return fail(Errc::denied, "the token has no user");
  return user;
}

Result<BoundPod> bound_pod(const UserInfo& user) {
  constexpr std::string_view prefix = "system:serviceaccount:";
  const auto extra = [&user](const std::string& name) -> std::string {
    const auto found = user.extra.find("authentication.kubernetes.io/" + name);
    return found == user.extra.end() || found->second.size() != 1 ? "" : found->second.front();
  };
  const std::string_view name = user.name;
  const auto words =
      name.starts_with(prefix) ? split(name.substr(prefix.size()), ':') : std::vector<std::string_view>{};
  if (words.size() != 2)
    return fail(Errc::denied, "the token belongs to " + user.name + ", which is not a service account");
  BoundPod pod{std::string(words[0]), std::string(words[1]), extra("pod-name"), extra("pod-uid"),
               extra("node-name")};
  if (pod.name.empty() || pod.uid.empty())
    return fail(Errc::denied, "the token of " + user.name + " is not bound to a pod");
  return pod;
}

Result<std::string> user_text(const UserInfo& user) {
  const json::object object{{"username", user.name},
                            {"uid", user.uid},
                            {"groups", array_of(user.groups)},
                            {"extra", extra_of(user)}};
  std::string text = encode_base64(json::serialize(object));
  if (text.size() > kLongestUser)
    return fail(Errc::exhausted, "the data of user " + user.name + " is too long to be passed on");
  return text;
}

Result<UserInfo> parse_user_text(std::string_view text) {
  const auto decoded = text.size() > kLongestUser ? std::nullopt : decode_base64(text);
  if (!decoded) return fail(Errc::malformed, "missing user");
  const auto object = parse_object(*decoded);
  UserInfo user = object ? parse_user(*object) : UserInfo{};
  if (user.name.empty()) return fail(Errc::malformed, "missing user");
  return user;
}

std::string access_review_json(const UserInfo& user, const AccessQuestion& question) {
  const json::object attributes{{"verb", question.verb},         {"group", question.group},
                                {"resource", question.resource}, {"subresource", question.subresource},
                                {"name", question.name},         {"namespace", question.name_space}};
  const json::object spec{{"user", user.name},
                          {"uid", user.uid},
                          {"groups", array_of(user.groups)},
                          {"extra", extra_of(user)},
                          {"resourceAttributes", attributes}};
  return json::serialize(json::object{
      {"apiVersion", "authorization.k8s.io/v1"}, {"kind", "SubjectAccessReview"}, {"spec", spec}});
}

Status parse_access_review(std::string_view answer) {
  const auto status = review_status_of(answer, "SubjectAccessReview");
  if (!status) return fail(Errc::malformed, "the response is not a SubjectAccessReview");
  if (flag_at(*status, {"allowed"}) && !flag_at(*status, {"denied"})) return {};
  return fail(Errc::denied, "not allowed" + because(text_at(*status, {"reason"})));
}

}  // namespace autopilot::kube
