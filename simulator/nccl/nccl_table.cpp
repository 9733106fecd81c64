// SPDX-License-Identifier: Apache-2.0
#include "nccl/nccl_table.hpp"

#include "core/yaml.hpp"

namespace autopilot::simulator::nccl {
namespace {

constexpr double kGiga = 1e9;
constexpr int kLeastVersion = 2000;
constexpr int kMostVersion = 999'999;

WrongWord read_wrong_word(const YamlNode& node, YamlProblems& problems) {
  YamlMap map(node, "wrong_word", problems);
  return {.rank = static_cast<int>(map.required_integer("rank")),
          .call = map.required_integer("call"),
          .value = static_cast<std::uint64_t>(map.required_integer("value"))};
}

}  // namespace

Result<NcclTable> parse_nccl_table(std::string_view text, const std::string& file) {
  YamlProblems problems(file);
  const YamlNode root = parse_yaml(text, problems);
  TRY_STATUS(problems.status());
  NcclTable table;
  {
    YamlMap map(root, "nccl", problems);
    table.version = static_cast<int>(map.integer("version").value_or(table.version));
    if (table.version < kLeastVersion || table.version > kMostVersion)
      map.problem(map.line_of("version"), "`version`: expected a version such as 22105, which is 2.21.5");
    const auto rate = map.number("bus_gigabits_per_second");
    if (rate && !(*rate > 0))
      map.problem(map.line_of("bus_gigabits_per_second"),
                  "`bus_gigabits_per_second`: expected a number above 0");
    if (rate) table.bus_bits_per_second = *rate * kGiga;
    if (const auto rank = map.integer("wrong_rank")) table.wrong_rank = static_cast<int>(*rank);
    if (const YamlNode* word = map.map("wrong_word")) table.wrong_word = read_wrong_word(*word, problems);
    if (const YamlNode* calls = map.map("calls"))
      table.calls = cuda::read_call_faults(*calls, "ncclResult_t", problems);
  }
  TRY_STATUS(problems.status());
  return table;
}

}  // namespace autopilot::simulator::nccl
