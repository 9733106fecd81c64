// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/kmsg_helper.hpp"

#include <algorithm>
#include <iostream>
#include <utility>

#include "host/clock/system_clock.hpp"
#include "host/files/fd.hpp"
#include "host/helpers/helper_server.hpp"
#include "host/helpers/helper_socket.hpp"
#include "host/kernel_log/kernel_log_tail.hpp"
#include "host/kernel_log/kmsg_protocol.hpp"

namespace autopilot::host {
namespace {

constexpr int kExitUsage = 64;

// One agent's place in the log.
class ReadLog {
 public:
  explicit ReadLog(const OpenRecordSource& open) : open_(open) {}

  Result<std::string> open() {
    source_ = TRY(open_());
    waiting_.clear();
    taken_ = 0;
    return encode_witness(source_->witness());
  }

  Result<std::string> next(std::string_view params) {
    const auto patience = TRY(parse_patience(params));
    if (!source_) return fail(Errc::malformed, "kmsg helper: the log is not open");
    const MonoTime until = mono_now() + patience;
    while (taken_ == waiting_.size()) {
      const Duration left = std::max<Duration>(until - mono_now(), Duration::zero());
      waiting_ = TRY(source_->next(left));
      taken_ = 0;
      if (left == Duration::zero()) break;
    }
    return encode_records(waiting_, taken_);
  }

 private:
  const OpenRecordSource& open_;
  std::unique_ptr<RecordSource> source_;
  std::vector<SourcedRecord> waiting_;  // taken from the source, and sent up to taken_
  std::size_t taken_ = 0;
};

}  // namespace

int run_kmsg_helper(int fd, const OpenRecordSource& open) {
  ReadLog log(open);
  return serve(fd, {{std::string(kOpenKernelLog), [&log](std::string_view, MonoTime) { return log.open(); }},
                    {std::string(kNextRecords),
                     [&log](std::string_view params, MonoTime) { return log.next(params); }}});
}

int run_kmsg_helper_verb(const std::vector<std::string>& arguments) {
  auto listening = parse_listening("autopilot helper kmsg", arguments);
  if (!listening) {
    std::cerr << "autopilot helper kmsg: expected --listen /PATH [--allow-uid UID]..., "
                 "at most 16 users\n";
    return kExitUsage;
  }
  listening->capabilities = kReadKernelLog;
  const SystemClock clock;
  return listen_for_agents(*listening, [&clock](int fd) {
    return run_kmsg_helper(fd, [&clock] { return open_kernel_log(clock); });
  });
}

}  // namespace autopilot::host
