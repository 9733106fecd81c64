// SPDX-License-Identifier: Apache-2.0
#include "cli/kubectl/api_problem.hpp"

namespace autopilot::cli {
namespace {

std::string cure_of(const kube::ApiError& error, const Asked& asked) {
  using kube::ApiOutcome;
  switch (error.verdict.outcome) {
    case ApiOutcome::unauthorized:
      return error.status == 0 ? "this kubeconfig does not trust the server, or the server not its "
                                 "certificate (certificate-authority, client-certificate)"
                               : "the cluster does not take these credentials: log in again, or choose "
                                 "another context with --context";
    case ApiOutcome::forbidden:
      return "the account of this context needs the right to " + asked.right;
    case ApiOutcome::not_found:
      return asked.when_not_there;
    case ApiOutcome::expired:
      return "the list was given up while it was read; try again";
    case ApiOutcome::unreachable:
      return "is the cluster reached from here? --request-timeout waits longer, --context asks another one";
    case ApiOutcome::busy:
    case ApiOutcome::server_error:
      return "the API server is busy or sick; try again";
    case ApiOutcome::too_large:
      return "an answer has at most 32 MiB";
    case ApiOutcome::ok:
    case ApiOutcome::conflict:
    case ApiOutcome::invalid:
    case ApiOutcome::unexpected:
      return "is `server` of the kubeconfig an API server of Kubernetes?";
  }
  return "";
}

}  // namespace

Error problem_of(const kube::ApiError& error, const Asked& asked) {
  Error problem = error.error;
  // That code is kept for the configuration of the one who asks.
  if (problem.code == Errc::malformed) problem.code = Errc::unavailable;
  if (const std::string cure = cure_of(error, asked); !cure.empty()) problem.what += "; " + cure;
  return problem;
}

}  // namespace autopilot::cli
