// SPDX-License-Identifier: Apache-2.0
// The commands that list: machines, faults.
#include <CLI/CLI.hpp>
#include <array>
#include <boost/json.hpp>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/value.hpp"
#include "faults/fault.hpp"
#include "machine/description.hpp"
#include "program/program.hpp"

namespace autopilot::simulator {
void add_machines(CLI::App& app, Status&) {
  auto* verb = app.add_subcommand("machines", "List the built-in machines");
  verb->callback([] {
    for (const BuiltinMachine& machine : builtin_machines())
      std::cout << machine.id << std::string(machine.id.size() < 14 ? 14 - machine.id.size() : 1, ' ')
                << machine.title << "\n";
  });
}

namespace {

void print(const FaultType& type) {
  std::cout << type.id << "\n    " << type.title << "\n    subject: " << type.subject;
  if (!type.magnitude.empty())
    std::cout << "; magnitude: " << type.magnitude << " (" << type.default_magnitude << ")";
  for (std::size_t i = 0; i < type.kinds.size(); ++i)
    std::cout << (i == 0 ? "; kinds: " : ", ") << type.kinds[i];
  std::cout << "\n";
}

// A subject that most machines have; other kinds of subjects are named by the machine, and the first one is
// used.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kExampleSubjects{
    {{"gpu", "gpu/0"},
     {"amd_gpu", "gpu/0"},
     {"nvlink", "nvlink/0/3"},
     {"infiniband", "nic_port/mlx5_0/1"},
     {"disk", "disk/nvme0"},
     {"mount", "mount//"}}};

std::string example_of(const FaultType& type) {
  std::string text = "autopilot inject " + std::string(type.id);
  for (const auto& [kind, subject] : kExampleSubjects)
    if (kind == type.subject) text += " --subject " + std::string(subject);
  if (!type.magnitude.empty()) text += " --magnitude " + to_string(Value{type.default_magnitude});
  return text;
}

boost::json::object to_json(const FaultType& type) {
  boost::json::array kinds;
  for (const std::string_view kind : type.kinds)
    kinds.emplace_back(kind);
  boost::json::object object{{"fault", type.id}, {"title", type.title}, {"subject", type.subject}};
  if (!type.magnitude.empty()) {
    object["magnitude"] = type.magnitude;
    const auto whole = static_cast<std::int64_t>(type.default_magnitude);
    const bool is_whole = static_cast<double>(whole) == type.default_magnitude;
    object["default"] = is_whole ? boost::json::value(whole) : boost::json::value(type.default_magnitude);
  }
  object["kinds"] = std::move(kinds);
  object["example"] = example_of(type);
  return object;
}

void print_json() {
  boost::json::array items;
  for (const FaultType& type : fault_types())
    items.emplace_back(to_json(type));
  std::cout << boost::json::serialize(boost::json::object{{"items", std::move(items)}}) << "\n";
}

}  // namespace

void add_faults(CLI::App& app, Status&) {
  auto format = std::make_shared<std::string>("table");
  auto* verb = app.add_subcommand("faults", "List the faults, their subjects, magnitudes and kinds");
  verb->add_option("-o,--output", *format, "table or json")->check(CLI::IsMember({"table", "json"}));
  verb->callback([format] {
    if (*format == "json") return print_json();
    for (const FaultType& type : fault_types())
      print(type);
  });
}

}  // namespace autopilot::simulator
