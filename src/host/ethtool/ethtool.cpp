// SPDX-License-Identifier: Apache-2.0
#include "host/ethtool/ethtool.hpp"

namespace autopilot::host {
namespace {

class NoEthtool final : public Ethtool {
 public:
  [[nodiscard]] std::vector<Result<EthtoolPort>> read(const std::vector<std::string>& interfaces,
                                                      MonoTime) const override {
    return {interfaces.size(), fail(Errc::unsupported, "nobody to ask about the port")};
  }
};

}  // namespace

const Ethtool& Ethtool::none() {
  static const NoEthtool nobody;
  return nobody;
}

}  // namespace autopilot::host
