// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/observation.hpp"
#include "core/result.hpp"
#include "host/diagnostic_results/earlier_rates.hpp"

namespace autopilot::host {

// What an observation misses of which no test has ended yet.
inline constexpr std::string_view kNotTested = "not_tested";
// The attribute of a rate that carries what earlier tests measured of that card, or of the host, in its unit;
// absent where they were too few.
inline constexpr std::string_view kUsualBefore = "usualBefore";

// What the active tests of this machine found last. A test of minutes (a volume of a
// storage class, all GPUs under load) leaves its observations here; the check of the same id judges them.
class TestResults {
 public:
  TestResults() = default;
  TestResults(const TestResults&) = delete;
  TestResults& operator=(const TestResults&) = delete;
  virtual ~TestResults() = default;
  // Each with the time at which its test ended. unsupported: no test of this kind is requested. Other
  // errors: tests are asked for, and none has ended, or why none can be made. Thread-safe; never blocks.
  [[nodiscard]] virtual Result<Observations> last(std::string_view check) const = 0;
  // The checks that last() knows anything of.
  [[nodiscard]] virtual std::vector<std::string> checks() const = 0;

  // Results of a machine without tests.
  [[nodiscard]] static const TestResults& none();
};

// Filled by the process that also runs the checks of this machine: its active tests run there. Thread-safe.
class TestBoard final : public TestResults {
 public:
  // In place of what it knew of that check.
  void put(const std::string& check, Result<Observations> found);
  // Of some GPUs and links, in place of all that it knew of them, and of the host, in place of what has the
  // same name; what it knew of the others stays. Returns them as it now holds them: with kUsualBefore.
  Observations add(const std::string& check, Observations found);
  // What a test before the last one found, of which only the rates are of use.
  void remember(const std::string& check, const Observations& found);

  [[nodiscard]] Result<Observations> last(std::string_view check) const override;
  [[nodiscard]] std::vector<std::string> checks() const override;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Result<Observations>, std::less<>> found_;
  EarlierRates earlier_;
};

}  // namespace autopilot::host
