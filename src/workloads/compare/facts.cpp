// SPDX-License-Identifier: Apache-2.0
#include "workloads/compare/facts.hpp"

#include <algorithm>

#include "core/parse.hpp"
#include "core/yaml.hpp"

namespace autopilot::workloads::compare {
namespace {

constexpr std::int64_t kMostGpus = 1'000'000;

std::optional<int> count_in(YamlMap& map, std::string_view key) {
  const auto number = map.integer(key);
  if (!number) return std::nullopt;
  if (*number >= 1 && *number <= kMostGpus) return static_cast<int>(*number);
  map.problem(map.line_of(key), std::string(key) + " must be between 1 and " + std::to_string(kMostGpus));
  return std::nullopt;
}

std::optional<double> positive_in(YamlMap& map, std::string_view key) {
  const auto number = map.number(key);
  if (!number || *number > 0) return number;
  map.problem(map.line_of(key), std::string(key) + " must be greater than 0");
  return std::nullopt;
}

std::optional<double> seconds_in(YamlMap& map, std::string_view key) {
  const auto length = map.duration(key);
  return length ? std::optional(to_seconds(*length)) : std::nullopt;
}

// A word or a number, as it is written: "128", "128 x 4".
std::optional<std::string> written(YamlMap& map, std::string_view key) {
  const YamlNode* node = map.any(key);
  if (node == nullptr || node->kind == YamlNode::Kind::null) return std::nullopt;
  if (node->kind == YamlNode::Kind::scalar) return node->text;
  map.problem(node->line, std::string(key) + " must be one word or number");
  return std::nullopt;
}

void read_throughput(YamlMap& top, Facts& facts) {
  const YamlNode* node = top.map("throughput");
  if (node == nullptr) return;
  YamlMap map = top.nested(*node, "throughput");
  const auto value = positive_in(map, "value");
  if (!value && !map.has("value")) map.problem(map.line(), "throughput needs a value");
  const std::string unit = map.required_word("unit");
  if (value) facts.throughput = Throughput{*value, unit};
}

void read_elasticity(YamlMap& top, Facts& facts) {
  const YamlNode* node = top.map("elasticity");
  if (node == nullptr) return;
  YamlMap map = top.nested(*node, "elasticity");
  facts.start_s = seconds_in(map, "start");
  facts.scale_s = seconds_in(map, "scale");
  facts.recover_s = seconds_in(map, "recover");
}

void read_scaling(YamlMap& top, Facts& facts) {
  const YamlNode* list = top.list("scaling");
  if (list == nullptr) return;
  for (const YamlNode& item : list->items) {
    YamlMap map = top.nested(item, "point of scaling");
    const auto nodes = count_in(map, "nodes");
    const auto throughput = positive_in(map, "throughput");
    if (nodes && throughput)
      facts.scaling.push_back({*nodes, *throughput});
    else if (!map.has("nodes") || !map.has("throughput"))
      map.problem(map.line(), "a point of scaling needs nodes and throughput");
  }
  std::sort(facts.scaling.begin(), facts.scaling.end(),
            [](const ScalePoint& a, const ScalePoint& b) { return a.nodes < b.nodes; });
  for (std::size_t i = 1; i < facts.scaling.size(); ++i)
    if (facts.scaling[i].nodes == facts.scaling[i - 1].nodes)
      top.problem(list->line, "scaling has " + std::to_string(facts.scaling[i].nodes) + " nodes twice");
}

}  // namespace

bool has_same_unit(const Throughput& a, const Throughput& b) {
  return to_lower(trim(a.unit)) == to_lower(trim(b.unit));
}

Result<Facts> parse_facts(std::string_view text, const std::string& file) {
  YamlProblems problems(file);
  const YamlNode node = parse_yaml(text, problems);
  Facts facts;
  facts.file = file;
  if (problems.empty()) {
    YamlMap map(node, "facts", problems);
    facts.name = map.word("name").value_or("");
    facts.aliases = map.words("aliases").value_or(std::vector<std::string>{});
    facts.nodes = count_in(map, "nodes");
    facts.gpus = count_in(map, "gpus");
    facts.gpus_allocated = count_in(map, "gpus_allocated");
    facts.sampled_gpus = count_in(map, "sampled_gpus");
    facts.sample_interval_s = seconds_in(map, "sample_interval");
    facts.gpu_model = written(map, "gpu_model");
    facts.model = written(map, "model");
    facts.batch = written(map, "batch");
    facts.workers = written(map, "workers");
    facts.dataset = written(map, "dataset");
    facts.dataset_bytes = positive_in(map, "dataset_bytes");
    facts.version = written(map, "version");
    facts.precision = written(map, "precision");
    facts.is_exclusive = map.boolean("exclusive");
    facts.time_to_result_s = seconds_in(map, "time_to_result");
    read_throughput(map, facts);
    read_elasticity(map, facts);
    read_scaling(map, facts);
    if (facts.sample_interval_s && *facts.sample_interval_s <= 0)
      map.problem(map.line_of("sample_interval"), "sample_interval must be greater than 0");
  }
  TRY_STATUS(problems.status());
  return facts;
}

}  // namespace autopilot::workloads::compare
