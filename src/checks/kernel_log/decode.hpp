// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "catalog/catalog.hpp"
#include "catalog/log_rules.hpp"
#include "core/action.hpp"
#include "core/value.hpp"
#include "host/kernel_log/kernel_log.hpp"

namespace autopilot::checks {

// Details of an NVLink error: Xid 74, 144 to 150.
struct NvLinkDetail {
  std::string unit;         // "RLW_SRC_TRACK"; empty for 74
  std::string severity;     // the driver's word: "Fatal", "Nonfatal"; empty if missing
  std::optional<int> link;  // nullopt: the driver prints -1 for an error that concerns no single link
  std::optional<std::uint32_t> status;  // 144 to 150: the error status register
  std::optional<int> reason;  // 149: number of the cause in the catalog; set by add_link_down_reason
  std::vector<std::uint32_t> registers;  // as printed, in order
};

// A recognised line of the kernel log. Members that the line lacks are empty or nullopt.
struct DecodedRecord {
  std::string kind;  // xid, sxid, off_bus, or the kind of a log rule: aer, edac, oom, ext4, ...
  std::string
      rule;  // id of the entry of the catalog: "xid.79", "sxid.12028", or of a log rule: "gpu.off_bus"
  std::optional<std::uint32_t> code;  // of an Xid or SXid
  std::string name;                   // the catalog's name of the code or title of the rule; empty if unknown
  std::string pci;                    // canonical
  std::optional<int> gpu_instance;    // of MIG
  std::optional<int> compute_instance;  // of MIG
  std::optional<std::int64_t> pid;
  std::string process;  // chosen by the process: untrusted, may contain anything
  std::string text;     // the message without prefix, code, pid and process
  std::optional<std::uint32_t> caused_by;
  std::optional<NvLinkDetail> nvlink;
  std::string severity;              // SXid: "Fatal", "Non-fatal", "Correctable"; empty if missing
  std::optional<int> recovery_from;  // Xid 154: the driver's numbers
  std::optional<int> recovery_to;
  std::optional<bool> reset_advised;        // RST, as of Xid 94 and 95
  std::optional<bool> drain_reset_advised;  // D-RST
  std::optional<int> gpc;
  std::optional<int> tpc;
  std::optional<int> sm;
  std::vector<std::pair<std::string, std::string>> attributes;  // named groups of a log rule, uuid, serial

  // The line ends before the numbers that define its meaning. It is kept as an event, and only the remaining
  // numbers are judged.
  bool is_cut = false;
  bool is_detail = false;  // a line of registers that belongs to the record before it
  bool injected = false;   // by `autopilot inject`, or by the driver's own error injection
  bool from_kernel = false;
  bool from_user = false;  // stated by the source; if both are false, the writer is unknown
  std::uint64_t line = 0;  // the sequence of the record: the line number of a text source

  // From the catalog; an unknown code has class "unknown" and no action.
  std::string fault_class;
  Action action = Action::none;
};

// All members that are set, with camelCase names, in the order of the struct: for JSON, observations and
// tables. Names of members of `nvlink` begin with "nvlink".
[[nodiscard]] Attributes to_attributes(const DecodedRecord& decoded);

// Action that the driver requests with an Xid 154; nullopt for an unknown number.
[[nodiscard]] std::optional<Action> recovery_action(int number);

// Recognises kernel records: built-in parsers for lines of the NVIDIA drivers, the catalog's log rules for
// all others; the first matching rule wins. Pure; compiles the rules once. The time for a record is linear in
// its length. Thread-safe; keeps a reference to the catalog.
class Decoder {
 public:
  explicit Decoder(const catalog::Catalog& facts);
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() = default;

  // nullopt if no rule matches.
  [[nodiscard]] std::optional<DecodedRecord> decode(const host::KernelRecord& record) const;
  // Uses only the log rules, also for lines of the drivers.
  [[nodiscard]] std::optional<DecodedRecord> decode_by_rules(const host::KernelRecord& record) const;

 private:
  const catalog::Catalog& facts_;
  catalog::LogPatterns patterns_;
};

// Decoder for the built-in catalog, created at the first call.
[[nodiscard]] const Decoder& builtin_decoder();

// Sets name, fault_class and action of the code or rule, and the cause of a lost link, from the catalog.
void add_facts(const catalog::Catalog& facts, DecodedRecord& decoded);

}  // namespace autopilot::checks
