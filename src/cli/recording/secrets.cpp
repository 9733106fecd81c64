// SPDX-License-Identifier: Apache-2.0
#include "cli/recording/secrets.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cctype>
#include <iterator>
#include <string>

#include "cli/recording/credentials.hpp"
#include "core/parse.hpp"

namespace autopilot::cli {
namespace {

constexpr std::size_t kLongHex = 32;  // digits; registers and addresses of memory have 16 at most
constexpr std::size_t kUuidSize = 36;

bool is_hex_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool is_name_letter(char c) {
  return is_word_letter(c) || c == '-' || c == '.';
}

// At most `kLongestRun` characters: names, addresses and numbers are shorter.
constexpr std::size_t kLongestRun = 512;

template <class Predicate>
std::string_view run_at(std::string_view text, std::size_t at, Predicate is_part) {
  std::size_t end = std::min(at, text.size());
  const std::size_t begin = end;
  while (end < text.size() && end - begin < kLongestRun && is_part(text[end]))
    ++end;
  return text.substr(begin, end - begin);
}

// A name, without the stop of its sentence.
std::string_view name_at(std::string_view text, std::size_t at) {
  std::string_view name = run_at(text, at, is_name_letter);
  while (!name.empty() && (name.back() == '.' || name.back() == '-'))
    name.remove_suffix(1);
  return name;
}

bool ends_word(std::string_view text, std::size_t end) {
  return end >= text.size() || !is_word_letter(text[end]);
}

Secret secret(SecretKind kind, SecretForm form, std::size_t begin, std::string_view value,
              bool is_learned = false) {
  return {.kind = kind, .form = form, .begin = begin, .size = value.size(), .is_learned = is_learned};
}

using Secrets = std::vector<Secret>;

void add_name(Secrets& found, SecretKind kind, std::size_t begin, std::string_view name) {
  const bool has_letter = std::ranges::any_of(name, [](unsigned char c) { return std::isalpha(c) != 0; });
  if (has_letter) found.push_back(secret(kind, SecretForm::name, begin, name, true));
}

// --- forms ---

Secrets uuid_at(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at);
  // "pod8b7c1f8e_0d55_4f9c_a2a3_1d2f3a4b5c6d" of a control group.
  const std::size_t skip = rest.starts_with("pod") ? 3 : 0;
  const std::string_view value = rest.substr(std::min(skip, rest.size())).substr(0, kUuidSize);
  if (!is_uuid_text(value) || !ends_word(text, at + skip + kUuidSize)) return {};
  return {secret(SecretKind::uuid, SecretForm::uuid, at + skip, value)};
}

Secrets long_hex_at(std::string_view text, std::size_t at) {
  std::string_view word = word_at(text, at);
  const std::size_t skip = word.starts_with("0x") || word.starts_with("0X") ? 2 : 0;
  word.remove_prefix(skip);
  if (word.size() < kLongHex || !is_hex_text(word)) return {};
  if (is_blank_digits(word)) return {};
  const bool is_uuid = word.size() == kLongHex;
  return {secret(is_uuid ? SecretKind::uuid : SecretKind::container,
                 is_uuid ? SecretForm::uuid : SecretForm::digits, at + skip, word)};
}

// "version 2.0.1.4" is not an address.
bool follows_version(std::string_view text, std::size_t at) {
  static constexpr std::array<std::string_view, 8> kWords{"version", "ver",     "firmware", "fw",
                                                          "fw_ver",  "release", "bios",     "revision"};
  std::size_t end = at;
  while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == ':' || text[end - 1] == '='))
    --end;
  std::size_t begin = end;
  while (begin > 0 && is_word_letter(text[begin - 1]))
    --begin;
  return std::ranges::find(kWords, to_lower(text.substr(begin, end - begin))) != kWords.end();
}

// "10.0.0.1:" precedes a path, "10.0.0.1." ends a sentence.
std::string_view address_run(std::string_view text, std::size_t at) {
  std::string_view run =
      run_at(text, at, [](char c) { return is_hex_digit(c) || c == ':' || c == '.' || c == '-'; });
  while (!run.empty() &&
         (run.back() == '.' || run.back() == '-' || (run.back() == ':' && !run.ends_with("::"))))
    run.remove_suffix(1);
  return run;
}

Secrets address_at(std::string_view text, std::size_t at) {
  const std::string_view run = address_run(text, at);
  if (run.size() < 2 || !ends_word(text, at + run.size())) return {};
  if (is_hardware_address(run)) return {secret(SecretKind::hardware_address, SecretForm::pairs, at, run)};
  // "10.0.0.1:2049", "10.0.0.1-10.0.0.9".
  const std::string_view first = run.substr(0, run.find_first_of(":-"));
  if (parse_ipv4(first) && !follows_version(text, at))
    return {secret(SecretKind::address, SecretForm::ipv4, at, first)};
  const std::string_view ipv6 = run.substr(0, run.find('-'));
  if (parse_ipv6(ipv6)) return {secret(SecretKind::address, SecretForm::ipv6, at, ipv6)};
  return {};
}

// --- names in which a value follows fixed letters ---

struct Prefixed {
  std::string_view prefix;
  std::size_t digits;  // at least
  SecretKind kind;
};

Secrets prefixed_hex_at(std::string_view text, std::size_t at) {
  static constexpr std::array<Prefixed, 6> kForms{{{"wwn-0x", 16, SecretKind::serial},
                                                   {"naa.", 16, SecretKind::serial},
                                                   {"eui.", 16, SecretKind::serial},
                                                   {"sas_addr(0x", 16, SecretKind::serial},
                                                   {"sas_address(0x", 16, SecretKind::serial},
                                                   {"enx", 12, SecretKind::hardware_address}}};
  for (const auto& [prefix, digits, kind] : kForms) {
    if (!text.substr(at).starts_with(prefix)) continue;
    const std::size_t begin = at + prefix.size();
    const std::string_view value = run_at(text, begin, is_hex_digit);
    const bool is_pairs = kind == SecretKind::hardware_address;
    if (value.size() < digits || (is_pairs && value.size() != digits)) return {};
    if (!ends_word(text, begin + value.size())) return {};
    return {secret(kind, is_pairs ? SecretForm::pairs : SecretForm::digits, begin, value)};
  }
  return {};
}

// "iqn.2004-10.com.example:storage:17": the part after the first colon is the owner's.
Secrets initiator_at(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at);
  if (!rest.starts_with("iqn.") && !rest.starts_with("nqn.")) return {};
  const std::string_view whole = run_at(text, at, [](char c) { return is_name_letter(c) || c == ':'; });
  const std::size_t colon = whole.find(':');
  if (colon == std::string_view::npos || whole.substr(colon + 1).starts_with("uuid:")) return {};
  const std::string_view own = whole.substr(colon + 1);
  return {secret(SecretKind::serial, SecretForm::word, at + colon + 1, own)};
}

// "ip-10-1-2-3", a name that clouds give.
Secrets address_in_name_at(std::string_view text, std::size_t at) {
  if (!text.substr(at).starts_with("ip-")) return {};
  const std::string_view name = run_at(text, at, [](char c) { return is_word_letter(c) || c == '-'; });
  std::string numbers(name.substr(3));
  std::ranges::replace(numbers, '-', '.');
  if (!parse_ipv4(numbers)) return {};
  return {secret(SecretKind::host, SecretForm::name, at, name, true)};
}

// --- words in front of a value ---

Secrets host_after(std::string_view text, std::size_t at) {
  static constexpr std::array<std::string_view, 3> kBefore{"Hostname set to <", "nfs: server ", "\\\\"};
  for (const std::string_view before : kBefore) {
    if (!text.substr(at).starts_with(before)) continue;
    Secrets found;
    add_name(found, SecretKind::host, at + before.size(), name_at(text, at + before.size()));
    return found;
  }
  return {};
}

Secrets serial_after(std::string_view text, std::size_t at) {
  static constexpr std::array<std::string_view, 7> kBefore{
      "SerialNumber: ",  "Serial Number: ", "serial number ", "Serial Number ",
      "serial number: ", "S/N: ",           "product_serial "};
  for (const std::string_view before : kBefore) {
    if (!text.substr(at).starts_with(before)) continue;
    const std::size_t begin = at + before.size();
    std::string_view value = run_at(text, begin, [](char c) { return is_word_letter(c) || c == '-'; });
    const bool has_digit = std::ranges::any_of(value, [](unsigned char c) { return std::isdigit(c) != 0; });
    // "0000:00:14.0" of a USB controller.
    const bool is_of_bus = begin + value.size() < text.size() && text[begin + value.size()] == ':';
    if (value.size() < 4 || !has_digit || is_of_bus) return {};
    return {secret(SecretKind::serial, SecretForm::word, begin, value, true)};
  }
  return {};
}

Secrets user_after(std::string_view text, std::size_t at) {
  static constexpr std::array<std::string_view, 5> kBefore{"of user ", "for user ", "acct=\"",
                                                           "username=", "user="};
  for (const std::string_view before : kBefore) {
    if (!text.substr(at).starts_with(before)) continue;
    if (before.ends_with(' ') && text.find("ession") == std::string_view::npos) return {};
    Secrets found;
    const std::string_view name = name_at(text, at + before.size());
    if (name != "root") add_name(found, SecretKind::user, at + before.size(), name);
    return found;
  }
  return {};
}

// "pod ml/train-0"
Secrets pod_after(std::string_view text, std::size_t at) {
  constexpr std::string_view kBefore = "pod ";
  if (!text.substr(at).starts_with(kBefore)) return {};
  const std::size_t begin = at + kBefore.size();
  const std::string_view name_space = name_at(text, begin);
  const std::size_t slash = begin + name_space.size();
  if (name_space.empty() || slash >= text.size() || text[slash] != '/') return {};
  Secrets found;
  add_name(found, SecretKind::name_space, begin, name_space);
  add_name(found, SecretKind::pod, slash + 1, name_at(text, slash + 1));
  return found;
}

// --- paths ---

// "/var/log/pods/ml_train-0_8b7c1f8e-..."
void add_pod_folder(std::string_view text, std::size_t begin, Secrets& found) {
  const auto is_part = [](char c) { return is_name_letter(c) && c != '_'; };
  const std::string_view name_space = run_at(text, begin, is_part);
  const std::size_t next = begin + name_space.size();
  if (next >= text.size() || text[next] != '_') return;
  add_name(found, SecretKind::name_space, begin, name_space);
  const std::string_view pod = run_at(text, next + 1, is_part);
  add_name(found, SecretKind::pod, next + 1, pod);
  const std::size_t last = next + 1 + pod.size() + 1;
  if (last < text.size() && is_uuid_text(text.substr(last, kUuidSize)))
    found.push_back(secret(SecretKind::uuid, SecretForm::uuid, last, text.substr(last, kUuidSize)));
}

// "by-id/nvme-MODEL_SERIAL-part1": the partition remains.
void add_disk(std::string_view text, std::size_t begin, Secrets& found) {
  std::string_view name = run_at(text, begin, [](char c) { return is_name_letter(c) || c == ':'; });
  if (const auto part = name.rfind("-part"); part != std::string_view::npos) name = name.substr(0, part);
  if (!name.empty()) found.push_back(secret(SecretKind::serial, SecretForm::word, begin, name));
}

Secrets path_at(std::string_view text, std::size_t at) {
  static constexpr std::array<std::string_view, 3> kHomes{"/home/", "/Users/", "/users/"};
  const std::string_view rest = text.substr(at);
  Secrets found;
  // Most folders are ruled out by one letter.
  constexpr std::string_view kFirstLetters = "hUuvd";
  if (rest.size() < 2 || kFirstLetters.find(rest[1]) == std::string_view::npos) return found;
  for (const std::string_view home : kHomes)
    if (rest.starts_with(home))
      add_name(found, SecretKind::user, at + home.size(), name_at(text, at + home.size()));
  constexpr std::string_view kPods = "/var/log/pods/";
  if (rest.starts_with(kPods)) add_pod_folder(text, at + kPods.size(), found);
  constexpr std::string_view kDisks = "/dev/disk/by-id/";
  if (rest.starts_with(kDisks)) add_disk(text, at + kDisks.size(), found);
  return found;
}

// --- all of them ---

struct Finder {
  Secrets (*find)(std::string_view text, std::size_t at);
  std::string_view first;  // letters with which the recognised part begins; empty: any
};

// In the order in which they are asked.
constexpr std::array<Finder, 11> kFinders{{{&credentials_at, ""},
                                           {&uuid_at, "0123456789abcdefABCDEFp"},
                                           {&address_at, "0123456789abcdefABCDEF:"},
                                           {&long_hex_at, "0123456789abcdefABCDEF"},
                                           {&prefixed_hex_at, "wnes"},
                                           {&initiator_at, "in"},
                                           {&address_in_name_at, "i"},
                                           {&host_after, "Hn"},
                                           {&serial_after, "Ssp"},
                                           {&user_after, "ofau"},
                                           {&pod_after, "p"}}};

using FinderSet = std::uint16_t;  // a bit for each finder

constexpr std::array<FinderSet, 256> finders_by_letter() {
  std::array<FinderSet, 256> sets{};
  for (std::size_t letter = 0; letter < sets.size(); ++letter)
    for (std::size_t i = 0; i < kFinders.size(); ++i) {
      const std::string_view first = kFinders[i].first;
      const bool may_begin = first.empty() || first.find(static_cast<char>(letter)) != std::string_view::npos;
      if (may_begin) sets[letter] = static_cast<FinderSet>(sets[letter] | (1U << i));
    }
  return sets;
}

// A recording has millions of words, and nearly all of them are ruled out by their first letter.
constexpr std::array<FinderSet, 256> kFindersByLetter = finders_by_letter();

}  // namespace

bool is_word_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_';
}

std::string_view word_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_word_letter(text[end]))
    ++end;
  return text.substr(at, end - at);
}

bool is_hex_text(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_hex_digit);
}

bool is_uuid_text(std::string_view text) {
  constexpr std::array<std::size_t, 4> kSeparators{8, 13, 18, 23};
  if (text.size() != kUuidSize || (text[8] != '-' && text[8] != '_')) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_separator = std::ranges::find(kSeparators, i) != kSeparators.end();
    if (is_separator ? text[i] != text[8] : !is_hex_digit(text[i])) return false;
  }
  return true;
}

bool is_hardware_address(std::string_view text) {
  const std::size_t separator = text.find_first_of(":-");
  if (separator == std::string_view::npos) return false;
  const auto parts = split(text, text[separator]);
  const bool is_groups = parts.size() == 4 && separator == 4 && text[separator] == ':';
  const bool is_pairs = parts.size() == 6 || parts.size() == 8 || parts.size() == 20;
  if (!is_groups && !is_pairs) return false;
  return std::ranges::all_of(parts, [&](std::string_view part) {
    return part.size() == (is_groups ? 4U : 2U) && is_hex_text(part);
  });
}

std::optional<std::array<unsigned char, 4>> parse_ipv4(std::string_view text) {
  std::array<unsigned char, 4> address{};
  if (std::ranges::count(text, '.') != 3 || text.size() > INET_ADDRSTRLEN) return std::nullopt;
  if (::inet_pton(AF_INET, std::string(text).c_str(), address.data()) != 1) return std::nullopt;
  return address;
}

std::optional<std::array<unsigned char, 16>> parse_ipv6(std::string_view text) {
  std::array<unsigned char, 16> address{};
  if (std::ranges::count(text, ':') < 2 || text.size() > INET6_ADDRSTRLEN) return std::nullopt;
  if (::inet_pton(AF_INET6, std::string(text).c_str(), address.data()) != 1) return std::nullopt;
  return address;
}

std::vector<Secret> secrets_at(std::string_view text, std::size_t at) {
  if (text[at] == '/') return path_at(text, at);
  if (text[at] == '\\') return host_after(text, at);
  const bool begins_word = at == 0 || !is_word_letter(text[at - 1]);
  const bool may_begin = is_word_letter(text[at]) || (text[at] == ':' && text.substr(at).starts_with("::"));
  if (!begins_word || !may_begin) return {};
  const FinderSet finders = kFindersByLetter[static_cast<unsigned char>(text[at])];
  for (std::size_t i = 0; i < kFinders.size(); ++i)
    if ((finders >> i & 1U) != 0)
      if (Secrets found = kFinders[i].find(text, at); !found.empty()) return found;
  return {};
}

}  // namespace autopilot::cli
