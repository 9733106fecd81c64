// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

// Where a test finds what it does not make itself. All absolute. One source alone is compiled with the paths
// of this clone, so that ccache finds the tests of another clone.
namespace autopilot::paths {

// A file or folder of the source tree: source("catalog/xid.yaml").
[[nodiscard]] std::string source(const std::string& name);

// A program or library of this build that ships or simulates: program("autopilot").
[[nodiscard]] std::string program(const std::string& name);

// One of tests/fakes: fake("fake_helper").
[[nodiscard]] std::string fake(const std::string& name);

}  // namespace autopilot::paths
