// SPDX-License-Identifier: Apache-2.0
#include "incidents/same_disk.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/parse.hpp"
#include "incidents/evidence.hpp"

namespace autopilot::incidents {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// True for "sda1" and "sda", "nvme0n1p2" and "nvme0n1", "nvme0n1" and "nvme0", and equal names; false for
// "sdab" and "sda", "nvme10" and "nvme1".
bool is_part_of(std::string_view part, std::string_view whole) {
  if (whole.empty() || !part.starts_with(whole)) return false;
  std::string_view rest = part.substr(whole.size());
  if (rest.empty()) return true;
  if (!is_digit(whole.back())) return is_digit(rest.front());
  const bool names_part = rest.front() == 'p' || rest.front() == 'n';
  return names_part && rest.size() > 1 && is_digit(rest[1]);
}

std::vector<std::string> faulty_disks(const Finding& finding) {
  std::vector<std::string> names;
  const std::string faulty = word_of(finding, "faulty");
  for (const std::string_view name : split(faulty, ','))
    if (const auto trimmed = trim(name); !trimmed.empty()) names.emplace_back(trimmed);
  return names;
}

std::vector<std::string> disks_of(const Finding& finding) {
  std::vector<std::string> names = faulty_disks(finding);
  if (finding.subject.kind == SubjectKind::disk) names.push_back(finding.subject.key);
  constexpr std::string_view folder = "/dev/";
  if (const std::string source = word_of(finding, "source"); source.starts_with(folder))
    names.push_back(source.substr(folder.size()));
  return names;
}

// True if a name equals or contains a name of the other list. Two partitions of one disk have no common name.
bool have_common(const std::vector<std::string>& disks, const std::vector<std::string>& others) {
  return std::ranges::any_of(disks, [&others](const std::string& disk) {
    return std::ranges::any_of(others, [&disk](const std::string& other) {
      return is_part_of(other, disk) || is_part_of(disk, other);
    });
  });
}

// "sda" for "sda1", "nvme0n1" for "nvme0n1p2".
std::string whole_of(const std::string& name) {
  const auto digits = name.find_last_not_of("0123456789");
  if (digits == std::string::npos || digits + 1 == name.size()) return name;
  const bool has_number_before = digits > 0 && is_digit(name[digits - 1]);
  if (name[digits] == 'p' && has_number_before) return name.substr(0, digits);
  return has_number_before ? name : name.substr(0, digits + 1);
}

bool is_storage(const Finding& finding) {
  return finding.subject.kind == SubjectKind::disk || finding.subject.kind == SubjectKind::mount;
}

}  // namespace

bool is_on_same_disk(const Finding& a, const Finding& b) {
  return is_storage(a) && is_storage(b) && have_common(disks_of(a), disks_of(b));
}

bool lost_different_disks(const Finding& a, const Finding& b) {
  std::vector<std::string> disks = faulty_disks(a);
  std::vector<std::string> others = faulty_disks(b);
  if (disks.empty() && others.empty()) return false;
  for (auto* names : {&disks, &others})
    std::ranges::transform(*names, names->begin(), whole_of);
  return !have_common(disks, others);
}

}  // namespace autopilot::incidents
