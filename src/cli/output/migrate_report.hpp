// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "api/json.hpp"
#include "cli/output/table.hpp"
#include "workloads/migrate/migrate.hpp"

namespace autopilot::cli {

// What becomes of the job, of each directive and launcher, and the findings. Texts of the script are
// untrusted: control characters are replaced.
[[nodiscard]] std::string migrate_report_text(const workloads::migrate::Migration& migration,
                                              const TableStyle& style);
// The same as JSON, with the script and the manifests.
[[nodiscard]] std::string migrate_report_json(const workloads::migrate::Migration& migration);

// The findings alone: as text, and as a member of an open object of JSON.
[[nodiscard]] std::string findings_text(const std::vector<workloads::migrate::ScriptFinding>& findings,
                                        const TableStyle& style);
void write_findings(api::JsonWriter& json, const std::vector<workloads::migrate::ScriptFinding>& findings);

}  // namespace autopilot::cli
