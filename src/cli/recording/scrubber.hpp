// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/recording/placeholders.hpp"
#include "cli/recording/secrets.hpp"

namespace autopilot::cli {

// How many values of a kind were replaced, and at how many places.
struct ScrubCount {
  std::size_t values = 0;
  std::size_t places = 0;
};

// By SecretKind.
using ScrubCounts = std::array<ScrubCount, kSecretKinds>;

using Words = std::set<std::string, std::less<>>;

// Replaces what identifies a machine or its owner, the same value by the same placeholder in every text.
// UUIDs, addresses and credentials are found by their form; names and serials are learned first, or by the
// words in front of them. Only whole words are replaced. Touches nothing but its own state; not thread-safe.
class Scrubber {
 public:
  // `words`: of the kernel and of devices. A name that is one of them is replaced only where it is certain to
  // be the name.
  explicit Scrubber(Words words = {}) : words_(std::move(words)) {}

  // A name with its domain is learned with and without it. Ignores "localhost", addresses and empty values.
  void learn_name(SecretKind kind, std::string_view name);
  // A serial number. Ignores texts that mean that there is none.
  void learn_serial(std::string_view value);
  // 64 bits that identify a device, in every spelling of the kernel: decimal, hexadecimal, and hexadecimal
  // with sixteen digits. Ignores small numbers.
  void learn_number(SecretKind kind, std::uint64_t number);

  // Any text. Names that it shows are learned for the texts after it.
  [[nodiscard]] std::string apply(std::string_view text);
  // A text that is nothing but a value of that kind, also if it is too ordinary to be learned.
  [[nodiscard]] std::string apply_name(SecretKind kind, std::string_view name);
  [[nodiscard]] std::string apply_serial(std::string_view value);
  // An address of the kernel's routing tables: eight digits of IPv4 in host byte order, or thirty-two of
  // IPv6. Another text stays.
  [[nodiscard]] std::string apply_hex_address(std::string_view digits);

  // Of all calls of apply since the last reset.
  [[nodiscard]] ScrubCounts counts() const;
  void reset_counts();

 private:
  struct Known {
    std::string value;
    std::string placeholder;
    SecretKind kind;
  };

  void remember(SecretKind kind, std::string_view value, std::string placeholder);
  [[nodiscard]] const Known* known_at(std::string_view text, std::size_t at) const;
  std::string placeholder_of(const Secret& secret, std::string_view value);
  std::string name_of(SecretKind kind, std::string_view name);
  [[nodiscard]] bool is_distinctive(std::string_view name) const;
  std::string counted(SecretKind kind, std::string_view value, std::string placeholder);

  Words words_;
  Placeholders placeholders_;
  // By the first word of the value, longest first.
  std::map<std::string, std::vector<Known>, std::less<>> known_;
  std::array<Words, kSecretKinds> replaced_;
  std::array<std::size_t, kSecretKinds> places_{};
};

}  // namespace autopilot::cli
