// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>

#include "api/job_records.hpp"
#include "core/result.hpp"
#include "simulator/jobs/generator.hpp"

namespace autopilot::simulated_jobs {

// Lines of each file, in the order of api::kJobFiles.
using LineCounts = std::array<std::uint64_t, api::kJobFiles.size()>;

// Writes what `generator` still gives into a folder of docs/reference/job-telemetry.md, with all five files.
// It creates the folder. conflict: the folder exists and is not empty. Otherwise the error of the file
// system; an incomplete folder remains.
[[nodiscard]] Result<LineCounts> write_folder(Generator& generator, const std::filesystem::path& directory);

}  // namespace autopilot::simulated_jobs
