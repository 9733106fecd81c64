// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "checks/builtin.hpp"
#include "checks/gpu/gpu_check.hpp"

namespace autopilot::checks {
namespace gpu_ecc {
namespace {

using namespace host::reading;

constexpr Duration kWindow = std::chrono::minutes{10};

Result<Observed> observe(const host::Host& host, const Request& request) {
  return observe_gpus(host, request, {host::GpuGroup::ecc});
}

class EccJudge {
 public:
  EccJudge(const JudgeInput& input, const Subject& gpu) : input_(input), gpu_(gpu) {}

  [[nodiscard]] Findings findings() {
    judge_retired_pages();
    judge_bad_pages();
    if (number(kEccEnabled) == 0.0) {
      judge_disabled();
      return std::move(findings_);
    }
    if (!number(kEccVolatileUncorrected) && !is_not_offered_here(kEccVolatileUncorrected))
      add_unread("the counter of uncorrected errors");
    judge_uncorrected();
    judge_corrected();
    return std::move(findings_);
  }

 private:
  [[nodiscard]] std::optional<double> number(std::string_view name) const {
    return input_.history.number(gpu_, name);
  }
  void add(Finding finding) { findings_.push_back(std::move(finding)); }
  // One finding for all counters.
  void add_unread(const std::string& what) {
    if (std::ranges::none_of(findings_,
                             [](const Finding& other) { return other.reason == "could_not_look"; }))
      add(make_finding(input_, gpu_, "could_not_look", Health::unknown,
                       gpu_text(gpu_) + ": " + what + " could not be read"));
  }
  [[nodiscard]] bool is_not_offered_here(std::string_view name) const {
    const Observation* observation = input_.history.find(gpu_, name);
    return observation != nullptr && is_not_offered(observation->missing);
  }
  // AMD's driver counts errors of every block of the chip, NVIDIA's counts errors of memories.
  [[nodiscard]] bool counts_blocks() const { return is_of_amd(input_, gpu_, kEccVolatileUncorrected); }

  void judge_disabled() {
    const auto name = input_.history.word(gpu_, kGpuModel);
    const catalog::GpuModel* model = name ? input_.facts.gpu_model(*name) : nullptr;
    if (model != nullptr && model->ecc)
      add(make_finding(input_, gpu_, "ecc_disabled", Health::degraded,
                       gpu_text(gpu_) + " has ECC memory, but ECC is off"));
    else
      add(make_finding(input_, gpu_, "not_supported", Health::unsupported,
                       gpu_text(gpu_) + ": ECC is off, and the catalog does not expect it for this model"));
  }

  void judge_uncorrected() {
    const Limit allowed = limit(input_, "gpu.ecc.volatile_uncorrected");
    if (counts_blocks()) judge_chip(allowed);
    const auto lost = number(counts_blocks() ? kEccDramVolatileUncorrected : kEccVolatileUncorrected);
    if (const auto errors = lost; errors && *errors > allowed.value) {
      Finding finding =
          make_finding(input_, gpu_, "ecc_uncorrected", Health::failed,
                       gpu_text(gpu_) + " lost data: " + rounded(*errors) +
                           (*errors == 1 ? " uncorrected memory error" : " uncorrected memory errors") +
                           " since the driver was loaded",
                       *errors, allowed);
      if (const auto dram = number(kEccDramVolatileUncorrected)) finding.evidence.emplace_back("dram", *dram);
      if (const auto sram = number(kEccSramVolatileUncorrected)) finding.evidence.emplace_back("sram", *sram);
      add(std::move(finding));
    }
    if (is_true(input_, gpu_, kEccSramThresholdExceeded)) {
      Finding finding =
          make_finding(input_, gpu_, "ecc_sram_threshold", Health::failed,
                       gpu_text(gpu_) + " reports that its SRAM errors exceed the vendor's limit");
      if (const auto sram = number(kEccSramAggregateUncorrected))
        finding.evidence.emplace_back("sramAggregate", *sram);
      add(std::move(finding));
    }
  }

  // Errors outside of the GPU's memory: caches, engines, links.
  void judge_chip(const Limit& allowed) {
    const double errors = number(kEccSramVolatileUncorrected).value_or(0);
    if (errors > allowed.value)
      add(make_finding(input_, gpu_, "ecc_chip_uncorrected", Health::failed,
                       gpu_text(gpu_) + " counts " + rounded(errors) +
                           " uncorrected errors outside of its memory since the driver was loaded",
                       errors, allowed));
  }

  void judge_corrected() {
    const Limit rate = limit(input_, "gpu.ecc.corrected_per_minute");
    const auto growth = input_.history.growth(gpu_, kEccVolatileCorrected, input_.now, kWindow);
    if (growth && growth->per_minute() > rate.value)
      add(make_finding(
          input_, gpu_, "ecc_corrected_rate", Health::degraded,
          gpu_text(gpu_) + " corrects " + rounded(growth->per_minute()) + " memory errors per minute",
          growth->per_minute(), rate));
    const Limit total = limit(input_, "gpu.ecc.corrected_total");
    if (const auto errors = number(kEccVolatileCorrected); errors && *errors > total.value)
      add(make_finding(
          input_, gpu_, "ecc_corrected_total", Health::degraded,
          gpu_text(gpu_) + " corrected " + rounded(*errors) + " memory errors since the driver was loaded",
          *errors, total));
  }

  // GPUs before Ampere.
  void judge_retired_pages() {
    const auto double_bit = number(kRetiredPagesDoubleBit);
    const auto single_bit = number(kRetiredPagesSingleBit);
    if (!double_bit && !single_bit) return;
    const double pages = double_bit.value_or(0) + single_bit.value_or(0);
    const Limit most = limit(input_, "gpu.ecc.retired_pages");
    const Limit many = limit(input_, "gpu.ecc.retired_pages_double_bit");
    if (pages >= most.value)
      add(make_finding(
          input_, gpu_, "retired_pages_exhausted", Health::failed,
          gpu_text(gpu_) + " has retired " + rounded(pages) + " memory pages and can retire no more", pages,
          most));
    else if (double_bit && *double_bit > many.value)
      add(make_finding(input_, gpu_, "retired_pages_many", Health::degraded,
                       gpu_text(gpu_) + " has retired " + rounded(*double_bit) +
                           " memory pages because of double-bit errors",
                       *double_bit, many));
    if (is_true(input_, gpu_, kRetiredPagesPending))
      add(make_finding(input_, gpu_, "retired_pages_pending", Health::degraded,
                       gpu_text(gpu_) + " will retire a bad memory page at its next reset"));
  }

  // AMD's GPUs only.
  void judge_bad_pages() {
    const Observation* table = input_.history.find(gpu_, kBadPagesRetired);
    if (table != nullptr && !table->value && !is_not_offered(table->missing))
      add_unread("the list of bad memory pages");
    const double pending = number(kBadPagesPending).value_or(0);
    if (pending > 0)
      add(make_finding(input_, gpu_, "bad_pages_pending", Health::degraded,
                       gpu_text(gpu_) + " has " + rounded(pending) +
                           " bad memory pages, which stay in use until its next reset"));
    const double failed = number(kBadPagesFailed).value_or(0);
    if (failed > 0)
      add(make_finding(
          input_, gpu_, "bad_pages_unreserved", Health::degraded,
          gpu_text(gpu_) + " has " + rounded(failed) + " bad memory pages that could not be retired"));
    const Limit many = limit(input_, "gpu.ecc.bad_pages");
    const double retired = number(kBadPagesRetired).value_or(0);
    if (retired > many.value)
      add(make_finding(input_, gpu_, "bad_pages_many", Health::degraded,
                       gpu_text(gpu_) + " has retired " + rounded(retired) + " bad memory pages", retired,
                       many));
  }

  const JudgeInput& input_;
  const Subject& gpu_;
  Findings findings_;
};

Findings judge(const JudgeInput& input) {
  Findings findings;
  for (const Subject& gpu :
       readable_gpus(input, {kEccVolatileUncorrected, kEccEnabled, kBadPagesRetired}, findings))
    for (Finding& finding : EccJudge(input, gpu).findings())
      findings.push_back(std::move(finding));
  return findings;
}

}  // namespace
}  // namespace gpu_ecc

const Check kGpuEcc = {
    .info = {.id = "gpu.ecc",
             .title = "GPU memory errors",
             .tags = {"gpu", "memory", "passive"},
             .period = std::chrono::seconds{60},
             .deadline = std::chrono::seconds{10},
             .window = gpu_ecc::kWindow,
             .cost = Cost::moderate,
             .witnesses = {std::string(kNvml), std::string(kAmdgpu)},
             .rights = {},
             .needs_window = false,
             .judges_growth = true},
    .observe = gpu_ecc::observe,
    .judge = gpu_ecc::judge,
};

}  // namespace autopilot::checks
