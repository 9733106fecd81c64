// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/run/run.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <optional>
#include <span>
#include <thread>

#include "probes/gpu/run/exit_code.hpp"
#include "probes/gpu/run/gpu_worker.hpp"
#include "probes/gpu/sensors/sampler.hpp"

namespace autopilot::probes::gpu {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr std::chrono::milliseconds kLook{20};
// After a signal, for what is freed; then the process ends and the kernel frees the rest.
constexpr std::chrono::milliseconds kStopping{800};

// The threads of all GPUs, and who hangs.
class Crew {
 public:
  Crew(const Library& library, const Sensors* sensors, const Options& options,
       const std::vector<GpuFacts>& gpus)
      : options_(options), meeting_(gpus.size()) {
    for (const GpuFacts& gpu : gpus)
      members_.emplace_back(gpu);
    for (std::size_t i = 0; i < members_.size(); ++i)
      members_[i].thread = std::thread(run_gpu, std::cref(library), sensors, std::cref(options),
                                       std::ref(meeting_), i, std::span(gpus), std::ref(members_[i].slot));
  }

  void stop() {
    for (Member& member : members_)
      member.slot.watch.stop = true;
  }

  // Every thread has ended or hangs.
  [[nodiscard]] bool is_through() {
    bool through = true;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (members_[i].slot.done || members_[i].hangs) continue;
      look_at(i);
      through = through && members_[i].hangs;
    }
    return through;
  }

  // Waits for those that ended. False: at least one did not, and must not be waited for.
  [[nodiscard]] bool join() {
    bool all = true;
    for (Member& member : members_) {
      if (member.slot.done)
        member.thread.join();
      else
        member.thread.detach();
      all = all && member.slot.done;
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
    explicit Member(GpuFacts facts) : slot(std::move(facts)) {}
    GpuSlot slot;
    std::thread thread;
    std::uint64_t calls = 0;  // when it was last seen to make another one
    Clock::time_point since = Clock::now();
    bool hangs = false;
  };

  void look_at(std::size_t i) {
    Member& member = members_[i];
    const std::uint64_t calls = member.slot.watch.calls;
    const char* call = member.slot.watch.call;
    if (call == nullptr || calls != member.calls) {
      member.calls = calls;
      member.since = Clock::now();
      return;
    }
    if (Seconds(Clock::now() - member.since).count() < options_.patience_seconds) return;
    member.hangs = true;
    member.slot.change([&](GpuReport& report) {
      report.error = std::string(call) + " has not come back for " +
                     std::to_string(static_cast<long>(options_.patience_seconds)) + " s";
    });
    meeting_.leave(i);
  }

  const Options& options_;
  const Clock::time_point began_ = Clock::now();
  Meeting meeting_;
  std::deque<Member> members_;
};

sigset_t ending_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP})
    sigaddset(&signals, number);
  return signals;
}

// The signal that came, or 0.
int wait_for_end(Crew& crew) {
  const sigset_t signals = ending_signals();
  const timespec look{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(kLook).count()};
  while (!crew.is_through())
    if (const int number = sigtimedwait(&signals, nullptr, &look); number > 0) return number;
  return 0;
}

void wait_for_stop(Crew& crew) {
  crew.stop();
  const auto end = Clock::now() + kStopping;
  while (!crew.is_through() && Clock::now() < end)
    std::this_thread::sleep_for(kLook);
}

// "12.4" of 12040.
std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Result<std::vector<GpuFacts>> look_around(const Library& library, const Options& options, Report& report) {
  Watch watch;
  const Driver driver(library, watch);
  int version = 0;
  TRY_STATUS(driver.run(driver.calls().driver_version, &version));
  report.driver_version = version_text(version);
  return choose_gpus(TRY(list_gpus(driver)), options.gpus);
}

std::vector<std::string> addresses_of(const std::vector<GpuFacts>& gpus) {
  std::vector<std::string> addresses;
  for (const GpuFacts& gpu : gpus)
    addresses.push_back(gpu.pci_address);
  return addresses;
}

void tell(const Report& report) {
  if (report.error) std::fprintf(stderr, "autopilot-gpu-probe: %s\n", report.error->c_str());
  for (const GpuReport& gpu : report.gpus)
    if (gpu.error) std::fprintf(stderr, "gpu %d: %s\n", gpu.facts.index, gpu.error->c_str());
  std::printf("%s\n", to_json(report).c_str());
  std::fflush(stdout);
}

int tell_error(Report& report, const Error& error) {
  report.error = error.what;
  tell(report);
  return exit_not_looked;
}

}  // namespace

int run(const Options& options) {
  const sigset_t signals = ending_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  Report report;
  report.began = std::chrono::system_clock::now();
  const auto library = Library::open(options.library);
  if (!library) return tell_error(report, library.error());
  report.simulated = library->is_simulated();
  if (report.simulated) std::fprintf(stderr, "SIMULATED: no GPU is behind this driver\n");
  const auto gpus = look_around(*library, options, report);
  if (!gpus) return tell_error(report, gpus.error());

  const auto sensors = Sensors::open(options.sensor_library);
  if (!sensors) report.sensor_error = sensors.error().what;
  Crew crew(*library, sensors ? &*sensors : nullptr, options, *gpus);
  std::optional<Sampler> sampler;
  if (sensors)
    sampler.emplace(*sensors, addresses_of(*gpus),
                    [&](std::size_t gpu, const SensorValues& values) { crew.take(gpu, values); });
  const int number = wait_for_end(crew);
  report.stopped = number != 0;
  if (report.stopped) wait_for_stop(crew);
  const bool sampler_ended = !sampler || sampler->stop();
  const bool all_ended = crew.join() && sampler_ended;
  report.gpus = crew.reports();
  tell(report);
  const int code = report.stopped ? exit_signal + number : exit_code_of(report);
  if (!all_ended) std::_Exit(code);  // a thread is in the driver, and the end of main would take what it uses
  return code;
}

}  // namespace autopilot::probes::gpu
