// SPDX-License-Identifier: Apache-2.0
#include "cli/kubectl/cluster.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "cli/cluster_access.hpp"
#include "cli/settings.hpp"
#include "host/clock/system_clock.hpp"
#include "kube/credentials.hpp"
#include "kube/kubeconfig.hpp"
#include "logging/build_info.hpp"

namespace autopilot::cli {

namespace {

constexpr Duration kLongestTimeout = std::chrono::minutes{10};
constexpr std::size_t kLongestName = 253;

std::string name_problem(const std::string& text) {
  return is_object_name(text) ? "" : "expected a name of letters, digits, - and .";
}

}  // namespace

bool is_object_name(std::string_view text) {
  const auto is_allowed = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '_';
  };
  return !text.empty() && text.size() <= kLongestName && !text.starts_with('.') &&
         std::ranges::all_of(text, is_allowed);
}

void add_cluster_options(CLI::App& verb, ClusterOptions& options) {
  verb.add_option("--context", options.context, "Context of the kubeconfig (default: the current context)")
      ->type_name("NAME");
  verb.add_option("--kubeconfig", options.kubeconfig,
                  "Kubeconfig file (default: $KUBECONFIG, else ~/.kube/config)")
      ->type_name("FILE");
  verb.add_option_function<std::string>(
          "--request-timeout",
          [&options](const std::string& text) {
            const auto timeout = parse_duration(text);
            if (!timeout || *timeout <= Duration{0} || *timeout > kLongestTimeout)
              throw CLI::ValidationError("--request-timeout",
                                         "expected a duration such as 5s, at most 10m, not '" + text + "'");
            options.request_timeout = *timeout;
          },
          "Deadline of each request to the API server (default: 15s)")
      ->type_name("DURATION");
}

void add_namespace_option(CLI::App& verb, std::string& name_space) {
  verb.add_option("-n,--namespace", name_space, "Namespace of Autopilot (default: autopilot)")
      ->type_name("NAME")
      ->check(name_problem);
}

void add_installation_options(CLI::App& verb, InstallationOptions& options) {
  add_namespace_option(verb, options.name_space);
  verb.add_option("--label-prefix", options.label_prefix, "Label prefix (default: autopilot.ibm.com)")
      ->type_name("PREFIX")
      ->check(name_problem);
}

CLI::Option* add_node_argument(CLI::App& verb, std::string& node, const std::string& description) {
  return verb.add_option("NODE", node, description)->check(name_problem);
}

namespace {

std::string cure_of(const kube::ApiError& error, const Asked& asked) {
  using kube::ApiOutcome;
  switch (error.verdict.outcome) {
    case ApiOutcome::unauthorized:
      return error.status == 0 ? "this kubeconfig does not trust the server, or the server does not trust "
                                 "its certificate; check certificate-authority and client-certificate"
                               : "the cluster refuses these credentials; log in again, or choose another "
                                 "context with --context";
    case ApiOutcome::forbidden:
      return "the user of this context needs permission to " + asked.right;
    case ApiOutcome::not_found:
      return asked.when_not_there;
    case ApiOutcome::expired:
      return "the list expired while it was read; try again";
    case ApiOutcome::unreachable:
      return "check that the cluster is reachable; wait longer with --request-timeout, choose another "
             "cluster with --context";
    case ApiOutcome::busy:
    case ApiOutcome::server_error:
      return "the API server is busy or failing; try again";
    case ApiOutcome::too_large:
      return "the answer exceeds 32 MiB";
    case ApiOutcome::ok:
    case ApiOutcome::conflict:
    case ApiOutcome::invalid:
    case ApiOutcome::unexpected:
      return "check that `server` of the kubeconfig is a Kubernetes API server";
  }
  return "";
}

}  // namespace

Error problem_of(const kube::ApiError& error, const Asked& asked) {
  Error problem = error.error;
  // malformed is reserved for the caller's configuration.
  if (problem.code == Errc::malformed) problem.code = Errc::unavailable;
  if (const std::string cure = cure_of(error, asked); !cure.empty()) problem.what += "; " + cure;
  return problem;
}

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
  client.user_agent = "kubectl-autopilot/" + std::string(logging::build_info().version);
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
