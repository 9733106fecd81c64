// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "jobs/findings.hpp"
#include "jobs/records.hpp"

namespace autopilot::jobs::bench {

// A method that finds culprits: the in-flight engine, or one that it is compared with. The contract is that
// of jobs::Engine. Not thread-safe.
class Method {
 public:
  Method() = default;
  Method(const Method&) = delete;
  Method& operator=(const Method&) = delete;
  virtual ~Method() = default;

  virtual void add(const Record& record) = 0;
  virtual void advance(WallTime now) = 0;
  [[nodiscard]] virtual std::vector<JobFinding> take() = 0;
};

// Names of all methods: the engine, the engine without one of its parts, other methods.
[[nodiscard]] std::span<const std::string_view> method_names();
// Null for a name that method_names() does not have.
[[nodiscard]] std::unique_ptr<Method> make_method(std::string_view name);

}  // namespace autopilot::jobs::bench
