// SPDX-License-Identifier: Apache-2.0
#include "cli/recording/scrub_job.hpp"

#include <boost/json.hpp>
#include <optional>

#include "core/parse.hpp"
#include "core/word_table.hpp"

namespace autopilot::cli {
namespace {

namespace json = boost::json;

// What a member of a line names.
enum class JobMember : std::uint8_t { host, pod, job, owner, verbatim };

std::optional<JobMember> job_member(std::string_view key) {
  static constexpr WordTable<JobMember, 16> kMembers{{{JobMember::host, "node"},
                                                      {JobMember::host, "leaf"},
                                                      {JobMember::job, "name"},
                                                      {JobMember::pod, "pod"},
                                                      {JobMember::pod, "replica"},
                                                      {JobMember::job, "job"},
                                                      {JobMember::owner, "owner"},
                                                      {JobMember::verbatim, "type"},
                                                      {JobMember::verbatim, "format"},
                                                      {JobMember::verbatim, "nic"},
                                                      {JobMember::verbatim, "check"},
                                                      {JobMember::verbatim, "reason"},
                                                      {JobMember::verbatim, "model"},
                                                      {JobMember::verbatim, "kind"},
                                                      {JobMember::verbatim, "class"},
                                                      {JobMember::verbatim, "role"}}};
  return value_of(kMembers, key);
}

// "uid1000", "mpi", "4711": words of Autopilot and numbers.
bool is_ordinary_part(std::string_view part) {
  if (part.starts_with("uid")) part.remove_prefix(3);
  return part == "-unknown" || part == "mpi" ||
         part.find_first_not_of("0123456789") == std::string_view::npos;
}

// "ml/llama-7f3a", "slurm/4711", "uid1000/llama", "gpu17/uid1000/llama", "uid1000/10.0.0.1:29500".
std::string scrubbed_job(std::string_view name, Scrubber& scrubber) {
  if (name.starts_with("slurm/") || name.starts_with("slurm ")) return std::string(name);
  const auto parts = split(name, '/');
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += '/';
    const bool is_last = i + 1 == parts.size();
    const bool is_address = parts[i].find_first_not_of("0123456789.:") == std::string_view::npos;
    if (is_ordinary_part(parts[i]))
      text += parts[i];
    else if (is_address)
      text += scrubber.apply(parts[i]);
    else if (is_last)
      text += scrubber.apply_name(SecretKind::pod, parts[i]);
    else
      text += scrubber.apply_name(parts.size() > 2 ? SecretKind::host : SecretKind::name_space, parts[i]);
  }
  return text;
}

// "PyTorchJob ml/llama"
std::string scrubbed_owner(std::string_view owner, Scrubber& scrubber) {
  const std::size_t space = owner.find(' ');
  const std::size_t begin = space == std::string_view::npos ? 0 : space + 1;
  return std::string(owner.substr(0, begin)) + scrubbed_job(owner.substr(begin), scrubber);
}

std::string scrubbed_text(std::string_view key, std::string_view text, Scrubber& scrubber) {
  const auto member = job_member(key);
  if (!member) return scrubber.apply(text);
  switch (*member) {
    case JobMember::host:
      return scrubber.apply_name(SecretKind::host, text);
    case JobMember::pod:
      return scrubber.apply_name(SecretKind::pod, text);
    case JobMember::job:
      return scrubbed_job(text, scrubber);
    case JobMember::owner:
      return scrubbed_owner(text, scrubber);
    case JobMember::verbatim:
      break;
  }
  return std::string(text);
}

// The reader of JSON limits the depth.
void scrub_json(std::string_view key, json::value& value, Scrubber& scrubber) {
  if (auto* text = value.if_string()) {
    value = scrubbed_text(key, {text->data(), text->size()}, scrubber);
  } else if (auto* list = value.if_array()) {
    for (json::value& item : *list)
      scrub_json(key, item, scrubber);
  } else if (auto* object = value.if_object()) {
    for (auto& member : *object)
      scrub_json({member.key().data(), member.key().size()}, member.value(), scrubber);
  }
}

}  // namespace

std::string JobScrubber::apply(std::string_view line) {
  line = trim(line);
  boost::system::error_code error;
  json::value value = json::parse(json::string_view(line.data(), line.size()), error);
  if (error || !value.is_object()) return scrubber_.apply(line);
  scrub_json("", value, scrubber_);
  return json::serialize(value);
}

}  // namespace autopilot::cli
