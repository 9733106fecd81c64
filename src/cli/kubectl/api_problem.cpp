// SPDX-License-Identifier: Apache-2.0
#include "cli/kubectl/api_problem.hpp"

namespace autopilot::cli {
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

}  // namespace autopilot::cli
