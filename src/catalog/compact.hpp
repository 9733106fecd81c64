// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "catalog/catalog.hpp"

namespace autopilot::catalog {

// The facts in a form that is decoded in microseconds, while YAML takes tens of milliseconds; the build
// compiles it into the program. Not a file format: it has no version, and its reader trusts it.
[[nodiscard]] std::string to_compact(const Facts& facts);
[[nodiscard]] std::string to_compact(const Catalog& catalog);
// Aborts on any text that to_compact did not write.
[[nodiscard]] Facts from_compact(std::string_view text);

// Output of tools/catalog_compiler. Long texts are in pieces, because compilers limit a literal.
struct EmbeddedFile {
  std::string_view name;
  std::span<const std::string_view> pieces;
};

[[nodiscard]] std::span<const EmbeddedFile> embedded_files();
[[nodiscard]] std::span<const std::string_view> embedded_compact();

}  // namespace autopilot::catalog
