// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/run/run.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <thread>

#include "core/parse.hpp"
#include "probes/gpu/run/gpu_worker.hpp"
#include "probes/gpu/run/patience.hpp"
#include "probes/gpu/run/report.hpp"
#include "probes/gpu/sensors/sensors.hpp"

namespace autopilot::probes::gpu {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// The threads of all GPUs, and which of them hang.
class Crew {
 public:
  Crew(const Library& library, const Sensors* sensors, const Options& options,
       const std::vector<GpuFacts>& gpus)
      : meeting_(gpus.size()) {
    for (const GpuFacts& gpu : gpus)
      members_.emplace_back(gpu, options.patience_seconds);
    for (Member& member : members_)
      slots_.push_back(&member.slot);
    for (std::size_t i = 0; i < members_.size(); ++i)
      members_[i].thread = std::thread(run_gpu, std::cref(library), sensors, std::cref(options),
                                       std::ref(meeting_), i, std::span<GpuSlot* const>(slots_));
  }

  void stop() {
    for (Member& member : members_)
      member.slot.watch.stop = true;
  }

  // True if every thread has ended or hangs.
  [[nodiscard]] bool is_through() {
    bool through = true;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      Member& member = members_[i];
      if (member.slot.done || member.hangs) continue;
      if (member.patience.is_over()) give_up(i);
      through = through && member.hangs;
    }
    return through;
  }

  // Joins the threads that ended. False: at least one hangs and must not be joined.
  [[nodiscard]] bool join() {
    bool all = true;
    for (Member& member : members_) {
      const bool done = member.slot.done;
      if (done)
        member.thread.join();
      else
        member.thread.detach();
      all = all && done;
    }
    return all;
  }

  void take(std::size_t gpu, const SensorValues& values) {
    const GpuTest* test = members_[gpu].slot.test;
    const double seconds = Seconds(Clock::now() - began_).count();
    members_[gpu].slot.change([&](GpuReport& report) {
      if (report.sensors.size() < kMostSensorSamples)
        report.sensors.push_back(
            {.seconds = seconds, .test = test == nullptr ? "" : test->name, .values = values});
    });
  }

  [[nodiscard]] std::vector<GpuReport> reports() const {
    std::vector<GpuReport> reports;
    for (const Member& member : members_)
      reports.push_back(member.slot.report());
    return reports;
  }

 private:
  struct Member {
    Member(GpuFacts facts, double patience_seconds)
        : slot(std::move(facts)), patience(slot.watch, patience_seconds) {}
    GpuSlot slot;
    Patience patience;
    std::thread thread;
    bool hangs = false;
  };

  void give_up(std::size_t i) {
    members_[i].hangs = true;
    GpuSlot& slot = members_[i].slot;
    slot.change([&](GpuReport& report) { report.error = members_[i].patience.text(); });
    // The other GPU can hang instead, and would block all others one by one.
    if (const char* peer = slot.watch.peer)
      for (GpuSlot* other : slots_)
        if (other->facts().uuid == peer) other->leave_out(slot.facts().uuid + " hangs in a call with it");
    meeting_.leave(i);
  }

  const Clock::time_point began_ = Clock::now();
  Meeting meeting_;
  std::deque<Member> members_;
  std::vector<GpuSlot*> slots_;
};

void wait_for_stop(Crew& crew) {
  crew.stop();
  const auto end = Clock::now() + kStopping;
  while (!crew.is_through() && Clock::now() < end)
    std::this_thread::sleep_for(kPollInterval);
}

// "12.4" of 12040.
std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Objects opened before any test, by a thread of their own, because each of these calls can hang.
struct Opened {
  Watch watch;
  std::atomic<bool> done = false;
  Status outcome;  // this and all below: valid only once it is done
  std::optional<Library> library;
  std::string driver_version;
  std::vector<GpuFacts> gpus;
  std::vector<std::string> missing;  // other given addresses
  std::optional<Sensors> sensors;
  std::optional<std::string> sensor_error;
};

Status open_driver(const Options& options, Opened& opened) {
  {
    const InCall in_call(opened.watch, "dlopen");
    opened.library = TRY(Library::open(options.library));
  }
  if (opened.library->is_simulated()) std::fprintf(stderr, "SIMULATED: no GPU is behind this driver\n");
  const Driver driver(*opened.library, opened.watch);
  int version = 0;
  TRY_STATUS(driver.run(driver.calls().driver_version, &version));
  opened.driver_version = version_text(version);
  const auto all = TRY(list_gpus(driver));
  opened.missing = addresses_not_listed(all, options.gpus);
  std::vector<std::string> listed;
  std::copy_if(options.gpus.begin(), options.gpus.end(), std::back_inserter(listed),
               [&opened](const std::string& word) {
                 return std::find(opened.missing.begin(), opened.missing.end(), to_lower(word)) ==
                        opened.missing.end();
               });
  opened.gpus = TRY(choose_gpus(all, listed.empty() ? options.gpus : listed));
  return {};
}

void open_sensors(const Options& options, Opened& opened) {
  const InCall in_call(opened.watch, "nvmlInit_v2");
  auto sensors = Sensors::open(options.sensor_library);
  if (sensors)
    opened.sensors = *std::move(sensors);
  else
    opened.sensor_error = sensors.error().what;
}

void open_all(const Options& options, Opened& opened) {
  opened.outcome = open_driver(options, opened);
  if (opened.outcome) open_sensors(options, opened);
  opened.done = true;
}

std::vector<std::string> addresses_of(const std::vector<GpuFacts>& gpus) {
  std::vector<std::string> addresses;
  for (const GpuFacts& gpu : gpus)
    addresses.push_back(gpu.pci_address);
  return addresses;
}

GpuReport report_of_missing(const std::string& address) {
  GpuReport gpu;
  gpu.facts.index = -1;
  gpu.facts.pci_address = address;
  gpu.error = "CUDA does not list this GPU";
  return gpu;
}

// Writes the report. False: writing failed.
bool write_report(const Report& report) {
  if (report.error) std::fprintf(stderr, "autopilot-gpu-probe: %s\n", report.error->c_str());
  for (const GpuReport& gpu : report.gpus)
    if (gpu.error) std::fprintf(stderr, "gpu %d: %s\n", gpu.facts.index, gpu.error->c_str());
  const bool is_written = std::printf("%s\n", to_json(report).c_str()) >= 0 && std::fflush(stdout) == 0;
  if (!is_written) std::fprintf(stderr, "autopilot-gpu-probe: the report: %s\n", std::strerror(errno));
  return is_written;
}

// If a thread is blocked in a call, destructors would destroy what it uses: the process ends instead.
int end(const Report& report, int number, bool all_ended) {
  const bool is_written = write_report(report);
  int code = number != 0 ? exit_signal + number : exit_code_of(report);
  if (code == exit_measured && !is_written) code = exit_not_measured;
  if (!all_ended) std::_Exit(code);
  return code;
}

int run_tests(const Options& options, const Library& library, const Opened& opened, Report& report) {
  Crew crew(library, opened.sensors ? &*opened.sensors : nullptr, options, opened.gpus);
  std::optional<Sampler> sampler;
  if (opened.sensors)
    sampler.emplace(*opened.sensors, addresses_of(opened.gpus),
                    [&](std::size_t gpu, const SensorValues& values) { crew.take(gpu, values); });
  const int number = wait_until([&] { return crew.is_through(); });
  report.stopped = number != 0;
  if (report.stopped) wait_for_stop(crew);
  const bool sampler_ended = !sampler || sampler->stop();
  const bool crew_ended = crew.join();
  report.gpus = crew.reports();
  std::transform(opened.missing.begin(), opened.missing.end(), std::back_inserter(report.gpus),
                 report_of_missing);
  return end(report, number, crew_ended && sampler_ended);
}

}  // namespace

int run(const Options& options) {
  hold_ending_signals();
  Report report;
  report.began = std::chrono::system_clock::now();

  Opened opened;
  Patience patience(opened.watch, options.patience_seconds);
  std::thread opening(open_all, std::cref(options), std::ref(opened));
  const int number = wait_until([&] { return opened.done || patience.is_over(); });
  report.stopped = number != 0;
  if (!opened.done) {
    opening.detach();
    if (number == 0) report.error = patience.text();
    return end(report, number, false);
  }
  opening.join();
  report.simulated = opened.library && opened.library->is_simulated();
  report.driver_version = opened.driver_version;
  report.sensor_error = opened.sensor_error;
  if (!opened.outcome) report.error = opened.outcome.error().what;
  if (report.error || report.stopped || !opened.library) return end(report, number, true);
  return run_tests(options, *opened.library, opened, report);
}

}  // namespace autopilot::probes::gpu
