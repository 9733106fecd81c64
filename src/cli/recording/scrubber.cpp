// SPDX-License-Identifier: Apache-2.0
#include "cli/recording/scrubber.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>

#include "core/parse.hpp"

namespace autopilot::cli {
namespace {

constexpr std::size_t kShortest = 4;

template <class... Numbers>
std::string print(const char* form, Numbers... numbers) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), form, numbers...);
  return text.data();
}

bool is_address_letter(char c) {
  return std::isxdigit(static_cast<unsigned char>(c)) != 0 || c == ':' || c == '.';
}

bool is_word_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Shorter values often have another meaning.
bool is_long_hex(std::string_view value) {
  constexpr std::size_t kShortestHex = 8;
  return value.size() >= kShortestHex &&
         std::ranges::all_of(value, [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; });
}

// True if a word begins at `at`, or only the 0x of a number precedes it.
bool begins_at(std::string_view text, std::size_t at, std::string_view value) {
  const auto begins_word = [text](std::size_t place) {
    return place == 0 || !is_word_letter(text[place - 1]);
  };
  if (begins_word(at)) return true;
  const bool follows_0x = at >= 2 && (text.substr(at - 2, 2) == "0x" || text.substr(at - 2, 2) == "0X");
  return follows_0x && begins_word(at - 2) && is_long_hex(value);
}

bool is_mac(std::string_view token) {
  const auto parts = split(token, ':');
  return parts.size() == 6 && std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
           return part.size() == 2 && parse_number<unsigned>(part, 16).has_value();
         });
}

bool is_ipv4(const std::string& token, std::array<unsigned char, 4>& address) {
  return ::inet_pton(AF_INET, token.c_str(), address.data()) == 1;
}

bool is_ipv6(const std::string& token) {
  std::array<unsigned char, 16> address{};
  const auto colons = std::count(token.begin(), token.end(), ':');
  return colons >= 2 && token != "::" && token != "::1" &&
         ::inet_pton(AF_INET6, token.c_str(), address.data()) == 1;
}

// Addresses that are the same on every machine.
bool is_ordinary(const std::array<unsigned char, 4>& address) {
  return address[0] == 0 || address[0] == 127 || address[0] == 255;
}

}  // namespace

void Scrubber::learn(Kind kind, std::string_view value) {
  value = trim(value);
  const bool is_too_short = value.size() < (kind == Kind::host ? 1 : kShortest);
  if (is_too_short || value == "localhost" || known_.contains(std::string(value))) return;
  std::string& stand_in = known_[std::string(value)];
  switch (kind) {
    case Kind::host:
      stand_in = print("node-%d", ++hosts_);
      break;
    case Kind::serial:
      stand_in = print("SERIAL%04d", ++serials_);
      break;
    case Kind::uuid:
      stand_in = value.starts_with("MIG-") ? "MIG" : "GPU";
      stand_in += print("-00000000-0000-0000-0000-%012d", ++uuids_);
      break;
    case Kind::guid:
      stand_in = print("0000:0000:0000:%04x", static_cast<unsigned>(++guids_));
      break;
    case Kind::container:
      stand_in = std::to_string(++containers_);
      stand_in.insert(0, value.size() - std::min(value.size(), stand_in.size()), '0');
      break;
  }
}

void Scrubber::learn_number(Kind kind, std::uint64_t number) {
  if (number == 0) return;
  const auto digits = static_cast<unsigned long long>(number);
  const std::string padded = print("%016llx", digits);
  learn(kind, padded);
  const std::string placeholder = known_.at(padded);
  for (const std::string& spelled : {print("%llx", digits), print("%llu", digits)})
    if (spelled.size() >= kShortest) known_.try_emplace(spelled, placeholder);
}

void Scrubber::learn_pod(const std::string& uid) {
  if (uid.empty() || known_.contains(uid)) return;
  std::string spelled = uid;
  std::string placeholder = print("00000000-0000-4000-8000-%012d", ++pods_);
  known_[spelled] = placeholder;
  known_["pod" + spelled] = "pod" + placeholder;
  std::ranges::replace(spelled, '-', '_');
  std::ranges::replace(placeholder, '-', '_');
  known_["pod" + spelled] = "pod" + placeholder;
}

void Scrubber::learn_address_in_hex(std::string_view digits) {
  if (digits.find_first_not_of('0') == std::string_view::npos || known_.contains(std::string(digits))) return;
  if (digits.size() == 32) {
    known_[std::string(digits)] = print("20010db8%024x", static_cast<unsigned>(++ipv6_));
    return;
  }
  const auto number = digits.size() == 8 ? parse_number<std::uint32_t>(digits, 16) : std::nullopt;
  if (!number) return;
  std::array<unsigned char, 4> address{};
  std::memcpy(address.data(), &*number, address.size());
  std::array<char, INET_ADDRSTRLEN> text{};
  const std::string placeholder = stand_in(::inet_ntop(AF_INET, address.data(), text.data(), text.size()));
  std::uint32_t other = 0;
  ::inet_pton(AF_INET, placeholder.c_str(), &other);
  known_[std::string(digits)] = print("%08X", other);
}

std::string Scrubber::replace_known(std::string_view text) const {
  std::string out(text);
  for (const auto& [value, stand_in] : known_) {
    for (std::size_t at = out.find(value); at != std::string::npos; at = out.find(value, at)) {
      const std::size_t end = at + value.size();
      // A value inside a longer word is not a match.
      if (!begins_at(out, at, value) || (end < out.size() && is_word_letter(out[end]))) {
        at = end;
        continue;
      }
      out.replace(at, value.size(), stand_in);
      at += stand_in.size();
    }
  }
  return out;
}

std::string Scrubber::stand_in(std::string_view token) {
  std::string address(token);
  if (const auto found = addresses_.find(address); found != addresses_.end()) return found->second;
  std::array<unsigned char, 4> ipv4{};
  if (is_mac(token)) {
    if (token == "00:00:00:00:00:00" || token == "ff:ff:ff:ff:ff:ff") return address;
    const auto number = static_cast<unsigned>(++macs_);
    return addresses_[address] = print("02:00:00:00:%02x:%02x", (number >> 8U) & 255U, number & 255U);
  }
  if (is_ipv4(address, ipv4)) {
    if (is_ordinary(ipv4)) return address;
    const auto number = static_cast<unsigned>(++ipv4_);
    return addresses_[address] = print("198.18.%u.%u", (number >> 8U) & 255U, number & 255U);
  }
  if (is_ipv6(address)) return addresses_[address] = print("2001:db8::%x", static_cast<unsigned>(++ipv6_));
  return address;
}

std::string Scrubber::apply(std::string_view text) {
  const std::string named = replace_known(text);
  std::string out;
  for (std::size_t at = 0; at < named.size();) {
    const bool begins_word = at == 0 || !is_word_letter(named[at - 1]);
    std::size_t end = at;
    while (begins_word && end < named.size() && is_address_letter(named[end]))
      ++end;
    // "10.0.0.1:" precedes a path, "10.0.0.1." ends a sentence.
    std::size_t last = end;
    while (last > at && (named[last - 1] == '.' || (named[last - 1] == ':' && end - at < 39)))
      --last;
    if (last == at) {
      out += named[at++];
      continue;
    }
    const bool ends_word = last == named.size() || !is_word_letter(named[last]);
    const std::string_view token = std::string_view(named).substr(at, last - at);
    out += ends_word ? stand_in(token) : std::string(token);
    at = last;
  }
  return out;
}

}  // namespace autopilot::cli
