// SPDX-License-Identifier: Apache-2.0
#include "machine/builtin.hpp"

#include <map>

#include "machine/build.hpp"

namespace autopilot::simulator {

// name.yaml -> text; generated from machines/ by cmake/Embed.cmake.
const std::map<std::string, std::string>& embedded_machines();

std::vector<BuiltinMachine> builtin_machines() {
  std::vector<BuiltinMachine> list;
  for (const auto& [file, text] : embedded_machines())
    if (const auto description = parse_description(text, file))
      list.push_back({description->id, description->title});
  return list;
}

Result<Description> builtin_description(std::string_view id) {
  const auto& files = embedded_machines();
  if (const auto found = files.find(std::string(id) + ".yaml"); found != files.end())
    return parse_description(found->second, "machines/" + found->first);
  std::string known;
  for (const BuiltinMachine& machine : builtin_machines())
    known += " " + machine.id;
  return fail(Errc::not_found, "unknown built-in machine `" + std::string(id) + "`; known:" + known);
}

Result<Machine> builtin_machine(std::string_view id) {
  return build_machine(TRY(builtin_description(id)));
}

}  // namespace autopilot::simulator
