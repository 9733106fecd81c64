// SPDX-License-Identifier: Apache-2.0
#include "host/kubelet/kubelet_helper.hpp"

#include <algorithm>
#include <iostream>
#include <utility>

#include "host/helpers/helper_server.hpp"
#include "host/kubelet/grpc_call.hpp"
#include "host/process/poll.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kPodResources = "pod_resources";
constexpr std::string_view kList = "/v1.PodResourcesLister/List";
constexpr int kExitUsage = 64;  // EX_USAGE

Result<std::string> answer_pod_resources(const Files& files, MonoTime deadline) {
  const std::string socket(HelperKubelet::kSocket);
  // So that the answer still finds somebody who waits.
  const MonoTime earlier = deadline - (deadline - mono_now()) / 8;
  auto message = call_grpc(files, {.socket = socket, .method = std::string(kList)}, earlier);
  // A kubelet that is too old for the service is none.
  if (!message && message.error().code == Errc::unsupported)
    return fail(Errc::not_found, message.error().what);
  if (!message) return message;
  auto resources = parse_pod_resources(*message);
  if (!resources) return fail(resources.error().code, socket + ": " + resources.error().what);
  return format_pod_resources(*resources);
}

}  // namespace

int run_kubelet_helper(int fd, const std::vector<std::string>& arguments) {
  std::string root;
  if (arguments.size() == 2 && arguments[0] == "--root") {
    root = arguments[1];
  } else if (!arguments.empty()) {
    std::cerr << "autopilot helper kubelet: takes only --root DIR\n";
    return kExitUsage;
  }
  const Files files(root);
  return serve(fd, {{std::string(kPodResources), [&files](std::string_view, MonoTime deadline) {
                       return answer_pod_resources(files, deadline);
                     }}});
}

HelperKubelet::HelperKubelet(Command helper, const Clock& clock, const Files& files)
    : clock_(clock), files_(files), helper_("kubelet", std::move(helper)) {}

Result<PodResources> HelperKubelet::pod_resources(MonoTime deadline) const {
  auto resources = ask(deadline);
  const std::lock_guard lock(mutex_);
  problem_ = resources || resources.error().code == Errc::not_found ? "" : resources.error().what;
  return resources;
}

std::string HelperKubelet::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

Result<PodResources> HelperKubelet::ask(MonoTime deadline) const {
  // The folder, for who may not look into it learns nothing about the socket.
  const auto names = TRY(files_.list(kFolder));
  if (std::ranges::find(names, kSocket.substr(kFolder.size() + 1)) == names.end())
    return fail(Errc::not_found, std::string(kSocket));
  const Duration patience = std::min(deadline - clock_.now().mono, Duration{kPatience});
  auto answer = helper_.call(kPodResources, "null", mono_now() + patience);
  if (!answer) return fail(error_of_subject(std::move(answer).error()));
  return parse_pod_resources_answer(*answer);
}

}  // namespace autopilot::host
