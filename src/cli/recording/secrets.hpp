// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cli/recording/placeholders.hpp"

namespace autopilot::cli {

// How a secret is written, and so its placeholder.
enum class SecretForm : std::uint8_t { name, word, digits, uuid, pairs, ipv4, ipv6 };

// A part of a text that identifies a machine or its owner.
struct Secret {
  SecretKind kind = SecretKind::host;
  SecretForm form = SecretForm::word;
  std::size_t begin = 0;
  std::size_t size = 0;
  bool is_learned = false;  // found by the words around it; also to be replaced where it stands alone
};

// Secrets that their form or the words in front of them show, if the recognised part begins at `at`, in the
// order of the text. Finds UUIDs, hardware and network addresses, ids of containers, worldwide names,
// credentials, home folders, and names after words such as "Hostname set to". Leaves PCI addresses, versions,
// registers, functions of the kernel and numbers. Pure.
[[nodiscard]] std::vector<Secret> secrets_at(std::string_view text, std::size_t at);

[[nodiscard]] bool is_word_letter(char c);
// The letters, digits and underscores from `at` on.
[[nodiscard]] std::string_view word_at(std::string_view text, std::size_t at);
// "8b7c1f8e-0d55-4f9c-a2a3-1d2f3a4b5c6d", also with underscores.
[[nodiscard]] bool is_uuid_text(std::string_view text);
// Six, eight or twenty pairs of hexadecimal digits, or four groups of four, with colons.
[[nodiscard]] bool is_hardware_address(std::string_view text);
[[nodiscard]] bool is_hex_text(std::string_view text);
[[nodiscard]] std::optional<std::array<unsigned char, 4>> parse_ipv4(std::string_view text);
[[nodiscard]] std::optional<std::array<unsigned char, 16>> parse_ipv6(std::string_view text);

}  // namespace autopilot::cli
