// SPDX-License-Identifier: Apache-2.0
#include "cli/recording/credentials.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>

#include "core/parse.hpp"

namespace autopilot::cli {
namespace {

using Found = std::vector<Secret>;

struct Letters {
  bool lower = false;
  bool upper = false;
  bool digit = false;
};

Letters letters_of(std::string_view text) {
  Letters letters;
  for (const char letter : text) {
    const auto c = static_cast<unsigned char>(letter);
    letters.lower = letters.lower || std::islower(c) != 0;
    letters.upper = letters.upper || std::isupper(c) != 0;
    letters.digit = letters.digit || std::isdigit(c) != 0;
  }
  return letters;
}

template <class Predicate>
std::string_view part_at(std::string_view text, std::size_t at, Predicate is_part) {
  std::size_t end = std::min(at, text.size());
  while (end < text.size() && is_part(text[end]))
    ++end;
  return text.substr(std::min(at, text.size()), end - std::min(at, text.size()));
}

Secret credential(std::size_t begin, std::string_view value) {
  return {.kind = SecretKind::credential,
          .form = SecretForm::word,
          .begin = begin,
          .size = value.size(),
          .is_learned = false};
}

// --- name and value ---

bool ends_with_one_of(std::string_view name, std::initializer_list<std::string_view> ends) {
  return std::ranges::any_of(ends, [name](std::string_view end) {
    if (!name.ends_with(end)) return false;
    return name.size() == end.size() ||
           !std::isalnum(static_cast<unsigned char>(name[name.size() - end.size() - 1]));
  });
}

bool names_password(std::string_view name) {
  return ends_with_one_of(name, {"password", "passwd", "passphrase", "pwd", "secret", "authorization",
                                 "apikey", "api_key", "api-key", "secret_key", "secret-key", "private_key",
                                 "private-key", "access_key", "access-key", "account_key", "credentials"});
}

bool names_token(std::string_view name) {
  return ends_with_one_of(name, {"token", "pass", "auth_key", "encryption_key", "license_key"});
}

// Numbers and switches are not credentials.
bool may_be_secret(std::string_view value) {
  static constexpr std::array<std::string_view, 9> kOrdinary{"none", "null", "(null)", "true",    "false",
                                                             "yes",  "no",   "ignore", "required"};
  if (value.empty() || std::ranges::find(kOrdinary, to_lower(value)) != kOrdinary.end()) return false;
  if (value.find_first_not_of("0123456789.") == std::string_view::npos) return false;
  return !value.starts_with("0x") && !value.starts_with("/");
}

bool may_be_key(std::string_view value) {
  constexpr std::size_t kShortestKey = 8;
  const Letters letters = letters_of(value);
  return value.size() >= kShortestKey && letters.digit && (letters.lower || letters.upper) &&
         may_be_secret(value);
}

std::string_view value_at(std::string_view text, std::size_t at) {
  return part_at(text, at, [](char c) {
    return std::isspace(static_cast<unsigned char>(c)) == 0 &&
           std::string_view("\"',;&)]}<>").find(c) == std::string_view::npos;
  });
}

struct Assignment {
  std::string name;  // in small letters
  char sign = '=';   // '=', ':', or a space after an option
  std::size_t begin = 0;
  std::string_view value;
};

bool names_uuid(std::string_view name) {
  return ends_with_one_of(name, {"uuid", "partuuid"});
}

bool is_of_interest(std::string_view name) {
  return name == "key" || names_password(name) || names_token(name) || names_uuid(name) ||
         ends_with_one_of(name, {"hostname"});
}

// Whether a name can be of interest, by its last letter: most words in front of a colon are numbers.
bool may_be_of_interest(std::string_view name) {
  constexpr std::string_view kLastLetters = "denstyDENSTY";
  return !name.empty() && kLastLetters.find(name.back()) != std::string_view::npos;
}

// nullopt: no assignment, or to a name that is not of interest.
std::optional<Assignment> assignment_at(std::string_view text, std::size_t at) {
  constexpr std::size_t kLongestName = 128;
  const std::string_view name = part_at(text.substr(0, at + kLongestName), at,
                                        [](char c) { return is_word_letter(c) || c == '-' || c == '.'; });
  if (!may_be_of_interest(name)) return std::nullopt;
  std::size_t begin = at + name.size();
  // The name of a member of JSON.
  if (begin < text.size() && (text[begin] == '"' || text[begin] == '\'')) ++begin;
  if (begin >= text.size()) return std::nullopt;
  const char sign = text[begin++];
  const bool is_option = sign == ' ' && at > 0 && text[at - 1] == '-';
  if (sign != '=' && sign != ':' && !is_option) return std::nullopt;
  while (begin < text.size() && sign == ':' && text[begin] == ' ')
    ++begin;
  if (begin < text.size() && (text[begin] == '"' || text[begin] == '\'')) ++begin;
  Assignment found{.name = to_lower(name), .sign = sign, .begin = begin, .value = {}};
  if (!is_of_interest(found.name)) return std::nullopt;
  found.value = value_at(text, begin);
  return found;
}

// "Authorization: Bearer ...": the word in front stays.
void skip_scheme(std::string_view text, Assignment& found) {
  const std::string scheme = to_lower(found.value);
  if (scheme != "bearer" && scheme != "basic") return;
  found.begin += found.value.size() + 1;
  found.value = value_at(text, found.begin);
}

bool is_credential(const Assignment& found) {
  constexpr std::size_t kLongToken = 16;
  if (found.name == "key") return found.sign == '=' && may_be_key(found.value);
  if (names_password(found.name)) return may_be_secret(found.value);
  if (!names_token(found.name)) return false;
  return found.sign == ':' ? found.value.size() >= kLongToken && may_be_key(found.value)
                           : may_be_secret(found.value);
}

Found assigned_at(std::string_view text, std::size_t at) {
  auto found = assignment_at(text, at);
  if (!found) return {};
  skip_scheme(text, *found);
  if (is_credential(*found)) return {credential(found->begin, found->value)};
  if (found->sign != '=') return {};
  if (ends_with_one_of(found->name, {"hostname"}) && letters_of(found->value).lower)
    return {{SecretKind::host, SecretForm::name, found->begin, found->value.size(), true}};
  // Other UUIDs have their own form.
  constexpr std::size_t kLongestShort = 20;
  if (names_uuid(found->name))
    if (found->value.size() < kLongestShort && letters_of(found->value).digit)
      return {{SecretKind::uuid, SecretForm::word, found->begin, found->value.size(), false}};
  return {};
}

Found bearer_at(std::string_view text, std::size_t at) {
  constexpr std::string_view kBearer = "bearer ";
  if (text[at] != 'b' && text[at] != 'B') return {};
  if (to_lower(text.substr(at, kBearer.size())) != kBearer) return {};
  const std::size_t begin = at + kBearer.size();
  const std::string_view value = value_at(text, begin);
  return may_be_key(value) ? Found{credential(begin, value)} : Found{};
}

// --- addresses of services ---

bool is_of_vendor(std::string_view host) {
  static constexpr std::array<std::string_view, 7> kHosts{
      "kernel.org", "nvidia.com", "amd.com", "intel.com", "github.com", "freedesktop.org", "debian.org"};
  return std::ranges::any_of(kHosts, [host](std::string_view end) { return host.ends_with(end); });
}

// "https://user:password@server:8080/path"
Found url_at(std::string_view text, std::size_t at) {
  const std::string_view scheme = word_at(text, at);
  const std::size_t begin = at + scheme.size() + 3;
  if (text.substr(at + scheme.size(), 3) != "://") return {};
  constexpr std::size_t kLongest = 2048;
  const std::string_view authority = part_at(text.substr(0, begin + kLongest), begin, [](char c) {
    return std::isspace(static_cast<unsigned char>(c)) == 0 &&
           std::string_view("/\"'<>,;)").find(c) == std::string_view::npos;
  });
  Found found;
  const std::size_t sign = authority.rfind('@');
  const std::size_t own = sign == std::string_view::npos ? 0 : sign + 1;
  if (sign != std::string_view::npos && sign > 0)
    found.push_back(credential(begin, authority.substr(0, sign)));
  std::string_view host = authority.substr(own);
  host = host.substr(0, host.find(':'));
  if (letters_of(host).lower && host != "localhost" && !is_of_vendor(host))
    found.push_back({SecretKind::host, SecretForm::name, begin + own, host.size(), false});
  return found;
}

// --- keys that their form shows ---

bool is_key_letter(char c) {
  return is_word_letter(c) || c == '-' || c == '.' || c == '+' || c == '=';
}

Found issued_at(std::string_view text, std::size_t at) {
  struct Issued {
    std::string_view prefix;
    std::size_t size;  // at least
  };
  static constexpr std::array<Issued, 10> kIssued{{{"AKIA", 20},
                                                   {"ASIA", 20},
                                                   {"eyJ", 24},
                                                   {"ghp_", 20},
                                                   {"hf_", 20},
                                                   {"glpat-", 20},
                                                   {"xoxb-", 20},
                                                   {"nvapi-", 20},
                                                   {"sk-", 24},
                                                   {"github_pat_", 24}}};
  constexpr std::string_view kFirstLetters = "Aeghnsx";
  if (kFirstLetters.find(text[at]) == std::string_view::npos) return {};
  const auto known = std::ranges::find_if(
      kIssued, [rest = text.substr(at)](const Issued& one) { return rest.starts_with(one.prefix); });
  if (known == kIssued.end()) return {};
  const std::string_view value = part_at(text, at, is_key_letter);
  return value.size() >= known->size ? Found{credential(at, value)} : Found{};
}

// Base64, and not a function of the kernel ("name+0x1a/0x40") or of a program ("_ZN...").
Found long_word_at(std::string_view text, std::size_t at) {
  constexpr std::size_t kLong = 40;
  const auto is_part = [](char c) { return is_word_letter(c) || c == '+' || c == '/' || c == '='; };
  if (at > 0 && is_part(text[at - 1]) && text[at - 1] != '=') return {};
  const std::string_view value = part_at(text, at, is_part);
  if (value.size() < kLong || value[0] == '_' || value.find("+0x") != std::string_view::npos) return {};
  // The names in a path are shorter, or words of one kind of letters.
  const auto parts = split(value, '/');
  const auto longest = std::ranges::max(parts, {}, [](std::string_view part) { return part.size(); });
  const Letters letters = letters_of(longest);
  const bool is_mixed = letters.lower && letters.upper && letters.digit && longest.size() >= kLong / 2;
  return is_mixed && value.find('_') == std::string_view::npos ? Found{credential(at, value)} : Found{};
}

}  // namespace

std::vector<Secret> credentials_at(std::string_view text, std::size_t at) {
  for (const auto find : {&assigned_at, &bearer_at, &url_at, &issued_at, &long_word_at})
    if (Found found = find(text, at); !found.empty()) return found;
  return {};
}

}  // namespace autopilot::cli
