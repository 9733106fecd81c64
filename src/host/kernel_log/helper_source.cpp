// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/helper_source.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <poll.h>
#include <sys/eventfd.h>
#include <utility>

#include "host/files/fd.hpp"
#include "host/helpers/helper_socket.hpp"
#include "host/kernel_log/kmsg_protocol.hpp"

namespace autopilot::host {

Result<std::unique_ptr<HelperSource>> HelperSource::open(const std::string& socket_path, Limits limits) {
  Fd socket = TRY(connect_to_helper(socket_path));
  Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return fail_errno(errno, "eventfd");
  std::unique_ptr<HelperSource> source(
      new HelperSource(socket_path, std::move(socket), std::move(wake), limits));
  TRY_STATUS(source->start());
  return source;
}

HelperSource::HelperSource(const std::string& socket_path, Fd socket, Fd wake, Limits limits)
    : wake_(std::move(wake)),
      stream_("kmsg helper at " + socket_path, std::move(socket), wake_.get()),
      limits_(limits) {}

Status HelperSource::start() {
  auto answer = stream_.exchange(kOpenKernelLog, "null", mono_now() + limits_.answer);
  if (!answer) return fail(std::move(answer).error().error);
  witness_ = TRY(parse_witness(*answer));
  return {};
}

Result<std::vector<SourcedRecord>> HelperSource::next(Duration patience) {
  if (is_interrupted()) return std::vector<SourcedRecord>{};
  const auto asked = std::chrono::ceil<std::chrono::milliseconds>(
      std::clamp<Duration>(patience, Duration::zero(), limits_.patience));
  auto answer = stream_.exchange(kNextRecords, encode_patience(asked), mono_now() + asked + limits_.answer);
  if (!answer) {
    if (is_interrupted()) return std::vector<SourcedRecord>{};
    return fail(std::move(answer).error().error);
  }
  return parse_records(*answer);
}

void HelperSource::interrupt() {
  ::eventfd_write(wake_.get(), 1);
}

// Nobody takes the wake back.
bool HelperSource::is_interrupted() const {
  return poll_until(wake_.get(), POLLIN, MonoTime{});
}

}  // namespace autopilot::host
