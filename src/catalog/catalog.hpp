// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/action.hpp"
#include "core/clock.hpp"
#include "core/health.hpp"
#include "core/result.hpp"

namespace autopilot::catalog {

// Where a fact comes from. own: our judgement, not measured; measured: by a command of this repository.
enum class EvidenceKind : std::uint8_t { vendor, peer, own, measured };

[[nodiscard]] std::string_view to_string(EvidenceKind kind);

struct Provenance {
  std::string source;
  std::string date;  // ISO, when the source was read
  EvidenceKind evidence = EvidenceKind::own;
};

// thresholds.yaml: one number of a judge. Id: "<check id>.<name>".
struct Threshold {
  std::string id;
  double value = 0;
  std::string unit;
  std::string meaning;
  Health max_health = Health::degraded;  // the worst word this number may produce
  Provenance provenance;
};

// When a finding that is no longer reported goes away.
enum class ClearRule : std::uint8_t {
  healthy_rounds,  // after `rounds` rounds in a row without it, and not before `after`
  gpu_reset,       // the GPU was seen to be reset or gone and back, or a new boot
  reboot,          // a new boot id
  expiry,          // `after` without a new event
  acknowledged,    // an operator says so
  replaced,        // another serial in its place
};

[[nodiscard]] std::string_view to_string(ClearRule rule);

// reasons.yaml: every word a finding may carry.
struct Reason {
  std::string id;
  std::string title;
  std::string meaning;   // what is wrong, for a person
  std::string cure;      // what to do now
  std::string disproof;  // what would prove it wrong
  Action action = Action::none;
  Health max_health = Health::degraded;
  double confidence = 0.5;  // that the blamed subject is at fault
  int raise_rounds = 1;     // rounds in a row before the finding counts (hysteresis)
  ClearRule clear = ClearRule::healthy_rounds;
  int clear_rounds = 2;
  Duration clear_after{0};
  Provenance provenance;
};

// xid.yaml
struct Xid {
  int code = 0;
  std::string name;
  std::string meaning;
  std::vector<std::string> classes;  // the first one, then alternatives; words of the architecture
  Action action_now = Action::none;
  Action action_later = Action::none;
  Health health =
      Health::degraded;     // of a finding made from this code alone; healthy: an event only, no finding
  double confidence = 0.5;  // that the GPU named in the line is at fault
  Provenance provenance;
};

// log_rules/*.yaml: kernel-log patterns that are not Xids.
struct LogRule {
  std::string id;    // "memory.edac_uncorrected"
  std::string kind;  // edac, mce, oom, ext4, xfs, nvme, block, nfs, mlx5, link, aer, hung_task, soft_lockup,
                     // off_bus, other
  std::string pattern;  // RE2; named groups become attributes: device, pid, process, count, ...
  std::string title;
  Provenance provenance;
};

// gpu_models.yaml: what a model has, where it matters for a judgement.
struct GpuModel {
  std::string id;                          // "h100-sxm"
  std::vector<std::string> name_patterns;  // exact product names as NVML spells them
  int nvlinks = 0;                         // per GPU; 0: none
  bool ecc = false;
  bool row_remap = false;
  Provenance provenance;
};

// profiles.yaml
struct RequiredCheck {
  std::string check;
  std::string when;  // "always", "nvidia_gpu", "nvme", "infiniband"
};
struct Profile {
  std::string id;  // "local", "dropin", "full"
  std::vector<RequiredCheck> required;
};

// All facts. Immutable after parsing; share it by reference. Lookups return nothing for an unknown id.
class Catalog {
 public:
  // name ("thresholds.yaml", "log_rules/memory.yaml") -> text. Every problem is listed with file and line.
  [[nodiscard]] static Result<Catalog> parse(const std::map<std::string, std::string>& files);

  [[nodiscard]] const Threshold* threshold(std::string_view id) const;
  [[nodiscard]] const Reason* reason(std::string_view id) const;
  [[nodiscard]] const Xid* xid(int code) const;
  [[nodiscard]] const GpuModel* gpu_model(std::string_view product_name) const;
  [[nodiscard]] const Profile* profile(std::string_view id) const;

  [[nodiscard]] const std::vector<Threshold>& thresholds() const { return thresholds_; }
  [[nodiscard]] const std::vector<Reason>& reasons() const { return reasons_; }
  [[nodiscard]] const std::vector<Xid>& xids() const { return xids_; }
  [[nodiscard]] const std::vector<LogRule>& log_rules() const { return log_rules_; }
  [[nodiscard]] const std::vector<GpuModel>& gpu_models() const { return gpu_models_; }
  [[nodiscard]] const std::vector<Profile>& profiles() const { return profiles_; }

 private:
  std::vector<Threshold> thresholds_;  // sorted by id
  std::vector<Reason> reasons_;        // sorted by id
  std::vector<Xid> xids_;              // sorted by code
  std::vector<LogRule> log_rules_;     // in file order: the first that matches wins
  std::vector<GpuModel> gpu_models_;
  std::vector<Profile> profiles_;
};

// The files of /catalog, compiled in. Aborts when they do not parse: a test shows that they do.
[[nodiscard]] const Catalog& builtin();
// The compiled-in text by name, for `--catalog DIR` (a file there replaces the one of the same name) and for
// generators.
[[nodiscard]] const std::map<std::string, std::string>& builtin_files();

}  // namespace autopilot::catalog
