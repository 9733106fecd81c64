// SPDX-License-Identifier: Apache-2.0
#include "catalog/catalog.hpp"
#include "catalog/compact.hpp"

namespace autopilot::catalog {
namespace {

std::string join(std::span<const std::string_view> pieces) {
  std::string text;
  for (const std::string_view piece : pieces)
    text += piece;
  return text;
}

}  // namespace

const Catalog& builtin() {
  // Never destroyed: a check that hangs may still use it when the process ends.
  static const Catalog& catalog = *new Catalog(from_compact(join(embedded_compact())));
  return catalog;
}

const std::map<std::string, std::string>& builtin_files() {
  static const std::map<std::string, std::string> files = [] {
    std::map<std::string, std::string> texts;
    for (const EmbeddedFile& file : embedded_files())
      texts.emplace(file.name, join(file.pieces));
    return texts;
  }();
  return files;
}

}  // namespace autopilot::catalog
