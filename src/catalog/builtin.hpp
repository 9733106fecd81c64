// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace autopilot::catalog {

// What tools/catalog_compiler wrote: long texts come in pieces, because compilers limit a literal.
struct EmbeddedFile {
  std::string_view name;
  std::span<const std::string_view> pieces;
};

[[nodiscard]] std::span<const EmbeddedFile> embedded_files();
[[nodiscard]] std::span<const std::string_view> embedded_compact();

}  // namespace autopilot::catalog
