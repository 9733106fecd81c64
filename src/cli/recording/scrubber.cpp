// SPDX-License-Identifier: Apache-2.0
#include "cli/recording/scrubber.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::cli {
namespace {

constexpr std::size_t kShortestName = 3;
constexpr std::size_t kLongestName = 253;

std::size_t index_of(SecretKind kind) {
  return static_cast<std::size_t>(kind);
}

template <class... Numbers>
std::string number_text(const char* form, Numbers... numbers) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), form, numbers...);
  return text.data();
}

// The same on every machine.
bool is_ordinary_host(std::string_view name) {
  return name.empty() || name == "localhost" || name.starts_with("localhost.") || name == "(none)" ||
         name.ends_with("cluster.local") || parse_ipv4(name) || parse_ipv6(name);
}

bool means_missing(std::string_view serial) {
  static constexpr std::array<std::string_view, 8> kMissing{"n/a",
                                                            "none",
                                                            "unknown",
                                                            "not specified",
                                                            "to be filled by o.e.m.",
                                                            "default string",
                                                            "0123456789",
                                                            "system serial number"};
  return std::ranges::find(kMissing, to_lower(serial)) != kMissing.end() ||
         serial.find_first_not_of("0 -") == std::string_view::npos;
}

std::size_t digits_in(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](unsigned char c) { return std::isdigit(c) != 0; }));
}

// Shorter ones also occur as numbers and words that mean something else.
bool is_distinctive_serial(std::string_view value) {
  constexpr std::size_t kShortest = 6;
  constexpr std::size_t kShortestNumber = 10;
  const std::size_t digits = digits_in(value);
  return value.size() >= kShortest && digits >= 2 && (digits < value.size() || digits >= kShortestNumber);
}

}  // namespace

bool Scrubber::is_distinctive(std::string_view name) const {
  if (name.size() < kShortestName || name.size() > kLongestName || is_hex_text(name)) return false;
  return digits_in(name) < name.size() && !words_.contains(name);
}

void Scrubber::remember(SecretKind kind, std::string_view value, std::string placeholder) {
  const std::string_view first = word_at(value, 0);
  if (first.empty()) return;
  std::vector<Known>& known = known_[std::string(first)];
  if (std::ranges::find(known, value, &Known::value) != known.end()) return;
  known.push_back({.value = std::string(value), .placeholder = std::move(placeholder), .kind = kind});
  std::ranges::stable_sort(known, std::ranges::greater{}, [](const Known& one) { return one.value.size(); });
}

std::string Scrubber::name_of(SecretKind kind, std::string_view name) {
  const std::size_t dot = name.find('.');
  if (kind != SecretKind::host || dot == std::string_view::npos || dot == 0)
    return placeholders_.of_name(kind, name);
  return placeholders_.of_name(kind, name.substr(0, dot)) + "." +
         placeholders_.of_domain(name.substr(dot + 1));
}

void Scrubber::learn_name(SecretKind kind, std::string_view name) {
  name = trim(name);
  if (kind == SecretKind::host && is_ordinary_host(name)) return;
  if (is_distinctive(name)) remember(kind, name, name_of(kind, name));
  const std::size_t dot = name.find('.');
  if (kind == SecretKind::host && dot != std::string_view::npos) learn_name(kind, name.substr(0, dot));
}

void Scrubber::learn_serial(std::string_view value) {
  value = trim(value);
  if (means_missing(value) || !is_distinctive_serial(value) || words_.contains(value)) return;
  remember(SecretKind::serial, value, placeholders_.of_word(SecretKind::serial, value));
}

void Scrubber::learn_number(SecretKind kind, std::uint64_t number) {
  constexpr std::uint64_t kSmallest = std::uint64_t{1} << 32U;
  if (number < kSmallest) return;
  const auto digits = static_cast<unsigned long long>(number);
  const auto other = static_cast<unsigned long long>(placeholders_.of_number(kind, number));
  for (const auto& [spelled, placeholder] :
       {std::pair(number_text("%016llx", digits), number_text("%016llx", other)),
        std::pair(number_text("%llx", digits), number_text("%llx", other)),
        std::pair(number_text("%llu", digits), number_text("%llu", other))}) {
    std::string padded = placeholder;
    padded.insert(0, spelled.size() - std::min(spelled.size(), padded.size()), '0');
    remember(kind, spelled, padded);
    remember(kind, "0x" + spelled, "0x" + padded);
  }
}

const Scrubber::Known* Scrubber::known_at(std::string_view text, std::size_t at) const {
  const auto found = known_.find(word_at(text, at));
  if (found == known_.end()) return nullptr;
  for (const Known& one : found->second) {
    const std::size_t end = at + one.value.size();
    if (text.substr(at).starts_with(one.value) && (end >= text.size() || !is_word_letter(text[end])))
      return &one;
  }
  return nullptr;
}

std::string Scrubber::counted(SecretKind kind, std::string_view value, std::string placeholder) {
  if (placeholder == value) return placeholder;
  replaced_[index_of(kind)].emplace(value);
  ++places_[index_of(kind)];
  return placeholder;
}

std::string Scrubber::placeholder_of(const Secret& secret, std::string_view value) {
  switch (secret.form) {
    case SecretForm::name:
      if (secret.kind == SecretKind::host && is_ordinary_host(value)) return std::string(value);
      if (secret.is_learned) learn_name(secret.kind, value);
      return name_of(secret.kind, value);
    case SecretForm::word:
      if (secret.is_learned) learn_serial(value);
      return placeholders_.of_word(secret.kind, value);
    case SecretForm::digits:
      return placeholders_.of_digits(secret.kind, value);
    case SecretForm::uuid:
      return placeholders_.of_uuid(value);
    case SecretForm::pairs:
      return placeholders_.of_hardware_address(value);
    case SecretForm::ipv4:
      return placeholders_.of_ipv4(*parse_ipv4(value));
    case SecretForm::ipv6: {
      // An address that stays also keeps its spelling: "0::/kubepods" begins like one.
      const std::string placeholder = placeholders_.of_ipv6(*parse_ipv6(value));
      return parse_ipv6(placeholder) == parse_ipv6(value) ? std::string(value) : placeholder;
    }
  }
  return std::string(value);
}

std::string Scrubber::apply(std::string_view text) {
  std::string out;
  std::size_t copied = 0;  // of the text, as it is or replaced
  const auto replace = [&](std::size_t begin, std::size_t size, const std::string& placeholder) {
    out.append(text.substr(copied, begin - copied)).append(placeholder);
    copied = begin + size;
  };
  for (std::size_t at = 0; at < text.size();) {
    const bool begins_word = is_word_letter(text[at]) && (at == 0 || !is_word_letter(text[at - 1]));
    if (const Known* known = begins_word ? known_at(text, at) : nullptr) {
      replace(at, known->value.size(), counted(known->kind, known->value, known->placeholder));
      at = copied;
      continue;
    }
    const std::vector<Secret> secrets = secrets_at(text, at);
    for (const Secret& secret : secrets) {
      const std::string_view value = text.substr(secret.begin, secret.size);
      replace(secret.begin, secret.size, counted(secret.kind, value, placeholder_of(secret, value)));
    }
    if (secrets.empty())
      at += begins_word ? word_at(text, at).size() : 1;
    else
      at = copied;
  }
  out += text.substr(copied);
  return out;
}

std::string Scrubber::apply_name(SecretKind kind, std::string_view name) {
  const std::string_view value = trim(name);
  if (value.empty() || (kind == SecretKind::host && is_ordinary_host(value))) return apply(name);
  learn_name(kind, value);
  const auto begin = static_cast<std::size_t>(value.data() - name.data());
  return std::string(name.substr(0, begin)) + counted(kind, value, name_of(kind, value)) +
         std::string(name.substr(begin + value.size()));
}

std::string Scrubber::apply_serial(std::string_view value) {
  const std::string_view serial = trim(value);
  if (means_missing(serial)) return std::string(value);
  learn_serial(serial);
  const auto begin = static_cast<std::size_t>(serial.data() - value.data());
  return std::string(value.substr(0, begin)) +
         counted(SecretKind::serial, serial, placeholders_.of_word(SecretKind::serial, serial)) +
         std::string(value.substr(begin + serial.size()));
}

std::string Scrubber::apply_hex_address(std::string_view digits) {
  constexpr std::size_t kIpv6 = 32;
  if (!is_hex_text(digits)) return std::string(digits);
  if (digits.size() == kIpv6) {
    std::array<unsigned char, 16> address{};
    for (std::size_t i = 0; i < address.size(); ++i)
      address[i] = parse_number<unsigned char>(digits.substr(2 * i, 2), 16).value_or(0);
    const std::string placeholder = placeholders_.of_ipv6(address);
    const auto other = parse_ipv6(placeholder).value_or(address);
    std::string text;
    for (const unsigned char byte : other)
      text += number_text("%02x", static_cast<unsigned>(byte));
    return counted(SecretKind::address, digits, text);
  }
  const auto number = digits.size() == 8 ? parse_number<std::uint32_t>(digits, 16) : std::nullopt;
  if (!number) return std::string(digits);
  std::array<unsigned char, 4> address{};
  std::memcpy(address.data(), &*number, address.size());
  const auto other = parse_ipv4(placeholders_.of_ipv4(address)).value_or(address);
  std::uint32_t written = 0;
  std::memcpy(&written, other.data(), other.size());
  return counted(SecretKind::address, digits, number_text("%08X", written));
}

ScrubCounts Scrubber::counts() const {
  ScrubCounts counts;
  for (std::size_t kind = 0; kind < counts.size(); ++kind)
    counts[kind] = {.values = replaced_[kind].size(), .places = places_[kind]};
  return counts;
}

void Scrubber::reset_counts() {
  replaced_ = {};
  places_ = {};
}

}  // namespace autopilot::cli
