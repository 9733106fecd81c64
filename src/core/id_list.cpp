// SPDX-License-Identifier: Apache-2.0
#include "core/id_list.hpp"

#include <string>

#include "core/parse.hpp"

namespace autopilot {

Result<std::vector<int>> parse_id_list(std::string_view text) {
  std::vector<int> ids;
  if (trim(text).empty()) return ids;
  for (const std::string_view part : split(trim(text), ',')) {
    const std::size_t dash = part.find('-');
    const auto first = parse_number<int>(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_number<int>(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first)
      return fail(Errc::malformed, "`" + std::string(part) + "` is not an id or a range of ids");
    if (ids.size() + static_cast<std::size_t>(*last - *first) >= kMaxIdsInList)
      return fail(Errc::exhausted, "the list has more than " + std::to_string(kMaxIdsInList) + " ids");
    for (int id = *first; id <= *last; ++id)
      ids.push_back(id);
  }
  return ids;
}

}  // namespace autopilot
