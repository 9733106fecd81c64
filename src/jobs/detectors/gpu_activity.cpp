// SPDX-License-Identifier: Apache-2.0
#include "jobs/detectors/gpu_activity.hpp"

#include <cmath>

namespace autopilot::jobs {
namespace {

// Limits of the signature of a hang: reference 2a.6, P2.
constexpr float kHighUtil = 0.95F;
constexpr float kLowUtil = 0.05F;
constexpr float kQuietTensor = 0.01F;
constexpr float kQuietDram = 0.05F;
constexpr float kSpinBand = 0.15F;   // of busy - idle, around the measured level
constexpr float kSpinGuess = 0.35F;  // of busy - idle above idle, if the level was not measured
constexpr float kIdleBand = 0.10F;

enum class PowerBand : std::uint8_t { unknown, idle, spin, between, high };

PowerBand band_of(float power_w, const PowerLevels& levels) {
  const float range = levels.busy_w - levels.idle_w;
  if (!std::isfinite(power_w) || power_w < 0 || !std::isfinite(range) || range <= 0)
    return PowerBand::unknown;
  const bool is_measured =
      std::isfinite(levels.spin_w) && levels.spin_w >= levels.idle_w && levels.spin_w <= levels.busy_w;
  const float low = is_measured ? levels.spin_w - kSpinBand * range : levels.idle_w + kIdleBand * range;
  const float high = is_measured ? levels.spin_w + kSpinBand * range : levels.idle_w + kSpinGuess * range;
  // The bands of idle and spinning may overlap: the nearer level counts.
  const float idle_limit =
      is_measured ? std::min(levels.idle_w + kIdleBand * range, (levels.idle_w + levels.spin_w) / 2)
                  : levels.idle_w + kIdleBand * range;
  if (power_w <= idle_limit) return PowerBand::idle;
  if (power_w > high) return PowerBand::high;
  return power_w >= low ? PowerBand::spin : PowerBand::between;
}

// Whether the compute units are quiet: nullopt if neither metric is known.
std::optional<bool> is_quiet(const GpuSigns& signs) {
  if (std::isfinite(signs.tensor) && signs.tensor > kQuietTensor) return false;
  if (std::isfinite(signs.dram) && signs.dram > kQuietDram)
    return std::isfinite(signs.tensor) ? std::nullopt : std::optional(false);
  if (std::isfinite(signs.tensor) || std::isfinite(signs.dram)) return true;
  return std::nullopt;
}

GpuActivity classify_by_power(PowerBand band) {
  switch (band) {
    case PowerBand::idle:
      return GpuActivity::idle;
    case PowerBand::spin:
      return GpuActivity::spinning;
    case PowerBand::high:
      return GpuActivity::computing;
    case PowerBand::unknown:
    case PowerBand::between:
      break;
  }
  return GpuActivity::unknown;
}

}  // namespace

std::string_view to_string(GpuActivity activity) {
  switch (activity) {
    case GpuActivity::unknown:
      return "unknown";
    case GpuActivity::idle:
      return "idle";
    case GpuActivity::spinning:
      return "waiting in a collective";
    case GpuActivity::computing:
      return "computing";
  }
  return {};
}

PowerLevels levels_from_history(float running_w) {
  if (!std::isfinite(running_w) || running_w <= 0) return {};
  // Half of the power under load separates waiting from computing on H100 (230 W of 640 W) and V100 (47 W of
  // 250 W): reference 2a.6.
  return {0.15F * running_w, kMissing, 1.15F * running_w};
}

GpuActivity classify(const GpuSigns& signs, const PowerLevels& levels) {
  const PowerBand band = band_of(signs.power_w, levels);
  const std::optional<bool> quiet = is_quiet(signs);
  const bool has_util = std::isfinite(signs.util);
  if (has_util && signs.util <= kLowUtil) {
    if (band == PowerBand::high || quiet == false) return GpuActivity::unknown;
    return GpuActivity::idle;
  }
  if (quiet == false) return GpuActivity::computing;
  if (has_util && signs.util < kHighUtil) {
    return band == PowerBand::high ? GpuActivity::computing : GpuActivity::unknown;
  }
  if (has_util) {  // a kernel runs all the time
    if (band == PowerBand::high) return GpuActivity::computing;
    if (quiet == true || band == PowerBand::spin) return GpuActivity::spinning;
    return GpuActivity::unknown;
  }
  if (!quiet && std::isfinite(signs.tensor))
    return GpuActivity::unknown;  // memory is busy, tensor cores are not
  return classify_by_power(band);
}

std::optional<double> quiet_share(std::span<const GpuActivity> gpus) {
  std::size_t known = 0;
  std::size_t quiet = 0;
  for (const GpuActivity gpu : gpus) {
    if (gpu == GpuActivity::unknown) continue;
    ++known;
    if (gpu != GpuActivity::computing) ++quiet;
  }
  if (known == 0 || known * 2 < gpus.size()) return std::nullopt;
  return static_cast<double>(quiet) / static_cast<double>(known);
}

}  // namespace autopilot::jobs
