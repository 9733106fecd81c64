// SPDX-License-Identifier: Apache-2.0
#include "cli/demo/scenarios.hpp"

#include <algorithm>
#include <array>

#include "cli/output/table.hpp"
#include "core/text.hpp"

namespace autopilot::cli {
namespace {

const std::array kScenarios{
    DemoScenario{
        "xid-79",
        "A GPU falls off the PCIe bus (Xid 79)",
        "fell_off_bus",
        "gpu/3",
        "GPU 3 (0000:61:00.0) stops answering on PCIe. A job on it dies; the driver writes Xid 79. It then "
        "numbers the other GPUs anew: GPU 4 is now GPU 3, so the lost GPU has only its address.",
        {"gpu.present", "gpu.xid"},
        {"xid", "79"}},
    DemoScenario{"row-remap",
                 "A GPU can no longer replace faulty rows of its memory",
                 "row_remap_failed",
                 "gpu/2",
                 "A row of the memory of GPU 2 is faulty, and no spare row is left to replace it.",
                 {"gpu.row_remap", "gpu.xid"},
                 {"row_remap_failed"}},
    DemoScenario{"pcie-width",
                 "A GPU uses only some lanes of its slot",
                 "pcie_width",
                 "gpu/1",
                 "GPU 1 trained its PCIe link with fewer lanes, as with dirt on the connector.",
                 {"gpu.pcie_link"},
                 {"gpu.pcie_link"}},
    DemoScenario{"nvlink",
                 "An NVLink between GPUs is down",
                 "nvlink_down",
                 "",
                 "One NVLink of a GPU goes down; collectives between the GPUs get slower.",
                 {"gpu.nvlink"},
                 {"gpu.nvlink"}},
    DemoScenario{"infiniband",
                 "An InfiniBand port loses its link",
                 "ib_port_down",
                 "",
                 "A cable of the first InfiniBand port is pulled out.",
                 {"network.ib_port"},
                 {"network.ib_port"}},
    DemoScenario{"disk-full",
                 "A file system is full",
                 "filesystem_full",
                 "",
                 "Checkpoints fill a file system: programs that write to it fail.",
                 {"storage.filesystem"},
                 {"storage.filesystem"}},
    DemoScenario{"read-only",
                 "The kernel makes a file system read-only after an error",
                 "filesystem_read_only",
                 "",
                 "An error of the disk makes the kernel mount a file system read-only.",
                 {"storage.filesystem", "storage.fs_errors"},
                 {"storage.filesystem"}},
};

}  // namespace

std::span<const DemoScenario> demo_scenarios() {
  return kScenarios;
}

Result<DemoScenario> demo_scenario(std::string_view name) {
  const auto found = std::ranges::find(kScenarios, name, &DemoScenario::name);
  if (found != kScenarios.end()) return *found;
  std::vector<std::string> names;
  for (const DemoScenario& scenario : kScenarios)
    names.emplace_back(scenario.name);
  const auto near = nearest_word(name, names);
  return fail(Errc::not_found, "no scenario '" + printable(name) + "'" +
                                   (near ? "; did you mean " + *near + "?" : "") +
                                   " (list them with: autopilot demo --list)");
}

}  // namespace autopilot::cli
