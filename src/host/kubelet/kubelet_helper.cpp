// SPDX-License-Identifier: Apache-2.0
#include "host/kubelet/kubelet_helper.hpp"

#include <algorithm>
#include <iostream>
#include <utility>

#include "host/files/fd.hpp"
#include "host/helpers/helper_server.hpp"
#include "host/helpers/helper_socket.hpp"
#include "host/helpers/helper_stream.hpp"
#include "host/kubelet/grpc_call.hpp"

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

Result<std::string> answer_in(HelperResult result) {
  if (!result) return fail(error_of_subject(std::move(result).error()));
  return *std::move(result);
}

int serve_pod_resources(int fd, const Files& files) {
  return serve(fd, {{std::string(kPodResources), [&files](std::string_view, MonoTime deadline) {
                       return answer_pod_resources(files, deadline);
                     }}});
}

}  // namespace

int run_kubelet_helper(int fd, const std::vector<std::string>& arguments) {
  std::vector<std::string> rest = arguments;
  std::string root;
  if (rest.size() >= 2 && rest[0] == "--root") {
    root = rest[1];
    rest.erase(rest.begin(), rest.begin() + 2);
  }
  const Files files(root);
  if (rest.empty()) return serve_pod_resources(fd, files);
  const auto listening = parse_listening("autopilot helper kubelet", rest);
  if (!listening) {
    std::cerr << "autopilot helper kubelet: expected [--root DIR] [--listen /PATH [--allow-uid UID]...], "
                 "at most 16 users\n";
    return kExitUsage;
  }
  return listen_for_agents(*listening, [&files](int agent) { return serve_pod_resources(agent, files); });
}

HelperKubelet::HelperKubelet(Command helper, const Clock& clock, const Files& files, std::string socket)
    : socket_(std::move(socket)), clock_(clock), files_(files), helper_("kubelet", std::move(helper)) {}

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
  const MonoTime until = mono_now() + std::min(deadline - clock_.now().mono, Duration{kPatience});
  return parse_pod_resources_answer(TRY(socket_.empty() ? ask_child(until) : ask_at_socket(until)));
}

Result<std::string> HelperKubelet::ask_child(MonoTime deadline) const {
  // The folder, for who may not look into it learns nothing about the socket.
  const auto names = TRY(files_.list(kFolder));
  if (std::ranges::find(names, kSocket.substr(kFolder.size() + 1)) == names.end())
    return fail(Errc::not_found, std::string(kSocket));
  return answer_in(helper_.call(kPodResources, "null", deadline));
}

// A connection for each question: a helper that was replaced is found again, and holds no process in between.
Result<std::string> HelperKubelet::ask_at_socket(MonoTime deadline) const {
  HelperStream stream("kubelet helper at " + socket_, TRY(connect_to_helper(socket_)));
  return answer_in(stream.exchange(kPodResources, "null", deadline));
}

}  // namespace autopilot::host
