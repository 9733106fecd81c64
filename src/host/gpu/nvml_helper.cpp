// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/nvml_helper.hpp"

#include <condition_variable>
#include <functional>
#include <iostream>
#include <mutex>
#include <optional>
#include <thread>
#include <unistd.h>
#include <utility>

#include "host/clock/system_clock.hpp"
#include "host/files/fd.hpp"
#include "host/gpu/helper_gpus.hpp"
#include "host/gpu/nvml_driver.hpp"
#include "host/gpu/nvml_library.hpp"
#include "host/helpers/helper_server.hpp"

namespace autopilot::host {
namespace {

// A call that hangs this long is given up; a new process may succeed.
constexpr Duration kHangPatience = std::chrono::seconds{30};
constexpr int kExitUsage = 64;

// The driver, called by one thread, which may hang in a call.
class NvmlService {
 public:
  explicit NvmlService(std::string library_path) : driver_(std::move(library_path), clock_, watch_) {
    std::thread([this] { work(); }).detach();
  }

  Result<std::string> read(std::string_view params, MonoTime deadline) {
    const GpuQuestion question = TRY(parse_gpu_question(params));
    auto answer =
        ask([this, question] { return format_gpu_report(driver_.read(question.groups, question.addresses)); },
            deadline);
    if (answer) return std::move(*answer);
    GpuReport report;
    report.state = DriverState::unresponsive;
    report.detail = what_hangs();
    return format_gpu_report(report);
  }

  Result<std::string> take_events(std::string_view, MonoTime deadline) {
    auto answer = ask(
        [this]() -> Result<std::string> {
          return format_gpu_events(TRY(driver_.take_events()), clock_.now());
        },
        deadline);
    if (!answer) return fail(Errc::timed_out, what_hangs());
    return std::move(*answer);
  }

 private:
  using Task = std::function<Result<std::string>()>;

  [[noreturn]] void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return task_ != nullptr; });
      lock.unlock();
      Result<std::string> answer = task_();
      lock.lock();
      answer_ = std::move(answer);
      task_ = nullptr;
      changed_.notify_all();
    }
  }

  // Empty if the thread is busy or has not finished shortly before the deadline.
  std::optional<Result<std::string>> ask(Task task, MonoTime deadline) {
    const MonoTime give_up = mono_now() + (deadline - mono_now()) * 9 / 10;
    std::unique_lock lock(mutex_);
    const auto is_free = [this] { return task_ == nullptr; };
    if (!changed_.wait_until(lock, give_up, is_free)) return std::nullopt;
    task_ = std::move(task);
    changed_.notify_all();
    if (!changed_.wait_until(lock, give_up, is_free)) return std::nullopt;
    return std::move(answer_);
  }

  // Never returns once a call has hung for kHangPatience.
  [[nodiscard]] std::string what_hangs() const {
    const char* call = watch_.name();
    const Duration stuck = mono_now() - watch_.since();
    if (call == nullptr) return "the driver is slow: no answer within the deadline";
    if (stuck > kHangPatience)
      while (true)
        ::pause();
    return std::string(call) + " has not returned for " +
           format_duration(std::chrono::duration_cast<std::chrono::seconds>(stuck));
  }

  SystemClock clock_;
  CallWatch watch_;
  NvmlDriver driver_;  // used by the thread alone
  std::mutex mutex_;
  std::condition_variable changed_;
  Task task_;  // in progress on the thread; null: the thread is free
  Result<std::string> answer_;
};

}  // namespace

int run_nvml_helper(int fd, const std::vector<std::string>& arguments) {
  std::string library;
  if (arguments.size() == 2 && arguments[0] == "--library") {
    library = arguments[1];
  } else if (!arguments.empty()) {
    std::cerr << "autopilot helper nvml: takes only --library PATH\n";
    return kExitUsage;
  }
  static NvmlService service(std::move(library));
  const int code = serve(
      fd,
      {{"read", [](std::string_view params, MonoTime deadline) { return service.read(params, deadline); }},
       {"events",
        [](std::string_view params, MonoTime deadline) { return service.take_events(params, deadline); }}});
  // The thread may hang in the driver: exit without destructors and without joining it.
  ::_exit(code);
}

}  // namespace autopilot::host
