// SPDX-License-Identifier: Apache-2.0
#include "cli/kubectl/cluster_reader.hpp"

#include <optional>
#include <utility>

#include "cli/cluster_files.hpp"
#include "cli/settings.hpp"
#include "host/clock/system_clock.hpp"
#include "kube/credentials.hpp"
#include "kube/kubeconfig.hpp"
#include "telemetry/build_info.hpp"

namespace autopilot::cli {
namespace {

Result<kube::Access> read_access(const ClusterOptions& options) {
  const auto variables = environment();
  const auto paths = options.kubeconfig.empty() ? kube::kubeconfig_paths(variable(variables, "KUBECONFIG"),
                                                                         variable(variables, "HOME"))
                                                : std::vector{options.kubeconfig};
  auto access = kube::read_kubeconfig(paths, options.context, read_cluster_file);
  if (access) return access;
  std::string what = access.error().what;
  if (access.error().code == Errc::not_found) what += "; name one with --kubeconfig or KUBECONFIG";
  return fail(Errc::malformed, std::move(what));
}

}  // namespace

ClusterReader::ClusterReader(const net::ServerUrl& server, kube::ClientOptions options)
    : client_(loop_, server, std::move(options)) {}

Result<std::unique_ptr<ClusterReader>> ClusterReader::open(const ClusterOptions& options) {
  const auto access = TRY(read_access(options));
  kube::ClientOptions client;
  client.user_agent = "kubectl-autopilot/" + std::string(telemetry::build_info().version);
  client.deadline = options.request_timeout;
  kube::Credentials credentials(access, read_cluster_file, run_credential_plugin);
  TRY_STATUS(credentials.refresh(host::SystemClock{}.now()));
  auto reader = std::make_unique<ClusterReader>(access.server, std::move(client));
  if (const auto identity = credentials.take_changed_identity())
    reader->client_.use(TRY(net::TlsContext::make(*identity)));
  reader->client_.use_token(credentials.token());
  return reader;
}

kube::ApiResult<std::string> ClusterReader::get(kube::ApiPath path) {
  std::optional<kube::ApiResult<std::string>> outcome;
  const net::Exchange exchange = client_.get(std::move(path), [&](kube::ApiResult<std::string> answer) {
    outcome = std::move(answer);
    loop_.stop();
  });
  loop_.run();
  AUTOPILOT_ASSERT(outcome.has_value());
  return *std::move(outcome);
}

Status ClusterReader::list(const kube::ApiPath& path, std::size_t page, const Asked& asked,
                           const Take& take) {
  kube::ApiPath next = path;
  next.query["limit"] = std::to_string(page);
  std::size_t count = 0;
  while (true) {
    const auto answer = get(next);
    if (!answer) return fail(problem_of(answer.error(), asked));
    const std::size_t before = count;
    const auto rest = kube::read_list_page(*answer, [&](const kube::JsonObject& object) {
      if (++count <= kMostObjects) take(object);
    });
    if (!rest) return fail(Errc::unavailable, "GET " + path.path + ": " + rest.error().what);
    if (rest->empty() && count <= kMostObjects) return {};
    // A server could send empty pages that are not the last forever.
    if (count >= kMostObjects || count == before)
      return fail(Errc::exhausted,
                  "GET " + path.path + ": more than " + std::to_string(kMostObjects) + " objects");
    next.query["continue"] = *rest;
  }
}

Result<bool> ClusterReader::find(const std::string& path, const Asked& asked, const Take& take) {
  const auto answer = get({path, {}});
  if (!answer) {
    // For an unknown kind the server sends no Status object.
    if (answer.error().verdict.outcome == kube::ApiOutcome::not_found && answer.error().reason == "NotFound")
      return false;
    return fail(problem_of(answer.error(), asked));
  }
  if (const auto read = kube::read_object(*answer, take); !read)
    return fail(Errc::unavailable, "GET " + path + ": " + read.error().what);
  return true;
}

}  // namespace autopilot::cli
