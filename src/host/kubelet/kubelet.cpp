// SPDX-License-Identifier: Apache-2.0
#include "host/kubelet/kubelet.hpp"

namespace autopilot::host {
namespace {

class NoKubelet final : public Kubelet {
 public:
  [[nodiscard]] Result<PodResources> pod_resources(MonoTime) const override {
    return fail(Errc::not_found, "no kubelet");
  }
};

}  // namespace

const Kubelet& Kubelet::none() {
  static const NoKubelet none;
  return none;
}

}  // namespace autopilot::host
