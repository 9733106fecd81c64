// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.hpp"
#include "cli/explain/explained.hpp"
#include "core/incident.hpp"
#include "core/snapshot.hpp"

namespace autopilot::cli {

// An incident: the culprit, since when, what is at fault, what to do and what clears it. Pure.
[[nodiscard]] Explained explain(const Incident& incident, const catalog::Catalog& facts);

// What is wrong on a node now, the worst first: its incidents, findings that belong to no incident, and
// required checks that could not run. Empty: nothing. Pure.
[[nodiscard]] std::vector<Explained> what_is_wrong(const NodeSnapshot& node, const catalog::Catalog& facts);

// The GPU of the node that the words name: "GPU 2", "gpu/2", a PCI address, or "GPU 2 (0000:52:00.0)".
// nullopt: none. Pure.
[[nodiscard]] std::optional<Subject> named_gpu(std::string_view words, const NodeSnapshot& node);
// True for words of one of these forms. Pure.
[[nodiscard]] bool is_gpu_form(std::string_view words);
// What the node reports about a GPU: what is wrong there, or how many checks found nothing. Pure.
[[nodiscard]] std::vector<Explained> about_gpu(const Subject& gpu, const NodeSnapshot& node,
                                               const catalog::Catalog& facts);

// The verdict of a node in one or two lines, with how many checks ran. Pure.
[[nodiscard]] std::string verdict_line(const NodeSnapshot& node);

}  // namespace autopilot::cli
