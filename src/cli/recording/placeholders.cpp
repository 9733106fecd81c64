// SPDX-License-Identifier: Apache-2.0
#include "cli/recording/placeholders.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <optional>
#include <vector>

#include "core/parse.hpp"
#include "core/word_table.hpp"

namespace autopilot::cli {
namespace {

// Placeholders with higher numbers are taken for values.
constexpr std::uint64_t kMostNumbered = 99'999;
constexpr std::size_t kShortestNumbered = 8;

template <class... Numbers>
std::string spelled(const char* form, Numbers... numbers) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), form, numbers...);
  return text.data();
}

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}
bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

std::string without(std::string_view text, std::string_view separators) {
  std::string plain(text);
  std::erase_if(plain, [separators](char c) { return separators.find(c) != std::string_view::npos; });
  return to_lower(plain);
}

// The digits of `plain` where `pattern` has digits, its separators where it has separators.
std::string in_form_of(std::string_view pattern, std::string_view plain, std::string_view separators) {
  std::string text(pattern);
  std::size_t next = 0;
  for (char& c : text)
    if (separators.find(c) == std::string_view::npos && next < plain.size()) c = plain[next++];
  return text;
}

std::string_view name_stem(SecretKind kind) {
  switch (kind) {
    case SecretKind::host:
      return "node-";
    case SecretKind::user:
      return "user-";
    case SecretKind::name_space:
      return "namespace-";
    default:
      return "pod-";
  }
}

bool is_numbered(std::string_view text, std::string_view stem, std::string_view end = {}) {
  if (!text.starts_with(stem) || !text.ends_with(end) || text.size() <= stem.size() + end.size())
    return false;
  const auto number =
      parse_number<std::uint64_t>(text.substr(stem.size(), text.size() - stem.size() - end.size()));
  return number && *number > 0 && *number <= kMostNumbered;
}

// Places for the digits of a number, from the right: those of digits, or else of letters.
std::string numbered_word(std::string_view word, std::uint64_t number) {
  std::string text(word);
  for (char& c : text)
    if (is_letter(c))
      c = std::isupper(static_cast<unsigned char>(c)) != 0 ? 'X' : 'x';
    else if (is_digit(c))
      c = '0';
  for (auto c = text.rbegin(); c != text.rend() && number > 0; ++c)
    if (is_digit(*c)) {
      *c = static_cast<char>('0' + number % 10);
      number /= 10;
    }
  for (auto c = text.rbegin(); c != text.rend() && number > 0; ++c)
    if (is_letter(*c)) {
      *c = static_cast<char>((*c == 'X' ? 'A' : 'a') + number % 23);
      number /= 23;
    }
  // A word without places for the number gets them.
  return number == 0 ? text : text + std::to_string(number);
}

// Words of few digits are values.
bool is_numbered_word(std::string_view word) {
  constexpr std::uint64_t kMost = 999;
  const bool has_letters = std::ranges::any_of(word, is_letter);
  if (!has_letters && word.size() < kShortestNumbered) return false;
  for (std::uint64_t number = 1; number <= kMost; ++number)
    if (numbered_word(word, number) == word) return true;
  return false;
}

bool is_numbered_digits(std::string_view digits) {
  const auto number = parse_number<std::uint64_t>(digits.substr(digits.find_first_not_of('0')));
  return digits.size() >= kShortestNumbered && number && *number <= kMostNumbered;
}

// The networks of examples, then of measurements, then reserved ones.
std::string documentation_net(std::uint64_t number) {
  static constexpr std::array<std::string_view, 3> kExamples{"192.0.2.", "198.51.100.", "203.0.113."};
  constexpr std::uint64_t kOfMeasurements = 512;
  if (number == 0) return "IPv4";
  if (number <= kExamples.size()) return std::string(kExamples[number - 1]);
  std::uint64_t rest = number - kExamples.size() - 1;
  const auto byte = [&rest](unsigned place) { return static_cast<unsigned>(rest >> (8 * place) & 0xffU); };
  if (rest < kOfMeasurements) return spelled("198.%u.%u.", 18 + byte(1), byte(0));
  rest -= kOfMeasurements;
  return spelled("%u.%u.%u.", 240 + (byte(2) & 0xfU), byte(1), byte(0));
}

}  // namespace

bool is_blank_digits(std::string_view digits) {
  return digits.find_first_not_of('0') == std::string_view::npos ||
         digits.find_first_not_of("fF") == std::string_view::npos;
}

std::string_view plural_of(SecretKind kind) {
  static constexpr WordTable<SecretKind, kSecretKinds> kWords{
      {{SecretKind::host, "host names"},
       {SecretKind::user, "user names"},
       {SecretKind::pod, "pod names"},
       {SecretKind::name_space, "namespaces"},
       {SecretKind::serial, "serial numbers"},
       {SecretKind::uuid, "UUIDs"},
       {SecretKind::container, "container ids"},
       {SecretKind::hardware_address, "hardware addresses"},
       {SecretKind::address, "network addresses"},
       {SecretKind::credential, "credentials"}}};
  return word_of(kWords, kind);
}

template <class Spell>
std::string Placeholders::assign(SecretKind kind, const std::string& key, const std::string& itself,
                                 bool is_placeholder, const Spell& spell) {
  const auto [known, is_new] = known_.try_emplace(Key{kind, key});
  if (!is_new) return known->second;
  if (is_placeholder && used_.insert(itself).second) return known->second = itself;
  std::uint64_t& last = next_[spell(0)];
  std::string found = spell(++last);
  while (!used_.insert(found).second)
    found = spell(++last);
  return known->second = found;
}

std::string Placeholders::of_name(SecretKind kind, std::string_view name) {
  const std::string stem(name_stem(kind));
  return assign(kind, std::string(name), std::string(name), is_numbered(name, stem),
                [&stem](std::uint64_t number) { return stem + std::to_string(number); });
}

std::string Placeholders::of_domain(std::string_view domain) {
  return assign(SecretKind::host, "." + std::string(domain), std::string(domain),
                is_numbered(domain, "domain-", ".example"),
                [](std::uint64_t number) { return "domain-" + std::to_string(number) + ".example"; });
}

std::string Placeholders::of_word(SecretKind kind, std::string_view word) {
  return assign(kind, std::string(word), std::string(word), is_numbered_word(word),
                [word](std::uint64_t number) { return numbered_word(word, number); });
}

std::string Placeholders::of_digits(SecretKind kind, std::string_view digits) {
  if (digits.find_first_not_of('0') == std::string_view::npos) return std::string(digits);
  return assign(kind, std::string(digits), std::string(digits), is_numbered_digits(digits),
                [size = digits.size()](std::uint64_t number) {
                  std::string text = std::to_string(number);
                  if (text.size() < size) text.insert(0, size - text.size(), '0');
                  return text;
                });
}

std::string Placeholders::of_uuid(std::string_view uuid) {
  constexpr std::string_view kSeparators = "-_";
  constexpr std::string_view kBegin = "00000000000040008000";
  const std::string plain = without(uuid, kSeparators);
  if (is_blank_digits(plain)) return std::string(uuid);
  const std::string placeholder =
      assign(SecretKind::uuid, plain, plain, plain.starts_with(kBegin), [&](std::uint64_t number) {
        return std::string(kBegin) + spelled("%012llu", static_cast<unsigned long long>(number));
      });
  return in_form_of(uuid, placeholder, kSeparators);
}

std::string Placeholders::of_hardware_address(std::string_view pairs) {
  constexpr std::string_view kSeparators = ":-";
  const std::string plain = without(pairs, kSeparators);
  if (is_blank_digits(plain)) return std::string(pairs);
  const std::string begin = "02" + std::string(plain.size() - 8, '0');
  const std::string placeholder = assign(
      SecretKind::hardware_address, plain, plain, plain.starts_with(begin), [&begin](std::uint64_t number) {
        return begin + spelled("%06llx", static_cast<unsigned long long>(number & 0xffffffU));
      });
  return in_form_of(pairs, placeholder, kSeparators);
}

std::string Placeholders::of_ipv4(const std::array<unsigned char, 4>& address) {
  const auto [a, b, c, d] = address;
  const std::string text = spelled("%u.%u.%u.%u", a, b, c, d);
  const bool is_ordinary = a == 0 || a == 127 || a >= 224 || text == "169.254.169.254";
  if (is_ordinary) return text;
  const std::string net = spelled("%u.%u.%u.", a, b, c);
  const bool is_reserved =
      net == "192.0.2." || net == "198.51.100." || net == "203.0.113." || (a == 198 && (b == 18 || b == 19));
  const std::string net_placeholder = assign(SecretKind::address, net, net, is_reserved, documentation_net);
  // The address of the network and its broadcast address have a meaning.
  if (d == 0 || d == 255) return net_placeholder + std::to_string(d);
  return assign(
      SecretKind::address, text, text, net == net_placeholder,
      [&net_placeholder](std::uint64_t number) { return net_placeholder + std::to_string(number); });
}

std::string Placeholders::of_ipv6(const std::array<unsigned char, 16>& address) {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  const std::string text = ::inet_ntop(AF_INET6, address.data(), buffer.data(), buffer.size());
  // A request for the owner of an address contains its end.
  constexpr std::string_view kOfOwner = "ff02::1:ff";
  const bool is_of_owner = text.starts_with(kOfOwner);
  const bool is_multicast = address[0] == 0xff;
  if (text == "::1" || text == "::" || (is_multicast && !is_of_owner)) return text;
  const bool is_link_local = address[0] == 0xfe && (address[1] & 0xc0U) == 0x80;
  const std::string net = is_of_owner ? "ff02::1:ff00:" : is_link_local ? "fe80::" : net_of_ipv6(address);
  const bool is_placeholder = text.starts_with(net) && text.size() <= net.size() + 4 && text != "fe80::";
  return assign(SecretKind::address, text, text, is_placeholder, [&net](std::uint64_t number) {
    return net + spelled("%llx", static_cast<unsigned long long>(number));
  });
}

std::string Placeholders::net_of_ipv6(const std::array<unsigned char, 16>& address) {
  constexpr std::string_view kReserved("\x20\x01\x0d\xb8\0\0", 6);
  const std::string net(reinterpret_cast<const char*>(address.data()), 8);
  const auto spell = [](std::uint64_t number) {
    return spelled("2001:db8:0:%llx:", static_cast<unsigned long long>(number));
  };
  const std::uint64_t number = (static_cast<std::uint64_t>(address[6]) << 8U) | address[7];
  const bool is_placeholder = net.starts_with(kReserved) && number > 0;
  return assign(SecretKind::address, net, spell(number), is_placeholder, spell) + ":";
}

std::uint64_t Placeholders::of_number(SecretKind kind, std::uint64_t number) {
  const std::string text =
      assign(kind, "#" + std::to_string(number), "#" + std::to_string(number), number <= kMostNumbered,
             [](std::uint64_t other) { return "#" + std::to_string(other); });
  return parse_number<std::uint64_t>(std::string_view(text).substr(1)).value_or(0);
}

}  // namespace autopilot::cli
