// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "catalog/catalog.hpp"

namespace autopilot::catalog {

// The facts in a form that is read in microseconds, where YAML takes tens of milliseconds: the build writes
// it into the program. Not a format for files: it holds no version and its reader trusts it.
[[nodiscard]] std::string to_compact(const Facts& facts);
[[nodiscard]] std::string to_compact(const Catalog& catalog);
// Aborts on anything that to_compact did not write.
[[nodiscard]] Facts from_compact(std::string_view text);

// What tools/catalog_compiler wrote: long texts come in pieces, because compilers limit a literal.
struct EmbeddedFile {
  std::string_view name;
  std::span<const std::string_view> pieces;
};

[[nodiscard]] std::span<const EmbeddedFile> embedded_files();
[[nodiscard]] std::span<const std::string_view> embedded_compact();

}  // namespace autopilot::catalog
