// SPDX-License-Identifier: Apache-2.0
#include "job_method.hpp"

#include <algorithm>
#include <array>

#include "job_baselines.hpp"
#include "jobs/engine.hpp"

namespace autopilot::jobs::bench {
namespace {

constexpr std::array<std::string_view, 11> kNames{
    "engine",      "without_roles", "without_persistence", "without_whitening", "without_fusion", "watchdog",
    "three_sigma", "single_mad",    "minimum_reference",   "tensor_idle",       "distance_sum",
};

class EngineMethod final : public Method {
 public:
  explicit EngineMethod(EngineOptions options) : engine_(options) {}

  void add(const Record& record) override { engine_.add(record); }
  void advance(WallTime now) override { engine_.advance(now); }
  std::vector<JobFinding> take() override { return engine_.take(); }

 private:
  Engine engine_;
};

}  // namespace

std::span<const std::string_view> method_names() {
  return kNames;
}

std::unique_ptr<Method> make_method(std::string_view name) {
  if (std::ranges::count(kNames, name) == 0) return nullptr;
  if (auto baseline = make_baseline(name)) return baseline;
  EngineOptions options;
  options.uses_roles = name != "without_roles";
  options.uses_persistence = name != "without_persistence";
  options.uses_whitening = name != "without_whitening";
  options.uses_fusion = name != "without_fusion";
  return std::make_unique<EngineMethod>(options);
}

}  // namespace autopilot::jobs::bench
