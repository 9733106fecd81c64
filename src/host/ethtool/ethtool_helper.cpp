// SPDX-License-Identifier: Apache-2.0
#include "host/ethtool/ethtool_helper.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/parse.hpp"
#include "host/ethtool/ethtool.hpp"
#include "host/ethtool/ethtool_netlink.hpp"
#include "host/files/fd.hpp"
#include "host/helpers/helper_server.hpp"
#include "host/helpers/message.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kRead = "read";
constexpr std::size_t kMaxName = 15;  // IFNAMSIZ with the zero at its end

bool is_interface(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && is_printable(name);
}

Result<std::string> answer_read(std::string_view params) {
  const auto interface = text_in(params);
  if (!interface || !is_interface(*interface)) return fail(Errc::malformed, "read: no name of an interface");
  EthtoolNetlink kernel = TRY(EthtoolNetlink::open());
  return format_ethtool_port({.link = kernel.link(*interface),
                              .fec = kernel.fec(*interface),
                              .module = read_module_memory([&](const ModulePlace& place, std::size_t size) {
                                return kernel.module_bytes(*interface, place, size);
                              })});
}

}  // namespace

int run_ethtool_helper(int fd) {
  return serve(fd,
               {{std::string(kRead), [](std::string_view params, MonoTime) { return answer_read(params); }}});
}

HelperEthtool::HelperEthtool(Command helper, const Clock& clock, const Limits& limits)
    : clock_(clock), limits_(limits), helper_("ethtool", std::move(helper)) {}

std::vector<Result<EthtoolPort>> HelperEthtool::read(const std::vector<std::string>& interfaces,
                                                     MonoTime deadline) const {
  std::vector<Result<EthtoolPort>> answers;
  for (const std::string& interface : interfaces)
    answers.push_back(read_one(interface, deadline));
  helper_.rest();
  return answers;
}

Result<EthtoolPort> HelperEthtool::read_one(const std::string& interface, MonoTime deadline) const {
  if (still_hangs(interface))
    return fail(Errc::timed_out, interface + ": its driver did not answer when last asked");
  const Duration patience = std::min(deadline - clock_.now().mono, limits_.patience);
  auto answer = helper_.call(kRead, make_text_message(interface), mono_now() + patience);
  if (!answer) {
    // Without the whole time to answer in, silence proves nothing about the driver.
    if (answer.error().failure == HelperFailure::timed_out &&
        (patience >= limits_.patience || answer.error().stuck_pid >= 0)) {
      const std::lock_guard lock(mutex_);
      hangs_[interface] = {.helper = answer.error().stuck_pid, .ask_again = mono_now() + limits_.ask_again};
    }
    Error error = error_of_subject(std::move(answer).error());
    return fail(error.code, interface + ": " + error.what);
  }
  auto port = parse_ethtool_port(*answer);
  if (!port) return fail(Errc::internal, interface + ": " + port.error().what);
  return port;
}

bool HelperEthtool::still_hangs(const std::string& interface) const {
  const std::lock_guard lock(mutex_);
  const auto found = hangs_.find(interface);
  if (found == hangs_.end()) return false;
  if (helper_.is_stuck(found->second.helper) || mono_now() < found->second.ask_again) return true;
  hangs_.erase(found);
  return false;
}

}  // namespace autopilot::host
