// SPDX-License-Identifier: Apache-2.0
// A helper that can do everything wrong: `fake_helper [behaviour]`, chosen by the method for an honest
// server.
#include <csignal>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include "host/clock/system_clock.hpp"
#include "host/ethtool/ethtool_helper.hpp"
#include "host/gpu/amd_gpus.hpp"
#include "host/gpu/nvml_driver.hpp"
#include "host/helpers/helper_server.hpp"
#include "host/helpers/message.hpp"
#include "host/infiniband/ib_helper.hpp"
#include "host/kernel_log/kmsg_helper.hpp"
#include "host/kernel_log/kmsg_source.hpp"
#include "host/kubelet/kubelet_helper.hpp"
#include "host/nccl_ras/ras_helper.hpp"
#include "host/storage/system_storage.hpp"
#include "nettest/echo/peer_echo.hpp"

namespace {

using autopilot::Errc;
using autopilot::MonoTime;
using autopilot::Result;
using autopilot::host::kHelperFd;

void write_raw(const std::string& bytes) {
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const ssize_t wrote = ::write(kHelperFd, rest.data(), rest.size());
    if (wrote <= 0) ::_exit(1);
    rest.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

[[noreturn]] void hang() {
  while (true)
    ::pause();
}

Result<std::string> misbehave(std::string_view how) {
  const auto frame = [](const std::string& body) { write_raw(autopilot::host::encode_frame(body).value()); };
  if (how == "hang") hang();
  if (how == "ignore_sigterm") {
    std::signal(SIGTERM, SIG_IGN);
    hang();
  }
  if (how == "stop") ::kill(::getpid(), SIGSTOP);
  if (how == "exit") ::_exit(9);
  if (how == "segfault") {
    std::signal(SIGSEGV, SIG_DFL);  // a sanitizer would turn it into an exit code
    ::kill(::getpid(), SIGSEGV);
  }
  if (how == "wrong_id") frame(R"({"version":1,"id":999999,"result":{}})");
  if (how == "wrong_version") frame(R"({"version":2,"id":1,"result":{}})");
  if (how == "garbage") write_raw(std::string(64, '\x01'));
  if (how == "not_json") frame("hello");
  if (how == "no_result") frame(R"({"version":1,"id":1})");
  if (how == "partial") {
    write_raw(std::string("\0\0\1\0{\"version\":1", 16));
    hang();
  }
  if (how == "half_and_die") {
    write_raw(std::string("\0\0\1\0{\"version\":1", 16));
    ::_exit(0);
  }
  if (how == "flood") write_raw(std::string(10 << 20, 'x'));
  if (how == "shout") {
    for (int i = 0; i < 100'000; ++i)
      static_cast<void>(!::write(STDERR_FILENO, "again\n", 6));
  }
  if (how == "last_words") {
    static_cast<void>(!::write(STDERR_FILENO, "out of luck", 11));
    ::_exit(9);
  }
  if (how == "too_long") return std::string((2 << 20), '1');
  return std::string("\"done\"");
}

// All answer, but of that address it dies.
Result<std::string> echoes_unless_asked_of(const std::string& deadly, std::string_view params) {
  const autopilot::nettest::EchoPlan plan = TRY(autopilot::nettest::parse_echo_plan(params));
  std::vector<autopilot::nettest::PeerEcho> echoes;
  for (const std::string& address : plan.addresses) {
    if (address == deadly) ::_exit(9);
    echoes.push_back({.address = address, .interface = "eth0"});
    echoes.back().figures = {.sent = plan.echoes, .answered = plan.echoes};
  }
  return autopilot::nettest::format_peer_echoes(echoes);
}

// A kernel log helper at a socket; its log is what a feeder sends.
int listen_with_fed_log(const std::string& socket, const std::string& feeder) {
  using namespace autopilot::host;
  const SystemClock clock;
  return listen_for_agents({.name = "fake kmsg", .path = socket, .allowed = {}}, [&](int fd) {
    return run_kmsg_helper(fd, [&]() -> Result<std::unique_ptr<RecordSource>> {
      if (feeder == "closed") return autopilot::fail(Errc::denied, "needs CAP_SYSLOG");
      return std::unique_ptr<RecordSource>(TRY(KmsgSource::connect(feeder, "/dev/kmsg", clock)));
    });
  });
}

}  // namespace

int main(int argc, char** argv) {
  const std::string kind = argc > 1 ? argv[1] : "";
  if (kind == "storage") return autopilot::host::run_storage_helper(kHelperFd);
  if (kind == "nvml") return autopilot::host::run_nvml_helper(kHelperFd, {argv + 2, argv + argc});
  if (kind == "amdgpu") return autopilot::host::run_amdgpu_helper(kHelperFd, argc > 2 ? argv[2] : "");
  if (kind == "ib") return autopilot::host::run_ib_helper(kHelperFd, argc > 2 ? argv[2] : "");
  if (kind == "kubelet") return autopilot::host::run_kubelet_helper(kHelperFd, {argv + 2, argv + argc});
  if (kind == "ras") return autopilot::host::run_ras_helper(kHelperFd, {argv + 2, argv + argc});
  if (kind == "kmsg" && argc > 3) return listen_with_fed_log(argv[2], argv[3]);
  if (kind == "ethtool") return autopilot::host::run_ethtool_helper(kHelperFd);
  if (kind == "hangs_about_eth1")
    return autopilot::host::serve(
        kHelperFd, {{"read", [](std::string_view interface, MonoTime) -> Result<std::string> {
                       if (interface == R"("eth1")") hang();
                       return std::string(R"({"link":{"reason":"","detail":""},"fec":{"mode":"rs"},)"
                                          R"("module":{"error":{"code":"denied","what":"no right"}}})");
                     }}});
  if (kind == "ib_that_lies")
    return autopilot::host::serve(kHelperFd, {{"read", [](std::string_view, MonoTime) -> Result<std::string> {
                                                 return std::string(R"({"text":42})");
                                               }}});
  if (kind == "lies_about_gpus")
    return autopilot::host::serve(kHelperFd, {{"read", [](std::string_view, MonoTime) -> Result<std::string> {
                                                 return std::string(R"({"state":"splendid"})");
                                               }}});
  if (kind == "lies_about_pods")
    return autopilot::host::serve(kHelperFd,
                                  {{"pod_resources", [](std::string_view, MonoTime) -> Result<std::string> {
                                      return std::string(R"({"held":"all"})");
                                    }}});
  if (kind == "hangs_about_pods")
    return autopilot::host::serve(
        kHelperFd, {{"pod_resources", [](std::string_view, MonoTime) -> Result<std::string> { hang(); }}});
  if (kind == "ping_that_dies_of" && argc > 2)
    return autopilot::host::serve(kHelperFd, {{"ask", [of = std::string(argv[2])](auto params, MonoTime) {
                                                 return echoes_unless_asked_of(of, params);
                                               }}});
  if (kind == "writes")
    return autopilot::host::serve(kHelperFd,
                                  {{"write", [](std::string_view params, MonoTime) -> Result<std::string> {
                                      const std::string path(params.substr(1, params.size() - 2));
                                      std::ofstream(path) << "x";
                                      return std::string("true");
                                    }}});
  if (kind == "dies_at_once") return 5;
  if (kind == "lingers") {
    static_cast<void>(autopilot::host::serve(kHelperFd, {}));
    hang();
  }
  return autopilot::host::serve(
      kHelperFd,
      {{"echo", [](std::string_view params, MonoTime) -> Result<std::string> { return std::string(params); }},
       {"pid", [](std::string_view, MonoTime) -> Result<std::string> { return std::to_string(::getpid()); }},
       {"refuse",
        [](std::string_view, MonoTime) -> Result<std::string> {
          return autopilot::fail(Errc::denied, "needs CAP_SYS_ADMIN");
        }},
       {"misbehave", [](std::string_view params, MonoTime) -> Result<std::string> {
          return misbehave(params.substr(1, params.size() - 2));
        }}});
}
