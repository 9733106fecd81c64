// SPDX-License-Identifier: Apache-2.0
#include "host/machine_tree/unreadable_files.hpp"

#include <string>
#include <thread>

namespace autopilot::host {
namespace {

bool is_at_or_below(std::string_view path, std::string_view place) {
  return path.starts_with(place) && (path.size() == place.size() || path[place.size()] == '/');
}

}  // namespace

Status UnreadableFiles::pass(std::string_view path) const {
  while (true) {
    const auto tree = TRY(tree_.read());
    const TreeObstacle found = obstacle(*tree, path);
    if (found.error) return fail(*found.error, std::string(path) + ": the machine tree says so");
    if (!found.hangs) return {};
    std::this_thread::sleep_for(kHangPoll);
  }
}

TreeObstacle UnreadableFiles::obstacle(const MachineTree& tree, std::string_view path) const {
  if (tree.unreadable.empty()) return {};
  const std::string real = files_.resolve(path).value_or(std::string(path));
  for (const auto& [place, obstacle] : tree.unreadable)
    if (is_at_or_below(path, place) || is_at_or_below(real, files_.resolve(place).value_or(place)))
      return obstacle;
  return {};
}

}  // namespace autopilot::host
