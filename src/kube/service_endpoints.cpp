// SPDX-License-Identifier: Apache-2.0
#include "kube/service_endpoints.hpp"

#include <algorithm>
#include <utility>

namespace autopilot::kube {
namespace {

// A slice has a hundred endpoints at most where nobody changed that.
constexpr const char* kMostSlices = "500";

// An address that one slice says is ready is: slices overlap while endpoints move between them.
std::vector<Endpoint> endpoints_in(std::vector<EndpointSlice> slices) {
  std::vector<Endpoint> all;
  for (EndpointSlice& slice : slices)
    std::ranges::move(slice.endpoints, std::back_inserter(all));
  std::ranges::sort(all, [](const Endpoint& a, const Endpoint& b) {
    return a.address != b.address ? a.address < b.address : a.is_ready > b.is_ready;
  });
  const auto rest = std::ranges::unique(all, {}, &Endpoint::address);
  all.erase(rest.begin(), rest.end());
  return all;
}

}  // namespace

// Version 0: what the server remembers is good enough for what we remember as well.
ServiceEndpoints::ServiceEndpoints(Client& client, const Clock& clock, const std::string& name_space,
                                   const std::string& service, Duration remembered)
    : client_(client),
      clock_(clock),
      path_{"/apis/discovery.k8s.io/v1/namespaces/" + name_space + "/endpointslices",
            {{"labelSelector", "kubernetes.io/service-name=" + service},
             {"limit", kMostSlices},
             {"resourceVersion", "0"}}},
      remembered_(remembered) {}

void ServiceEndpoints::get(OnEndpoints on_answer) {
  if (endpoints_ && clock_.now().mono - listed_ < remembered_) return on_answer(*endpoints_);
  waiting_.push_back(std::move(on_answer));
  if (waiting_.size() > 1) return;
  ++lists_;
  exchange_ = client_.get(path_, [this](const ApiResult<std::string>& answer) { take(answer); });
}

void ServiceEndpoints::take(const ApiResult<std::string>& answer) {
  Result<std::vector<Endpoint>> endpoints = fail(Errc::unavailable, "nobody answered");
  if (!answer) {
    endpoints = fail(answer.error().error);
  } else if (auto slices = parse_endpoint_slices(*answer)) {
    endpoints = endpoints_in(std::move(*slices));
    endpoints_ = *endpoints;
    listed_ = clock_.now().mono;
  } else {
    endpoints = fail(slices.error());
  }
  for (const OnEndpoints& on_answer : std::exchange(waiting_, {}))
    on_answer(endpoints);
}

}  // namespace autopilot::kube
