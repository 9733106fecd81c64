// SPDX-License-Identifier: Apache-2.0
#include "kube/service_endpoints.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace autopilot::kube {
namespace {

// By default a slice has at most a hundred endpoints.
constexpr const char* kMostSlices = "500";

// An address is ready if one slice states it, and serves the ports of all its slices: slices overlap while
// endpoints move between them.
std::vector<Endpoint> endpoints_in(std::vector<EndpointSlice> slices) {
  std::vector<Endpoint> all;
  for (EndpointSlice& slice : slices)
    std::ranges::move(slice.endpoints, std::back_inserter(all));
  std::ranges::sort(all, [](const Endpoint& a, const Endpoint& b) {
    return a.address != b.address ? a.address < b.address : a.is_ready > b.is_ready;
  });
  std::vector<Endpoint> merged;
  for (Endpoint& one : all) {
    const bool is_known = !merged.empty() && merged.back().address == one.address;
    if (is_known)
      std::ranges::move(one.ports, std::back_inserter(merged.back().ports));
    else
      merged.push_back(std::move(one));
  }
  return merged;
}

Result<std::vector<Endpoint>> endpoints_of(const ApiResult<std::string>& answer) {
  if (!answer) return fail(answer.error().error);
  return endpoints_in(TRY(parse_endpoint_slices(*answer)));
}

}  // namespace

// Version 0: the server's cache is recent enough, because the result is cached here as well.
ServiceEndpoints::ServiceEndpoints(Client& client, const Clock& clock, const std::string& name_space,
                                   const std::string& service, Duration remembered)
    : client_(client),
      path_{"/apis/discovery.k8s.io/v1/namespaces/" + name_space + "/endpointslices",
            {{"labelSelector", "kubernetes.io/service-name=" + service},
             {"limit", kMostSlices},
             {"resourceVersion", "0"}}},
      answers_(clock, {.remembered = remembered, .most_remembered = 1, .most_at_once = 1},
               fail(Errc::exhausted, "too many concurrent requests for endpoints")) {}

void ServiceEndpoints::get(OnEndpoints on_answer) {
  if (!answers_.ask(path_.path, std::move(on_answer))) return;
  ++lists_;
  answers_.hold(path_.path, client_.get(path_, [this](const ApiResult<std::string>& answer) {
    const auto endpoints = endpoints_of(answer);
    answers_.settle(path_.path, endpoints, endpoints.has_value());
  }));
}

}  // namespace autopilot::kube
