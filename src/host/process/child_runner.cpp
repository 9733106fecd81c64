// SPDX-License-Identifier: Apache-2.0
#include "host/process/child_runner.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/eventfd.h>

#include "host/files/fd.hpp"

namespace autopilot::host {
namespace {

// A grandchild that left the group may hold a pipe open for ever.
constexpr auto kDrain = std::chrono::milliseconds{500};

struct Pipe {
  Fd read;
  Fd write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno(errno, "pipe");
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

// Gives whole lines of a stream of chunks.
class LineSplitter {
 public:
  explicit LineSplitter(const LineHandler& handler) : handler_(handler) {}
  void add(std::string_view chunk) {
    if (!handler_) return;
    while (!chunk.empty()) {
      const auto end = chunk.find('\n');
      const std::string_view part = chunk.substr(0, end);
      line_ += part.substr(0, RunLimits::kMaxLine - line_.size());
      if (end == std::string_view::npos) return;
      flush();
      chunk.remove_prefix(end + 1);
    }
  }
  void finish() {
    if (handler_ && !line_.empty()) flush();
  }

 private:
  void flush() {
    handler_(line_);
    line_.clear();
  }
  const LineHandler& handler_;
  std::string line_;
};

// One child from its start to its report.
class Run {
 public:
  Run(Child child, Fd output, Fd errors, const RunLimits& limits, const LineHandler& on_line)
      : child_(std::move(child)),
        output_(std::move(output)),
        errors_(std::move(errors)),
        limits_(limits),
        lines_(on_line) {}

  ChildReport to_end(MonoTime deadline, const std::stop_token& stop, int stop_event) {
    next_ = deadline;
    while (phase_ != Phase::over) {
      wait(stop_event);
      if (phase_ == Phase::running && stop.stop_requested()) end_because(ChildEnd::cancelled);
      if (mono_now() >= next_) step();
      if (has_ended_ && !output_ && !errors_) phase_ = Phase::over;
    }
    lines_.finish();
    return std::move(report_);
  }
  [[nodiscard]] Child take_child() { return std::move(child_); }

 private:
  enum class Phase : std::uint8_t { running, terminating, killing, draining, over };

  void wait(int stop_event) {
    std::array<pollfd, 4> descriptors{{{output_.get(), POLLIN, 0},
                                       {errors_.get(), POLLIN, 0},
                                       {has_ended_ ? -1 : child_.pidfd(), POLLIN, 0},
                                       {phase_ == Phase::running ? stop_event : -1, POLLIN, 0}}};
    if (!poll_until(descriptors, next_)) return;
    if (descriptors[0].revents != 0) read(output_, report_.output, &lines_);
    if (descriptors[1].revents != 0) read(errors_, report_.errors, nullptr);
    if (descriptors[2].revents != 0) on_end();
  }

  void read(Fd& fd, std::string& kept, LineSplitter* lines) {
    std::array<char, 16 * 1024> buffer{};
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) return;
    if (got <= 0) {
      fd.reset();
      return;
    }
    const std::string_view chunk(buffer.data(), static_cast<std::size_t>(got));
    const std::size_t room = limits_.output_bytes - kept.size();
    kept += chunk.substr(0, room);
    report_.dropped_bytes += chunk.size() - std::min(chunk.size(), room);
    if (lines != nullptr) lines->add(chunk);
  }

  void on_end() {
    const auto status = child_.wait_until(mono_now());
    if (!status) return;
    has_ended_ = true;
    report_.status = *status;
    if (phase_ == Phase::running)
      report_.end = status->was_signalled ? ChildEnd::signalled : ChildEnd::exited;
    phase_ = Phase::draining;
    next_ = mono_now() + kDrain;
  }

  void end_because(ChildEnd end) {
    report_.end = end;
    child_.send_signal(SIGTERM);
    // A stopped one must run to die.
    child_.send_signal(SIGCONT);
    phase_ = Phase::terminating;
    next_ = mono_now() + limits_.grace;
  }

  // The time of the present phase is up.
  void step() {
    switch (phase_) {
      case Phase::running:
        end_because(ChildEnd::timed_out);
        return;
      case Phase::terminating:
        child_.send_signal(SIGKILL);
        phase_ = Phase::killing;
        next_ = mono_now() + limits_.patience;
        return;
      case Phase::killing:
        report_.was_abandoned = true;
        [[fallthrough]];
      case Phase::draining:
      case Phase::over:
        phase_ = Phase::over;
    }
  }

  Child child_;
  Fd output_;
  Fd errors_;
  RunLimits limits_;
  LineSplitter lines_;
  ChildReport report_;
  Phase phase_ = Phase::running;
  bool has_ended_ = false;
  MonoTime next_{};
};

}  // namespace

Result<ChildReport> ChildRunner::run(const Command& command, MonoTime deadline, const RunLimits& limits,
                                     const std::stop_token& stop, const LineHandler& on_line) {
  Pipe output = TRY(make_pipe());
  Pipe errors = TRY(make_pipe());
  const Fd stop_event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop_event) return fail_errno(errno, "eventfd");
  Child child =
      TRY(Child::start(command, {.output = output.write.get(), .errors = errors.write.get(), .extra = -1}));
  output.write.reset();
  errors.write.reset();
  const std::stop_callback wake(stop, [&] { ::eventfd_write(stop_event.get(), 1); });
  Run run(std::move(child), std::move(output.read), std::move(errors.read), limits, on_line);
  ChildReport report = run.to_end(deadline, stop, stop_event.get());
  if (report.was_abandoned) {
    const std::lock_guard lock(mutex_);
    abandoned_.push_back(run.take_child());
  }
  return report;
}

std::size_t ChildRunner::abandoned() {
  const std::lock_guard lock(mutex_);
  std::erase_if(abandoned_, [](Child& child) { return child.wait_until(MonoTime{}).has_value(); });
  return abandoned_.size();
}

}  // namespace autopilot::host
