// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/job/read_job.hpp"

#include "workloads/migrate/job/effects.hpp"

namespace autopilot::workloads::migrate {

ReadJob read_job(const std::vector<GivenOption>& options, Scheduler scheduler, std::size_t parts,
                 const ReadSettings& settings, Findings& findings) {
  ReadJob read;
  read.job.scheduler = scheduler;
  read.job.parts.resize(parts == 0 ? 1 : parts);
  for (const GivenOption& option : options) {
    DirectiveRow row{option.line, option.text, option.rule->fate, std::string(option.rule->becomes)};
    JobPart& part = read.job.parts[option.part < read.job.parts.size() ? option.part : 0];
    const EffectContext context{read.job, part, option, row, settings, findings};
    const bool is_read =
        scheduler == Scheduler::lsf ? apply_lsf_effect(context) : apply_slurm_effect(context);
    if (!is_read) {
      row.fate = Fate::dropped;
      row.becomes = "invalid value";
      findings.add(Severity::decision, "M-VALUE", option.line,
                   "\"" + option.text + "\": " + std::string(title_of(scheduler)) +
                       " does not accept this value; it is ignored",
                   "Correct the value");
    }
    read.rows.push_back(std::move(row));
  }
  return read;
}

}  // namespace autopilot::workloads::migrate
