// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/helper_gpus.hpp"

#include <algorithm>
#include <utility>

#include "host/files/fd.hpp"
#include "host/gpu/gpu_report.hpp"
#include "host/gpu/readings.hpp"
#include "host/pci/pci.hpp"

namespace autopilot::host {
namespace {

std::string_view kind_of(GpuVendor vendor) {
  return vendor == GpuVendor::amd ? "amdgpu" : "nvml";
}

// What a helper that gave no answer says about the driver; an error where it says something about us.
Result<GpuReport> report_of(const HelperError& error) {
  GpuReport report;
  report.detail = error.error.what;
  switch (error.failure) {
    case HelperFailure::timed_out:
      report.state = DriverState::unresponsive;
      return report;
    case HelperFailure::crashed:
    case HelperFailure::malformed:
      report.state = DriverState::crashed;
      return report;
    case HelperFailure::exhausted:
      report.state = DriverState::exhausted;
      return report;
    case HelperFailure::refused:
    case HelperFailure::not_started:
      break;
  }
  return fail(error.error);
}

// The helper itself is in doubt: asking it again at once costs the next caller its whole deadline.
bool is_worth_a_pause(const Result<GpuReport>& answer) {
  if (!answer) return false;
  return answer->state == DriverState::unresponsive || answer->state == DriverState::crashed ||
         answer->state == DriverState::exhausted;
}

// Another caller may have asked for more.
void keep_only(const std::set<GpuGroup>& groups, GpuReport& report) {
  for (GpuDevice& gpu : report.gpus)
    std::erase_if(gpu.readings, [&groups](const GpuReading& reading) {
      const ReadingInfo* info = find_reading(reading.name);
      return info != nullptr && !comes_with(*info, groups);
    });
}

}  // namespace

HelperGpus::HelperGpus(GpuVendor vendor, Command command, const Clock& clock, GpuScan scan,
                       HelperLimits limits)
    : vendor_(vendor),
      client_(std::string(kind_of(vendor)), std::move(command), limits),
      clock_(clock),
      scan_(std::move(scan)) {}

Result<GpuReport> HelperGpus::read(const std::vector<GpuGroup>& groups, MonoTime deadline) const {
  const std::set<GpuGroup> wanted(groups.begin(), groups.end());
  const MonoTime until = process_time(deadline);
  std::unique_lock lock(mutex_);
  while (true) {
    if (auto shared = shared_answer(wanted)) return std::move(*shared);
    if (!is_asking_) break;
    if (answered_.wait_until(lock, until) == std::cv_status::timeout && is_asking_) {
      GpuReport report;
      report.state = DriverState::unresponsive;
      report.detail = "the driver has not answered another question";
      report.time = clock_.now();
      return report;
    }
  }
  is_asking_ = true;
  lock.unlock();
  Result<GpuReport> answer = ask(wanted, until);
  if (answer) answer->time = clock_.now();
  lock.lock();
  is_asking_ = false;
  if (answer) driver_calls_ += answer->calls;
  last_ = answer;
  last_groups_ = wanted;
  last_time_ = clock_.now().mono;
  lock.unlock();
  answered_.notify_all();
  return answer;
}

std::optional<Result<GpuReport>> HelperGpus::shared_answer(const std::set<GpuGroup>& groups) const {
  if (!last_) return std::nullopt;
  const Duration age = clock_.now().mono - last_time_;
  const bool is_pause = is_worth_a_pause(*last_) && age < kPause;
  const bool is_same = *last_ && age < kShared &&
                       std::includes(last_groups_.begin(), last_groups_.end(), groups.begin(), groups.end());
  if (!is_pause && !is_same) return std::nullopt;
  Result<GpuReport> answer = *last_;
  if (!answer) return answer;
  answer->calls = 0;  // counted for the caller who asked
  keep_only(groups, *answer);
  return answer;
}

Result<GpuReport> HelperGpus::ask(const std::set<GpuGroup>& groups, MonoTime deadline) const {
  GpuQuestion question;
  question.groups.assign(groups.begin(), groups.end());
  if (const auto known = scan_.gpus(vendor_))
    for (const PciDevice& gpu : *known)
      question.addresses.push_back(gpu.address);
  const HelperResult answer = client_.call("read", format_gpu_question(question), deadline);
  if (!answer) return report_of(answer.error());
  Result<GpuReport> report = parse_gpu_report(*answer);
  if (report) return report;
  GpuReport crashed;
  crashed.state = DriverState::crashed;
  crashed.detail = report.error().what;
  return crashed;
}

Result<std::vector<GpuEvent>> HelperGpus::take_events(MonoTime deadline) const {
  {
    const std::lock_guard lock(mutex_);
    if (last_ && is_worth_a_pause(*last_) && clock_.now().mono - last_time_ < kPause)
      return fail(Errc::unavailable, "the driver is " + std::string(to_string((*last_)->state)));
  }
  const HelperResult answer = client_.call("events", "{}", process_time(deadline));
  if (!answer) return fail(answer.error().error);
  return parse_gpu_events(*answer, clock_.now());
}

std::uint64_t HelperGpus::driver_calls() const {
  const std::lock_guard lock(mutex_);
  return driver_calls_;
}

MonoTime HelperGpus::process_time(MonoTime deadline) const {
  return mono_now() + (deadline - clock_.now().mono);
}

}  // namespace autopilot::host
