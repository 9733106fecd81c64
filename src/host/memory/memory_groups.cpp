// SPDX-License-Identifier: Apache-2.0
#include "host/memory/memory_groups.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/parse.hpp"
#include "host/process/processes.hpp"

namespace autopilot::host {
namespace {

// One hierarchy of control groups, and the counter that is read of them.
struct Hierarchy {
  std::string_view root;
  std::string_view kills;
  std::string_view limit;
  bool counts_below = false;  // a group counts the kills of the groups below it
  std::string_view row = "oom_kill";
  bool may_count_below = false;  // only newer kernels count there, so that a group with 0 is read as well
};

// pids.events counts below since Linux 6.11.
constexpr std::array<Hierarchy, 2> kHierarchiesOfPids{
    {{"/sys/fs/cgroup", "pids.events", "pids.max", false, "max", true},
     {"/sys/fs/cgroup/pids", "pids.events", "pids.max", false, "max", true}}};

constexpr std::array<Hierarchy, 3> kHierarchies{
    {{"/sys/fs/cgroup", "memory.events", "memory.max", true},
     {"/sys/fs/cgroup/unified", "memory.events", "memory.max", true},
     {"/sys/fs/cgroup/memory", "memory.oom_control", "memory.limit_in_bytes", false}}};

// The largest limit of version 1 means that there is none.
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 60U;
constexpr int kDeepest = 12;

bool may_be_group(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kFiles{"memory.", "cgroup.", "cpu.",     "cpuset.",
                                                          "io.",     "pids.",   "hugetlb.", "rdma."};
  return std::ranges::none_of(kFiles, [name](std::string_view file) { return name.starts_with(file); });
}

Result<std::uint64_t> parse_group_row(std::string_view text, std::string_view name) {
  for (const std::string_view row : split(text, '\n')) {
    const auto words = split_words(row);
    if (words.size() != 2 || words[0] != name) continue;
    if (const auto count = parse_number<std::uint64_t>(words[1])) return *count;
    return fail(Errc::malformed, std::string(name) + " is not a number");
  }
  return fail(Errc::malformed, "there is no row " + std::string(name));
}

class GroupReader {
 public:
  GroupReader(const Files& files, const Hierarchy& hierarchy, std::size_t most)
      : files_(files), hierarchy_(hierarchy), most_(most) {}

  // Kills of the group, and of groups below it if they count there.
  std::uint64_t visit(const std::string& path, int depth) {
    const std::uint64_t kills = kills_of(path);
    ++found_.read;
    if (depth >= kDeepest || (hierarchy_.counts_below && kills == 0 && !path.empty())) return kills;
    std::uint64_t below = 0;
    for (const std::string& child : children_of(path)) {
      if (found_.read >= most_) {
        ++found_.left_out;
        continue;
      }
      below += visit(child, depth + 1);
    }
    const bool has_counts_of_below =
        hierarchy_.counts_below || (hierarchy_.may_count_below && kills >= below);
    add(path, has_counts_of_below ? kills - std::min(kills, below) : kills);
    return has_counts_of_below ? kills : kills + below;
  }

  [[nodiscard]] KilledGroups take() { return std::move(found_); }

 private:
  [[nodiscard]] std::string file_of(const std::string& path, std::string_view name) const {
    return std::string(hierarchy_.root) + path + "/" + std::string(name);
  }

  // The root of version 2 has no such file.
  [[nodiscard]] std::uint64_t kills_of(const std::string& path) const {
    const auto text = files_.read(file_of(path, hierarchy_.kills));
    return text ? parse_group_row(*text, hierarchy_.row).value_or(0) : 0;
  }

  [[nodiscard]] std::vector<std::string> children_of(const std::string& path) const {
    std::vector<std::string> children;
    const auto names = files_.list(std::string(hierarchy_.root) + path);
    if (!names) return children;
    for (const std::string& name : *names) {
      const std::string child = path + "/" + name;
      if (may_be_group(name) && files_.exists(file_of(child, hierarchy_.kills))) children.push_back(child);
    }
    return children;
  }

  void add(const std::string& path, std::uint64_t kills) {
    if (kills == 0) return;
    KilledGroup group{.path = path.empty() ? "/" : path,
                      .kills = kills,
                      .limit_bytes = std::nullopt,
                      .owner = parse_cgroup_path(path)};
    const auto limit = files_.read_word(file_of(path, hierarchy_.limit));
    const auto bytes = limit ? parse_number<std::uint64_t>(*limit) : std::nullopt;
    if (bytes && *bytes < kNoLimit) group.limit_bytes = bytes;
    found_.groups.push_back(std::move(group));
  }

  const Files& files_;
  const Hierarchy& hierarchy_;
  std::size_t most_;
  KilledGroups found_;
};

bool has_groups(const Files& files, const Hierarchy& hierarchy) {
  const auto names = files.list(hierarchy.root);
  if (!names) return false;
  return std::ranges::any_of(*names, [&](const std::string& name) {
    return may_be_group(name) &&
           files.exists(std::string(hierarchy.root) + "/" + name + "/" + std::string(hierarchy.kills));
  });
}

}  // namespace

Result<std::uint64_t> parse_group_kills(std::string_view text) {
  return parse_group_row(text, "oom_kill");
}

Result<KilledGroups> read_killed_groups(const Files& files, std::size_t most) {
  const auto used = std::ranges::find_if(
      kHierarchies, [&files](const Hierarchy& hierarchy) { return has_groups(files, hierarchy); });
  if (used == kHierarchies.end())
    return fail(Errc::unsupported, "this machine has no control groups of memory");
  GroupReader reader(files, *used, most);
  (void)reader.visit("", 0);
  KilledGroups found = reader.take();
  std::ranges::stable_sort(found.groups, std::ranges::greater{}, &KilledGroup::kills);
  return found;
}

RefusingGroups read_refusing_groups(const Files& files, std::size_t most) {
  RefusingGroups refusing;
  const auto used = std::ranges::find_if(
      kHierarchiesOfPids, [&files](const Hierarchy& hierarchy) { return has_groups(files, hierarchy); });
  if (used == kHierarchiesOfPids.end()) return refusing;
  GroupReader reader(files, *used, most);
  (void)reader.visit("", 0);
  for (KilledGroup& group : reader.take().groups)
    refusing.push_back({.path = std::move(group.path),
                        .refused = group.kills,
                        .limit = group.limit_bytes,
                        .owner = std::move(group.owner)});
  std::ranges::stable_sort(refusing, std::ranges::greater{}, &RefusingGroup::refused);
  return refusing;
}

}  // namespace autopilot::host
