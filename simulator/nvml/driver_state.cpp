// SPDX-License-Identifier: Apache-2.0
#include "nvml/driver_state.hpp"

#include "core/parse.hpp"
#include "core/yaml.hpp"

namespace autopilot::simulator::nvml {
namespace {

Value value_of(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  if (const auto integer = parse_number<std::int64_t>(text)) return *integer;
  if (const auto number = parse_number<double>(text)) return *number;
  return std::string(text);
}

Value value_of(const YamlNode& node) {
  return node.quoted ? Value{node.text} : value_of(node.text);
}

Readings read_readings(const YamlNode& map, YamlProblems& problems) {
  Readings readings;
  for (const YamlMember& member : map.members) {
    if (member.value.kind == YamlNode::Kind::scalar) {
      readings[member.key] = value_of(member.value);
    } else {
      YamlMap code(member.value, member.key, problems);
      readings[member.key] = static_cast<int>(code.required_integer("code"));
    }
  }
  return readings;
}

std::uint32_t read_id(YamlMap& map, std::string_view key) {
  const auto word = map.word(key);
  if (!word) return 0;
  const auto id = parse_hex<std::uint32_t>(*word);
  if (!id) map.problem(map.line_of(key), "`" + std::string(key) + "`: expected a hexadecimal number");
  return id.value_or(0);
}

InstanceState read_instance(const YamlNode& node, YamlProblems& problems) {
  YamlMap map(node, "instance", problems);
  return {.gpu_instance = static_cast<unsigned>(map.required_integer("gpu_instance")),
          .compute_instance = static_cast<unsigned>(map.required_integer("compute_instance")),
          .uuid = map.required_word("uuid")};
}

GpuModelState read_gpu(const std::string& address, const YamlNode& node, YamlProblems& problems) {
  GpuModelState gpu;
  YamlMap map(node, "gpu", problems);
  gpu.address = address;
  gpu.state = static_cast<int>(map.integer("state").value_or(0));
  gpu.name = map.word("name").value_or("");
  gpu.uuid = map.word("uuid").value_or("");
  gpu.serial = map.word("serial").value_or("");
  gpu.vbios = map.word("vbios").value_or("");
  gpu.pci_device_id = read_id(map, "pci_device_id");
  gpu.pci_subsystem_id = read_id(map, "pci_subsystem_id");
  if (const YamlNode* readings = map.map("readings")) gpu.readings = read_readings(*readings, problems);
  if (const YamlNode* links = map.list("links"))
    for (const YamlNode& link : links->items)
      gpu.links.push_back(read_readings(link, problems));
  if (const YamlNode* instances = map.list("instances"))
    for (const YamlNode& instance : instances->items)
      gpu.instances.push_back(read_instance(instance, problems));
  return gpu;
}

void read_functions(const YamlNode& map, DriverModel& model, YamlProblems& problems) {
  for (const YamlMember& member : map.members) {
    const std::string& word = member.value.text;
    if (word == "hang")
      model.functions[member.key] = Misbehaviour::hang;
    else if (word == "abort")
      model.functions[member.key] = Misbehaviour::abort;
    else if (word == "segfault")
      model.functions[member.key] = Misbehaviour::segfault;
    else if (const auto code = parse_number<int>(word))
      model.functions[member.key] = *code;
    else
      problems.add(member.line, member.key + ": expected hang, abort, segfault or NVML's code");
  }
}

void read_events(const YamlNode& list, DriverModel& model, YamlProblems& problems) {
  for (const YamlNode& item : list.items) {
    YamlMap map(item, "event", problems);
    const auto id = map.required_integer("id");
    std::string gpu = map.required_word("gpu");
    const auto xid = map.required_integer("xid");
    if (id > 0 && xid >= 0)
      model.events.push_back(
          {static_cast<std::uint64_t>(id), std::move(gpu), static_cast<std::uint64_t>(xid)});
  }
}

// A GPU by its index or its PCI address; "*": every one.
bool is_named(const DriverModel& model, const GpuModelState& gpu, std::string_view word) {
  if (word == "*" || word == gpu.address) return true;
  const auto index = parse_number<std::size_t>(word);
  return index && *index < model.gpus.size() && &model.gpus[*index] == &gpu;
}

}  // namespace

Status apply_live_readings(std::string_view text, DriverModel& model) {
  constexpr std::size_t kWords = 3;
  for (const std::string_view row : split(text, '\n')) {
    const auto words = split_words(row);
    if (words.empty()) continue;
    if (words.size() != kWords)
      return fail(Errc::malformed, "expected a GPU, a reading and a value: " + std::string(row));
    bool is_known = false;
    for (GpuModelState& gpu : model.gpus) {
      if (!is_named(model, gpu, words[0])) continue;
      gpu.readings[std::string(words[1])] = value_of(words[2]);
      is_known = true;
    }
    if (!is_known) return fail(Errc::malformed, "no GPU " + std::string(words[0]));
  }
  return {};
}

const GpuModelState* DriverModel::find(std::string_view address) const {
  for (const GpuModelState& gpu : gpus)
    if (gpu.address == address) return &gpu;
  return nullptr;
}

Result<DriverModel> parse_driver_model(std::string_view text, const std::string& file) {
  YamlProblems problems(file);
  const YamlNode document = parse_yaml(text, problems);
  TRY_STATUS(problems.status());
  DriverModel model;
  {
    YamlMap map(document, "nvml", problems);
    if (map.required_word("schema") != "autopilot.nvml/v1")
      map.problem(map.line_of("schema"), "`schema` must be autopilot.nvml/v1");
    if (const YamlNode* node = map.map("driver")) {
      YamlMap driver(*node, "driver", problems);
      model.version = driver.required_word("version");
      model.nvml_version = driver.required_word("nvml_version");
      model.cuda_version = static_cast<int>(driver.required_integer("cuda_version"));
      model.init = static_cast<int>(driver.integer("init").value_or(0));
    }
    if (const YamlNode* functions = map.map("functions")) read_functions(*functions, model, problems);
    if (const YamlNode* gpus = map.map("gpus"))
      for (const YamlMember& member : gpus->members)
        model.gpus.push_back(read_gpu(member.key, member.value, problems));
    if (const YamlNode* events = map.list("events")) read_events(*events, model, problems);
  }
  TRY_STATUS(problems.status());
  return model;
}

}  // namespace autopilot::simulator::nvml
