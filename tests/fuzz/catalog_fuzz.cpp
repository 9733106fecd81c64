// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "catalog/catalog.hpp"
#include "catalog/compact.hpp"
#include "core/result.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::catalog_fuzz {

// The first byte picks the file. What is accepted survives the form that is compiled in.
int run(const std::uint8_t* data, std::size_t size) {
  using namespace autopilot::catalog;
  static const char* const names[] = {"thresholds.yaml",
                                      "reasons.yaml",
                                      "xid.yaml",
                                      "gpu_models.yaml",
                                      "counters.yaml",
                                      "profiles.yaml",
                                      "checks.yaml",
                                      "log_rules/x.yaml",
                                      "none.yaml",
                                      "sxid.yaml",
                                      "nvlink_errors.yaml",
                                      "link_down_reasons.yaml",
                                      "nvlink_registers.yaml",
                                      "dcgm_errors.yaml"};
  if (size == 0) return 0;
  const std::string name = names[data[0] % std::size(names)];
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto catalog = Catalog::parse({{name, std::string(text)}});
  if (!catalog) {
    AUTOPILOT_ASSERT(!catalog.error().what.empty());
    return 0;
  }
  const std::string compact = to_compact(*catalog);
  AUTOPILOT_ASSERT(to_compact(Catalog(from_compact(compact))) == compact);
  return 0;
}

}  // namespace autopilot::catalog_fuzz
