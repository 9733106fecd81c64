// SPDX-License-Identifier: Apache-2.0
#include "tree/archive.hpp"

#include <boost/json.hpp>

#include "core/yaml_text.hpp"

namespace autopilot::simulator {
namespace {

namespace json = boost::json;

constexpr const char* kKinds[] = {"text", "link", "directory"};

Result<std::string> text_of(const json::object& object, const char* key, const std::string& file) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr || !value->is_string())
    return fail(Errc::malformed, file + ": `" + key + "` is missing or not a string");
  return std::string(value->get_string());
}

Result<YamlNode> yaml_of(const json::object& object, const char* key, const std::string& file) {
  YamlProblems problems(file);
  const std::string text = TRY(text_of(object, key, file));
  YamlNode node = parse_yaml(text, problems);
  TRY_STATUS(problems.status());
  return node;
}

Status read_entries(const json::object& object, const std::string& file, FileTree& files) {
  for (std::size_t kind = 0; kind < std::size(kKinds); ++kind) {
    const json::value* entries = object.if_contains(kKinds[kind]);
    if (entries == nullptr || !entries->is_object())
      return fail(Errc::malformed, file + ": `" + kKinds[kind] + "` is missing");
    for (const auto& [path, text] : entries->get_object()) {
      if (!text.is_string())
        return fail(Errc::malformed, file + ": " + std::string(path) + " is not a string");
      files.put(path, {static_cast<FileTree::Kind>(kind), std::string(text.get_string())});
    }
  }
  return {};
}

}  // namespace

std::string archive_text(const Machine& machine) {
  json::object entries[std::size(kKinds)];
  for (const auto& file : machine.files.entries())
    entries[static_cast<std::size_t>(file.second.kind)][file.first] = file.second.text;
  json::object object;
  object["machine"] = to_yaml(machine.machine);
  if (machine.nvml) object["nvml"] = to_yaml(*machine.nvml);
  object["log"] = log_text(machine.log);
  for (std::size_t kind = 0; kind < std::size(kKinds); ++kind)
    object[kKinds[kind]] = std::move(entries[kind]);
  return json::serialize(object);
}

Result<Machine> parse_archive(std::string_view text, const std::string& file) {
  json::parse_options options;
  options.allow_invalid_utf8 = true;  // a file of a machine can contain any byte
  boost::system::error_code error;
  const json::value value = json::parse(text, error, {}, options);
  if (error || !value.is_object()) return fail(Errc::malformed, file + ": not a JSON object");
  const json::object& object = value.get_object();
  Machine machine;
  machine.machine = TRY(yaml_of(object, "machine", file));
  if (object.contains("nvml")) machine.nvml = TRY(yaml_of(object, "nvml", file));
  const std::string log = TRY(text_of(object, "log", file));
  machine.log = TRY(parse_log(log, file));
  TRY_STATUS(read_entries(object, file, machine.files));
  return machine;
}

}  // namespace autopilot::simulator
