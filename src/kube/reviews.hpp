// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

// What an API server is asked about somebody who calls us: whose a token is (TokenReview), and what that user
// may do (SubjectAccessReview). Pure.
namespace autopilot::kube {

inline constexpr const char* kTokenReviews = "/apis/authentication.k8s.io/v1/tokenreviews";
inline constexpr const char* kAccessReviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

// Of tokens that are shown to us. Those for other ears are refused: one that was stolen from here opens
// nothing else, and one that somebody sent elsewhere opens nothing here.
inline constexpr const char* kTokenAudience = "autopilot.ibm.com";

struct UserInfo {
  std::string name;  // "alice", "system:serviceaccount:team-a:ci"
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>, std::less<>> extra;
  friend bool operator==(const UserInfo&, const UserInfo&) = default;
};

// The pod that a token was given to, by what the API server reads in it.
struct BoundPod {
  std::string name_space;
  std::string account;
  std::string name;
  std::string uid;
  std::string node;  // empty: a server before Kubernetes 1.30, which does not tell
  friend bool operator==(const BoundPod&, const BoundPod&) = default;
};
// denied: the token is that of no service account, or bound to no pod.
[[nodiscard]] Result<BoundPod> bound_pod(const UserInfo& user);

// In the words of RBAC rules.
struct AccessQuestion {
  std::string verb;
  std::string group;
  std::string resource;
  std::string subresource;  // empty: none
  std::string name;         // of the object; empty: all
  std::string name_space;   // empty: all
  friend auto operator<=>(const AccessQuestion&, const AccessQuestion&) = default;
};
// "create checks/gpu.xid.autopilot.ibm.com node-1 in namespace autopilot".
[[nodiscard]] std::string to_string(const AccessQuestion& question);

[[nodiscard]] std::string token_review_json(std::string_view token, std::string_view audience);
// denied: nobody's token, or one that is for other ears than `audience`. malformed: no such answer.
[[nodiscard]] Result<UserInfo> parse_token_review(std::string_view answer, std::string_view audience);

// What one of us tells another of a user: everything that decides what the user may, in letters of base64.
// exhausted: longer than kLongestUser.
inline constexpr std::size_t kLongestUser = std::size_t{8} << 10;
[[nodiscard]] Result<std::string> user_text(const UserInfo& user);
// malformed: no such text.
[[nodiscard]] Result<UserInfo> parse_user_text(std::string_view text);

[[nodiscard]] std::string access_review_json(const UserInfo& user, const AccessQuestion& question);
// denied: the user may not, with what the server says of it. malformed: no such answer.
[[nodiscard]] Status parse_access_review(std::string_view answer);

}  // namespace autopilot::kube
