// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/action.hpp"
#include "core/clock.hpp"
#include "core/health.hpp"
#include "core/incident.hpp"
#include "core/result.hpp"
#include "core/subject.hpp"

namespace autopilot::catalog {

// Kind of evidence for a fact. own: our judgement, not measured; measured: with a command of this repository.
enum class EvidenceKind : std::uint8_t { vendor, peer, own, measured };

[[nodiscard]] std::string_view to_string(EvidenceKind kind);
[[nodiscard]] std::optional<EvidenceKind> parse_evidence_kind(std::string_view word);

struct Provenance {
  std::string source;
  std::string date;  // ISO date when the source was read
  EvidenceKind evidence = EvidenceKind::own;
};

// Where a repetition of the error in another process makes the GPU suspect: nowhere, anywhere on the GPU, or
// in the unit that the line names.
enum class RecursAt : std::uint8_t { nowhere, gpu, unit };

[[nodiscard]] std::string_view to_string(RecursAt place);
[[nodiscard]] std::optional<RecursAt> parse_recurs_at(std::string_view word);

// xid.yaml
struct Xid {
  std::uint32_t code = 0;
  std::string name;
  std::string meaning;
  std::vector<std::string> classes;  // values of xid_classes(): the most likely one first
  Action action_now = Action::none;
  Action action_later = Action::none;
  Health health =
      Health::degraded;     // of a finding made from this code alone; healthy: an event only, no finding
  double confidence = 0.5;  // that the GPU named in the line is at fault
  std::vector<std::uint32_t> takes_back;  // codes whose earlier records about the same GPU no longer hold
  RecursAt recurs_at = RecursAt::nowhere;
  Provenance provenance;
};

// sxid.yaml: a code of the NVSwitch driver, or all codes of a unit without an entry of their own.
struct Sxid {
  std::uint32_t code = 0;
  std::uint32_t last = 0;  // equal to `code`, except for a unit
  std::string name;
  std::string meaning;
  std::vector<std::string> classes;
  Action action_now = Action::none;
  Action action_later = Action::none;
  Health health = Health::degraded;  // if the line contains no severity
  double confidence = 0.5;
  Provenance provenance;

  [[nodiscard]] bool is_unit() const { return last != code; }
};

// How an NvLinkError matches status registers. reason: the unit reports that a link went down, and bits 25:20
// of the first register are the number of a LinkDownReason, which has precedence over the entry.
enum class StatusMatch : std::uint8_t { bits, value, any, reason };

[[nodiscard]] std::string_view to_string(StatusMatch match);
[[nodiscard]] std::optional<StatusMatch> parse_status_match(std::string_view word);

// nvlink_errors.yaml: meaning of Xid 144 to 150 by unit and status.
struct NvLinkError {
  std::string id;
  std::uint32_t xid = 0;
  std::vector<std::string> units;  // names that drivers print
  int block_v1 = 0;                // bits 4:0 of the first register before driver 575
  int unit_v1 = 0;                 // bits 9:5
  int unit_v2 = 0;                 // bits 6:0 since driver 575
  StatusMatch match = StatusMatch::bits;
  std::vector<std::uint32_t> status;
  std::string meaning;
  Action action_now = Action::none;
  Action action_later = Action::none;
  std::optional<Action> promoted;  // replaces action_now if the promoting bit is set
  Health health = Health::degraded;
  double confidence = 0.5;
  Provenance provenance;
};

// link_down_reasons.yaml: reasons why a link of Xid 149 went down.
struct LinkDownReason {
  int number = 0;
  std::string id;
  std::string meaning;
  Action action_now = Action::none;
  Action action_later = Action::none;
  Health health = Health::degraded;
  double confidence = 0.5;
  Provenance provenance;
};

// nvlink_registers.yaml: bits of the registers in Xid 74.
struct NvLinkRegister {
  std::string id;
  int number = 1;  // number of the register, from 1 in the order of the line
  std::vector<int> bits;
  std::string meaning;
  Action action_now = Action::none;
  Action action_later = Action::none;
  Health health = Health::degraded;
  double confidence = 0.5;
  // Number of errors of these bits on one link for `health`; fewer are degraded at worst.
  int from_times = 1;
  Provenance provenance;
};

// dcgm_errors.yaml: an error of DCGM's diagnostic.
struct DcgmError {
  std::uint32_t number = 0;  // `error_id`
  std::string name;          // without DCGM_FR_
  std::string severity;      // NVIDIA's terms: "isolate", "reset", "triage", "config", "monitor", "unknown"
  std::string category;      // likewise: "hardware_pcie", "software_xid", ...
  bool evicts = true;        // false: a test that fails only with such errors is not fatal
  std::string says;          // lower-case text that the warning must contain for that; empty: any warning
  Provenance provenance;
};

// actions.yaml: what the operator should do.
struct ActionFacts {
  Action id = Action::none;
  std::string sentence;  // imperative, without a full stop
  std::string command;   // that does it on the node; empty: no single command does
  Provenance provenance;
};

// thresholds.yaml: a limit of a judge. Id: "<check id>.<name>".
struct Threshold {
  std::string id;
  double value = 0;
  std::string unit;
  std::string meaning;
  Health max_health = Health::degraded;  // worst health that this threshold may cause
  Provenance provenance;
};

// What clears a finding that is no longer reported.
enum class ClearRule : std::uint8_t {
  healthy_rounds,  // after `rounds` runs in a row without it, and not before `after`
  gpu_reset,       // a reset of the GPU, its return, or a new boot
  reboot,          // a new boot id
  expiry,          // `after` without a new event
  acknowledged,    // an acknowledgement by an operator
  replaced,        // another serial number in its place
};

[[nodiscard]] std::string_view to_string(ClearRule rule);
[[nodiscard]] std::optional<ClearRule> parse_clear_rule(std::string_view word);

inline constexpr std::string_view kAnyCheck = "any";
inline constexpr std::string_view kCustomChecks = "custom";

// reasons.yaml: the reasons of findings.
struct Reason {
  std::string id;
  std::string title;
  // That may report it; kAnyCheck: the runtime, about any check; kCustomChecks: the operator's.
  std::vector<std::string> checks;
  std::string meaning;   // what is wrong, for a person
  std::string cure;      // what to do now
  std::string disproof;  // completes "It may be wrong if ..."
  Action action = Action::none;
  Health max_health = Health::degraded;
  double confidence = 0.5;  // that the culprit is right
  int raise_rounds = 1;     // runs in a row before the finding counts (hysteresis)
  bool asks_again = false;  // the second of these runs follows the first at once
  ClearRule clear = ClearRule::healthy_rounds;
  int clear_rounds = 2;
  Duration clear_after{0};
  // For an unknown part of a subject: the reasons that stay as they are meanwhile. Empty: the whole subject
  // is unknown, and all reasons stay.
  std::vector<std::string> hides;
  Provenance provenance;
};

// The clear condition of the reason, for a person: "when the machine reboots".
[[nodiscard]] std::string how_it_clears(const Reason& reason);

// log_rules/*.yaml: kernel-log patterns that are not Xids.
struct LogRule {
  std::string id;       // "memory.edac_uncorrected"
  std::string kind;     // one of log_kinds(): "edac", "oom", "aer", ...
  std::string pattern;  // RE2; named groups become attributes: device, pid, process, count, ...
  std::string title;
  std::vector<std::string> examples;  // lines as the kernel writes them; each must match
  std::string fault_class;            // one of xid_classes(); empty if none of them fits
  std::optional<Action> action;       // not set: the action of the reason
  // Of the finding that such a line creates. Empty: the line is an event only.
  std::string reason;
  Health health = Health::degraded;         // or failed, if the form of the line is proven
  SubjectKind subject = SubjectKind::host;  // unless it is the host, the group `device` is the key
  std::vector<std::string> takes_back;      // rules whose earlier lines about the same subject no longer hold
  std::string kernels;                      // which kernels write this form, if known; for a person
  std::string not_judged;                   // why no check reads such a line; empty if a check does
  bool unproven = false;  // no source proves this form of the line: degraded at worst in every check
  Provenance provenance;
};

// `health`, or degraded instead of failed for an unproven rule.
[[nodiscard]] Health allowed_health(const LogRule& rule, Health health);

// causes.yaml: the findings and driver records of one incident, and its culprit. An entry of `roots`,
// `takes`, `takes_anywhere` or `explains` is a reason of a finding, "xid_<code>" or "sxid_<code>" of a
// record, or "sxid_fatal" or "sxid_nonfatal".
struct Cause {
  // The conclusion if several devices show the same cause at once.
  struct Several {
    int count = 0;       // number of devices; 0: no conclusion
    std::string blames;  // one of cause_ends(): "cause", "host", "application"
    Action action = Action::none;
    double confidence = 0;
    std::string because;
  };
  std::string id;
  std::string title;
  std::vector<std::string> roots;           // words of the cause
  std::vector<std::string> takes;           // its consequences on the same device, within the window
  std::vector<std::string> takes_anywhere;  // likewise, on any device
  std::vector<std::string> explains;        // findings that it produces as long as it is open
  Duration window{0};
  Duration window_before{0};  // how long before the cause a consequence may be reported; default: window
  FaultEnd end = FaultEnd::unclear;
  std::string because;
  Several several;
  Provenance provenance;
};

// Peaks of one GPU according to the vendor: dense, in one direction, at full power. Not set: not verified,
// and not judged. No machine reaches a peak; thresholds define which share is enough.
struct GpuPeaks {
  std::optional<double> memory_gigabytes_per_second;
  std::optional<int> pcie_generation;
  std::optional<int> pcie_lanes;
  std::optional<double> fp64_teraflops;               // on the vector units
  std::optional<double> fp64_tensor_teraflops;        // matrix products
  std::optional<double> bf16_teraflops;               // matrix products, without sparsity
  std::optional<double> nvlink_gigabytes_per_second;  // of all links of a GPU together, in one direction
  Provenance provenance;
};

// gpu_models.yaml: properties of a model that checks use.
struct GpuModel {
  std::string id;                          // "h100-sxm"
  std::vector<std::string> name_patterns;  // exact product names as NVML spells them
  int nvlinks = 0;                         // that are up on a healthy machine; 0 if that depends on a bridge
  bool ecc = false;
  bool row_remap = false;
  std::optional<GpuPeaks> peaks;
  Provenance provenance;
};

// readings.yaml: the possible values of readings of a GPU driver. A flag is 0 or 1; words have no range.
struct ReadingRange {
  std::string id;                     // "memory_banks"
  std::vector<std::string> readings;  // "row_remap.banks_none"
  double least = 0;
  double most = 0;
  std::string meaning;  // why no value is beyond
  Provenance provenance;
};

// counters.yaml: the counters of a port.
struct Counter {
  std::string id;         // "infiniband.symbol_error"
  std::string path;       // below the port's folder in sysfs: "counters/symbol_error"
  int width_bits = 64;    // at its largest value it saturates and does not wrap
  std::string unit;       // "count", "words" (of 4 bytes), "ticks"
  std::string threshold;  // id of the threshold on its growth; empty: read, not judged
  std::string meaning;
  Provenance provenance;

  // The value at which it stops counting. Only narrow counters reach it.
  [[nodiscard]] std::optional<std::uint64_t> saturation() const {
    if (width_bits >= 64) return std::nullopt;
    return (std::uint64_t{1} << width_bits) - 1;
  }
};

// checks.yaml: the description of a check, for a person.
struct CheckPage {
  std::string id;
  std::string title;
  std::string summary;                 // what it checks
  std::vector<std::string> witnesses;  // in order of trust
  std::vector<std::string> rights;     // permissions for the whole check
  std::vector<std::string> log_rules;  // the lines of the kernel log that it judges
  std::string local;                   // what it can check with each profile
  std::string dropin;
  std::string full;
  std::string how_wrong;       // how this check can be wrong
  std::string false_positive;  // a false alarm of another project, and how it is avoided
  Provenance provenance;
};

// profiles.yaml
struct RequiredCheck {
  std::string check;
  std::string when;  // one of conditions(): "always", "nvidia_gpu", "amd_gpu", "nvme", ...
};
struct Profile {
  std::string id;  // "local", "dropin", "full"
  std::string meaning;
  std::vector<RequiredCheck> required;
  Provenance provenance;
};

// Values of RequiredCheck::when, Xid::classes, LogRule::kind and Cause::Several::blames.
[[nodiscard]] const std::vector<std::string>& conditions();
[[nodiscard]] const std::vector<std::string>& xid_classes();
[[nodiscard]] const std::vector<std::string>& log_kinds();
[[nodiscard]] const std::vector<std::string>& cause_ends();

// Contents of the files, not cross-checked.
struct Facts {
  std::vector<ActionFacts> actions;
  std::vector<Threshold> thresholds;
  std::vector<Reason> reasons;
  std::vector<Xid> xids;
  std::vector<Sxid> sxids;
  std::vector<NvLinkError> nvlink_errors;
  std::vector<LinkDownReason> link_down_reasons;
  std::vector<NvLinkRegister> nvlink_registers;
  std::vector<DcgmError> dcgm_errors;
  // In the order of the file names, then of the file: the first match wins.
  std::vector<LogRule> log_rules;
  std::vector<Cause> causes;  // in the order of the file: the first has precedence
  std::vector<GpuModel> gpu_models;
  std::vector<Counter> counters;
  std::vector<ReadingRange> reading_ranges;
  std::vector<Profile> profiles;
  std::vector<CheckPage> checks;  // in display order
};

// All facts. Immutable; share it by reference. Lookups return nullptr for an unknown id.
class Catalog {
 public:
  Catalog() = default;
  explicit Catalog(Facts facts);

  // name ("thresholds.yaml", "log_rules/memory.yaml") -> text. Every problem is listed with file and line.
  // References between the files are checked if checks.yaml is among them.
  [[nodiscard]] static Result<Catalog> parse(const std::map<std::string, std::string>& files);

  // nullptr for none.
  [[nodiscard]] const ActionFacts* action(Action id) const;
  [[nodiscard]] const Threshold* threshold(std::string_view id) const;
  [[nodiscard]] const Reason* reason(std::string_view id) const;
  [[nodiscard]] const Xid* xid(std::uint32_t code) const;
  // The entry of the code, else of its unit.
  [[nodiscard]] const Sxid* sxid(std::uint32_t code) const;
  [[nodiscard]] const LinkDownReason* link_down_reason(int number) const;
  [[nodiscard]] const LogRule* log_rule(std::string_view id) const;
  // By its whole name: "NVIDIA GH200 480GB" is not "NVIDIA H200". nullptr: such a GPU is compared with its
  // siblings only, never with the figures of another model.
  [[nodiscard]] const GpuModel* gpu_model(std::string_view product_name) const;
  [[nodiscard]] const Counter* counter(std::string_view id) const;
  // The range of the reading of that name; nullptr for words and unknown names.
  [[nodiscard]] const ReadingRange* range_of(std::string_view reading) const;
  [[nodiscard]] const Profile* profile(std::string_view id) const;
  [[nodiscard]] const CheckPage* check(std::string_view id) const;

  [[nodiscard]] const Facts& facts() const { return facts_; }
  [[nodiscard]] const std::vector<Threshold>& thresholds() const { return facts_.thresholds; }  // by id
  [[nodiscard]] const std::vector<Reason>& reasons() const { return facts_.reasons; }           // by id
  [[nodiscard]] const std::vector<Xid>& xids() const { return facts_.xids; }                    // by code
  [[nodiscard]] const std::vector<Sxid>& sxids() const { return facts_.sxids; }  // by code, units last
  [[nodiscard]] const std::vector<NvLinkError>& nvlink_errors() const { return facts_.nvlink_errors; }
  [[nodiscard]] const std::vector<LinkDownReason>& link_down_reasons() const {  // by number
    return facts_.link_down_reasons;
  }
  [[nodiscard]] const std::vector<NvLinkRegister>& nvlink_registers() const {
    return facts_.nvlink_registers;
  }
  [[nodiscard]] const std::vector<DcgmError>& dcgm_errors() const { return facts_.dcgm_errors; }
  [[nodiscard]] const std::vector<LogRule>& log_rules() const { return facts_.log_rules; }
  [[nodiscard]] const std::vector<Cause>& causes() const { return facts_.causes; }  // by rank
  [[nodiscard]] const std::vector<GpuModel>& gpu_models() const { return facts_.gpu_models; }
  [[nodiscard]] const std::vector<Counter>& counters() const { return facts_.counters; }
  [[nodiscard]] const std::vector<ReadingRange>& reading_ranges() const { return facts_.reading_ranges; }
  [[nodiscard]] const std::vector<Profile>& profiles() const { return facts_.profiles; }
  [[nodiscard]] const std::vector<CheckPage>& checks() const { return facts_.checks; }

 private:
  Facts facts_;
};

// The files of /catalog, parsed and checked when this program was built. Thread-safe; the first call decodes
// them.
[[nodiscard]] const Catalog& builtin();
// The same files as text by name, for generators.
[[nodiscard]] const std::map<std::string, std::string>& builtin_files();

}  // namespace autopilot::catalog
