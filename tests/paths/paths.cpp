// SPDX-License-Identifier: Apache-2.0
#include "tests/paths/paths.hpp"

namespace autopilot::paths {

std::string source(const std::string& name) {
  return AUTOPILOT_SOURCE_DIR "/" + name;
}

std::string program(const std::string& name) {
  return AUTOPILOT_BIN_DIR "/" + name;
}

std::string fake(const std::string& name) {
  return program("../fakes/" + name);
}

}  // namespace autopilot::paths
