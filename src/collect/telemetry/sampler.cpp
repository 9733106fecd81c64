// SPDX-License-Identifier: Apache-2.0
#include "collect/telemetry/sampler.hpp"

#include <algorithm>
#include <utility>

#include "collect/telemetry/gpu_reader.hpp"
#include "host/telemetry/nic_counters.hpp"

namespace autopilot::collect {
namespace {

using host::DriverState;
using host::TelemetryDetail;

std::int64_t window_of(WallTime time) {
  return time.time_since_epoch() / Sampler::kWindow;
}

std::int64_t second_of(WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
}

std::vector<std::vector<int>> gpus_of_jobs(const SeenJobs& jobs) {
  std::vector<std::vector<int>> groups;
  for (const SeenJob& job : jobs.jobs) {
    std::vector<int> gpus;
    for (const RankProcess& process : job.processes)
      gpus.insert(gpus.end(), process.gpus.begin(), process.gpus.end());
    std::ranges::sort(gpus);
    gpus.erase(std::ranges::unique(gpus).begin(), gpus.end());
    if (!gpus.empty()) groups.push_back(std::move(gpus));
  }
  return groups;
}

// After so many, a driver that does not answer is asked once in a window, not every second.
constexpr int kGpuFailures = 2;

bool has_equal_parts(const jobs::NodeRecord& one, const jobs::NodeRecord& other) {
  const auto is_same = [](const jobs::NicOfNode& a, const jobs::NicOfNode& b) {
    return a.name == b.name && a.bytes_s == b.bytes_s && a.gpus == b.gpus;
  };
  return one.gpus == other.gpus && one.gpu_model == other.gpu_model &&
         std::ranges::equal(one.nics, other.nics, is_same);
}

// A driver or a file may answer anything: what the metric cannot be was not measured.
void remove_impossible(jobs::WindowRecord& window) {
  for (jobs::Column& column : window.columns)
    for (float& value : column.values)
      if (value < 0 || value > static_cast<float>(jobs::info(column.metric).max)) value = jobs::kMissing;
  const auto most_watts = static_cast<float>(jobs::info(jobs::Metric::gpu_power_w).max);
  for (jobs::FastPower& fast : window.fast)
    for (float& watts : fast.power_w)
      if (watts < 0 || watts > most_watts) watts = jobs::kMissing;
}

}  // namespace

Sampler::Sampler(std::shared_ptr<const host::Host> host, SamplerOptions options)
    : host_(std::move(host)),
      options_(std::move(options)),
      processes_(host_->files, options_.reader),
      host_table_(host_->files),
      gpu_lane_([host = host_, reader = std::make_shared<GpuReader>(host_)](const Question& question) {
        auto telemetry = reader->read(question.detail, kGpuPatience);
        return GpuAnswer{question, std::move(telemetry), host->clock.now().mono};
      }),
      device_lane_([reader = std::make_shared<DeviceReader>(host_)](const Question& question) {
        return DeviceAnswer{question, reader->read()};
      }) {}

void Sampler::poll(const SeenJobs& jobs, WallTime now, std::vector<jobs::Record>& records) {
  const MonoTime mono = host_->clock.now().mono;
  take_gpus();
  take_devices();
  if (jobs.jobs.empty()) {
    emit(mono, records);
    return stop();
  }
  if (!is_running_) {
    start(now, mono);
  } else {
    const Duration step = (now - last_wall_) - (mono - last_mono_);
    const std::int64_t passed = window_of(now) - window_;
    if (step > kClockStep || step < -kClockStep || passed < 0 || passed > 1) {
      ++counts_.dropped_windows;
      start(now, mono);
    } else if (passed == 1) {
      close_window(jobs, mono);
      window_ = window_of(now);
      begin_ = WallTime(window_ * kWindow);
    }
  }
  last_wall_ = now;
  last_mono_ = mono;
  sample(jobs, now, mono);
  describe(now, mono, records);
  emit(mono, records);
}

void Sampler::start(WallTime now, MonoTime mono) {
  if (!is_running_) {
    started_ = mono;
    is_description_due_ = true;
  }
  is_running_ = true;
  ++run_;
  window_ = window_of(now);
  begin_ = now;
  pending_.reset();
  is_device_base_ = false;
  processes_.drop();
  gpus_.drop();
  gpu_counters_.forget();
  host_table_.start(mono);
  wants_gpu_detail_ = wants_devices_ = true;
}

void Sampler::stop() {
  if (!is_running_) return;
  is_running_ = false;
  ++run_;
  pending_.reset();
}

void Sampler::sample(const SeenJobs& jobs, WallTime now, MonoTime mono) {
  processes_.sample(jobs, mono);
  host_table_.sample();
  gpu_groups_ = gpus_of_jobs(jobs);
  ask(now);
}

void Sampler::ask(WallTime now) {
  Question question{.run = run_, .window = window_, .second = second_of(now)};
  if (wants_devices_ && device_lane_.ask(question)) wants_devices_ = false;
  if (gpu_failures_in_a_row_ >= kGpuFailures && !wants_gpu_detail_) return;
  question.detail = wants_gpu_detail_ ? TelemetryDetail::detailed : TelemetryDetail::brief;
  if (!gpu_lane_.ask(question)) return;
  ++counts_.gpu_requests;
  wants_gpu_detail_ = false;
}

void Sampler::close_window(const SeenJobs& jobs, MonoTime mono) {
  const WallTime first_whole = std::chrono::ceil<std::chrono::seconds>(begin_);
  const bool is_whole = begin_ - WallTime(window_ * kWindow) < std::chrono::seconds(1);
  const std::int64_t end = second_of(WallTime((window_ + 1) * kWindow));
  const std::int64_t first = is_whole ? end - GpuTable::kSeconds : second_of(first_whole);
  Pending pending;
  pending.window = window_;
  pending.closed = mono;
  pending.record.time = WallTime(std::chrono::seconds(end));
  pending.record.length = std::chrono::seconds(end - first);
  pending.record.node = options_.node;
  gpus_.close(gpu_groups_, first, end - first, pending.record);
  processes_.close(jobs, mono, pending.record);
  host_table_.close(mono, pending.record);
  wants_gpu_detail_ = wants_devices_ = true;
  if (end > first) pending_ = std::move(pending);
}

void Sampler::take_gpus() {
  auto answer = gpu_lane_.take();
  if (!answer) return;
  const bool has_answer = answer->telemetry && answer->telemetry->state == DriverState::ok;
  const bool is_detailed = answer->question.detail == TelemetryDetail::detailed;
  if (answer->telemetry) counts_.driver_calls += answer->telemetry->calls;
  gpu_failures_in_a_row_ = has_answer ? 0 : gpu_failures_in_a_row_ + 1;
  if (!has_answer) {
    ++counts_.gpu_failures;
    last_gpus_ = answer->telemetry.value_or(host::GpuTelemetry{});
    if (!answer->telemetry) {
      last_gpus_->state = DriverState::init_failed;
      last_gpus_->detail = answer->telemetry.error().what;
    }
  }
  if (answer->question.run != run_) return;
  const bool ends_pending = pending_ && pending_->window + 1 == answer->question.window && is_detailed;
  if (has_answer) {
    if (answer->question.window == window_) gpus_.add(answer->question.second, *answer->telemetry);
    if (is_detailed) {
      learn_gpus(*answer->telemetry);
      if (ends_pending)
        gpu_counters_.advance(*answer->telemetry, answer->time, pending_->record);
      else
        gpu_counters_.start(*answer->telemetry, answer->time);
    }
    last_gpus_ = std::move(*answer->telemetry);
  }
  if (ends_pending) pending_->has_gpus = true;
}

void Sampler::learn_gpus(const host::GpuTelemetry& telemetry) {
  for (const host::GpuSample& sample : telemetry.gpus) {
    if (std::ranges::find(known_gpus_, sample.index, &host::GpuSample::index) != known_gpus_.end()) continue;
    known_gpus_.push_back(sample);
    may_have_changed_ = true;
  }
}

void Sampler::take_devices() {
  auto answer = device_lane_.take();
  if (!answer) return;
  if (answer->question.run != run_) return;
  if (pending_ && pending_->window + 1 == answer->question.window) {
    if (is_device_base_) append_devices(*devices_, answer->readings, pending_->record);
    pending_->has_devices = true;
  }
  devices_ = std::move(answer->readings);
  is_device_base_ = may_have_changed_ = true;
}

void Sampler::emit(MonoTime mono, std::vector<jobs::Record>& records) {
  if (!pending_) return;
  const bool is_complete = pending_->has_gpus && pending_->has_devices;
  if (!is_complete && mono - pending_->closed < kDevicePatience) return;
  ++counts_.windows;
  remove_impossible(pending_->record);
  records.emplace_back(std::move(pending_->record));
  pending_.reset();
}

jobs::NodeRecord Sampler::node_record(WallTime now) const {
  jobs::NodeRecord node;
  node.time = now;
  node.node = options_.node;
  node.leaf = options_.leaf;
  node.idle_w = options_.idle_w;
  node.spin_w = options_.spin_w;
  node.busy_w = options_.busy_w;
  std::vector<GpuPlace> places;
  for (const host::GpuSample& gpu : known_gpus_) {
    node.gpus = std::max(node.gpus, gpu.index + 1);
    if (node.gpu_model.empty()) node.gpu_model = gpu.model;
    places.push_back({gpu.index, host::pci_path(host_->files, gpu.address)});
  }
  if (!devices_) return node;
  std::vector<std::vector<std::string>> paths;
  for (const host::NicPort& port : devices_->ports)
    paths.push_back(host::pci_path(host_->files, port.pci_address));
  const auto users = gpus_of_nics(paths, places);
  for (std::size_t i = 0; i < devices_->ports.size(); ++i)
    node.nics.push_back(
        {.name = devices_->ports[i].name, .bytes_s = devices_->counters[i].rate_bytes_s, .gpus = users[i]});
  return node;
}

void Sampler::describe(WallTime now, MonoTime mono, std::vector<jobs::Record>& records) {
  // Once all doors have answered, or have had their time; then once in a window.
  const bool is_known = (last_gpus_ && devices_) || mono - started_ >= kDevicePatience;
  if (!is_known || !(is_description_due_ || may_have_changed_)) return;
  may_have_changed_ = false;
  jobs::NodeRecord node = node_record(now);
  // A NIC whose link is down for the moment keeps its line rate.
  if (described_)
    for (jobs::NicOfNode& nic : node.nics)
      if (const auto before = std::ranges::find(described_->nics, nic.name, &jobs::NicOfNode::name);
          !nic.bytes_s && before != described_->nics.end())
        nic.bytes_s = before->bytes_s;
  if (!is_description_due_ && described_ && has_equal_parts(*described_, node)) return;
  is_description_due_ = false;
  described_ = node;
  records.emplace_back(std::move(node));
}

std::vector<std::string> Sampler::not_seen() const {
  std::vector<std::string> sentences;
  const bool is_gpu_machine =
      last_gpus_ && !(last_gpus_->state == DriverState::driver_not_loaded && last_gpus_->detail.empty());
  if (is_gpu_machine && last_gpus_->state != DriverState::ok)
    sentences.push_back("Telemetry of the GPUs is missing: the driver is " +
                        std::string(host::to_string(last_gpus_->state)) +
                        (last_gpus_->detail.empty() ? "" : " (" + last_gpus_->detail + ")") +
                        ". Run: autopilot check gpu.driver");
  if (is_running_ && !devices_ && last_mono_ - started_ > kDevicePatience)
    sentences.emplace_back(
        "Counters of the NICs are missing: an adapter does not answer. Run: autopilot check network");
  if (processes_.denied_io() > 0)
    sentences.push_back("The I/O of " + std::to_string(processes_.denied_io()) +
                        " rank processes is missing: the agent may not read /proc/<pid>/io. Run it as root, "
                        "or a helper, which "
                        "reads processes of root (docs/ras-helper.md)");
  return sentences;
}

}  // namespace autopilot::collect
