// SPDX-License-Identifier: Apache-2.0
// A job script: migrated or refused, never a crash. The manifests are YAML, no secret is in them, and the
// same script gives the same manifests.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "core/yaml.hpp"
#include "tests/fuzz/targets.hpp"
#include "workloads/migrate/migrate.hpp"

namespace autopilot::migrate_fuzz {

int run(const std::uint8_t* data, std::size_t size) {
  namespace migrate = workloads::migrate;
  if (size == 0) return 0;
  migrate::MigrateSettings settings;
  // The first byte chooses the kind of job, 7: by the script.
  const auto& kinds = migrate::kTargets;
  if (data[0] % 8U < kinds.size()) settings.target = kinds[data[0] % 8U].first;
  settings.keeps_allocation = (data[0] & 8U) != 0;
  if ((data[0] & 16U) != 0)
    settings.scheduler = (data[0] & 32U) != 0 ? migrate::Scheduler::slurm : migrate::Scheduler::lsf;
  const std::string_view script(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto made = migrate::migrate(script, settings);
  if (!made) return 0;
  for (const migrate::ManifestFile& file : made->files) {
    YamlProblems problems(file.name);
    const YamlNode read = parse_yaml(file.text, problems);
    AUTOPILOT_ASSERT(problems.empty() || file.text.size() > kMaxYamlBytes);
    AUTOPILOT_ASSERT(!problems.empty() || read.find("kind") != nullptr);
  }
  AUTOPILOT_ASSERT(migrate::manifest_stream(*migrate::migrate(script, settings)) ==
                   migrate::manifest_stream(*made));
  return 0;
}

}  // namespace autopilot::migrate_fuzz
