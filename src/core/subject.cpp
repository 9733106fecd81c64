// SPDX-License-Identifier: Apache-2.0
#include "core/subject.hpp"

#include <array>
#include <cstdio>

#include "core/parse.hpp"
#include "core/word_table.hpp"

namespace autopilot {
namespace {

constexpr WordTable<SubjectKind, 14> kSubjectKindWords{{
    {SubjectKind::gpu, "gpu"},
    {SubjectKind::gpu_instance, "gpu_instance"},
    {SubjectKind::nvlink, "nvlink"},
    {SubjectKind::nvswitch, "nvswitch"},
    {SubjectKind::nic_port, "nic_port"},
    {SubjectKind::link, "link"},
    {SubjectKind::disk, "disk"},
    {SubjectKind::mount, "mount"},
    {SubjectKind::peer, "peer"},
    {SubjectKind::host, "host"},
    {SubjectKind::process, "process"},
    {SubjectKind::pod, "pod"},
    {SubjectKind::job, "job"},
    {SubjectKind::domain, "domain"},
}};

}  // namespace

std::string_view to_string(SubjectKind kind) {
  return word_of(kSubjectKindWords, kind);
}

std::optional<SubjectKind> parse_subject_kind(std::string_view word) {
  return value_of(kSubjectKindWords, word);
}

std::string to_string(const Subject& subject) {
  std::string text(to_string(subject.kind));
  if (!subject.key.empty()) text += "/" + subject.key;
  return text;
}

std::optional<Subject> parse_subject(std::string_view text) {
  const auto slash = text.find('/');
  const auto kind = parse_subject_kind(text.substr(0, slash));
  if (!kind) return std::nullopt;
  Subject subject;
  subject.kind = *kind;
  if (slash != std::string_view::npos) subject.key = text.substr(slash + 1);
  if (subject.key.empty() && *kind != SubjectKind::host) return std::nullopt;
  return subject;
}

Subject port_at(std::string_view node, std::string_view port) {
  Subject subject;
  subject.kind = SubjectKind::nic_port;
  subject.key.append(node).append(":").append(port);
  return subject;
}

bool is_port_at_node(const Subject& subject) {
  return subject.kind == SubjectKind::nic_port && subject.key.find(':') != std::string::npos;
}

std::pair<std::string_view, std::string_view> ends_of(const Subject& link) {
  const std::string_view key = link.key;
  const auto bar = key.find('|');
  if (bar == std::string_view::npos) return {key, {}};
  return {key.substr(0, bar), key.substr(bar + 1)};
}

std::optional<std::string> canonical_pci_address(std::string_view text) {
  unsigned function = 0;
  if (const auto dot = text.find('.'); dot != std::string_view::npos) {
    const auto digit = parse_number<unsigned>(text.substr(dot + 1), 16);
    if (!digit || *digit > 7) return std::nullopt;
    function = *digit;
    text = text.substr(0, dot);
  }
  const auto parts = split(text, ':');
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  const auto domain = parts.size() == 3 ? parse_number<unsigned>(parts[0], 16) : std::optional<unsigned>{0U};
  const auto bus = parse_number<unsigned>(parts[parts.size() - 2], 16);
  const auto device = parse_number<unsigned>(parts[parts.size() - 1], 16);
  if (!domain || !bus || !device || *bus > 0xff || *device > 0x1f) return std::nullopt;
  std::array<char, 40> canonical{};
  const int size = std::snprintf(canonical.data(), canonical.size(), "%04x:%02x:%02x.%x", *domain, *bus,
                                 *device, function);
  return std::string(canonical.data(), static_cast<std::size_t>(size));
}

}  // namespace autopilot
