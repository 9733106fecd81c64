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

// What an NVLink error says about itself: Xid 74, 144 to 150.
struct NvLinkDetail {
  std::string unit;                     // "RLW_SRC_TRACK"; empty for 74
  std::string severity;                 // the driver's word: "Fatal", "Nonfatal"; empty where it has none
  std::optional<int> link;              // the driver prints -1 where no single link is meant: then nothing
  std::optional<std::uint32_t> status;  // 144 to 150: the error status register
  std::optional<int> reason;  // 149: why the link went down, a number of the catalog; by add_link_down_reason
  std::vector<std::uint32_t> registers;  // as printed, in order
};

// One line of the kernel log that means something, taken apart. What is absent in the line is absent here.
struct DecodedRecord {
  std::string kind;  // xid, sxid, off_bus, or the kind of a log rule: aer, edac, oom, ext4, ...
  std::string
      rule;  // id of the entry of the catalog: "xid.79", "sxid.12028", or of a log rule: "gpu.off_bus"
  std::optional<std::uint32_t> code;  // of an Xid or SXid
  std::string name;                 // the catalog's name of the code or title of the rule; empty when unknown
  std::string pci;                  // canonical
  std::optional<int> gpu_instance;  // of MIG
  std::optional<int> compute_instance;  // of MIG
  std::optional<std::int64_t> pid;
  std::string process;  // chosen by the process: never trust it, it may hold anything
  std::string text;     // the message without prefix, code, pid and process
  std::optional<std::uint32_t> caused_by;
  std::optional<NvLinkDetail> nvlink;
  std::string severity;              // SXid: "Fatal", "Non-fatal", "Correctable"; empty where it has none
  std::optional<int> recovery_from;  // Xid 154: the driver's numbers
  std::optional<int> recovery_to;
  std::optional<bool> reset_advised;        // RST, as of Xid 94 and 95
  std::optional<bool> drain_reset_advised;  // D-RST
  std::optional<int> gpc;
  std::optional<int> tpc;
  std::optional<int> sm;
  std::vector<std::pair<std::string, std::string>> attributes;  // named groups of a log rule, uuid, serial

  // The line ends before the numbers that decide what it means: it is kept as an event, and says nothing of
  // the machine beyond what is left of them.
  bool is_cut = false;
  bool is_detail = false;  // a row of registers that belongs to the record before it
  bool injected = false;   // by `autopilot inject`, or by the driver's own error injection
  bool from_kernel = false;
  bool from_user = false;  // the source says so; neither: it does not say
  std::uint64_t line = 0;  // the sequence of the record: the line number of a text source

  // From the catalog; a code that is not in it has class "unknown" and no action.
  std::string fault_class;
  Action action = Action::none;
};

// Every fact that is there as a camelCase name and a value, in the order of the struct: for JSON,
// observations and tables. Those of `nvlink` begin with "nvlink".
[[nodiscard]] Attributes to_attributes(const DecodedRecord& decoded);

// What the driver recommends in an Xid 154; nothing for a number it did not have when this was written.
[[nodiscard]] std::optional<Action> recovery_action(int number);

// Recognises kernel records: the lines of the NVIDIA drivers by hand, everything else by the catalog's log
// rules, of which the first in its order that matches counts. Pure; rules are compiled once. The time for a
// record grows with its length only. Thread-safe; refers to the catalog.
class Decoder {
 public:
  explicit Decoder(const catalog::Catalog& facts);
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() = default;

  // Nothing when no rule fits.
  [[nodiscard]] std::optional<DecodedRecord> decode(const host::KernelRecord& record) const;
  // By the log rules alone, whatever the drivers' own forms say of it.
  [[nodiscard]] std::optional<DecodedRecord> decode_by_rules(const host::KernelRecord& record) const;

 private:
  const catalog::Catalog& facts_;
  catalog::LogPatterns patterns_;
};

// The one for the built-in catalog, made when it is first asked for.
[[nodiscard]] const Decoder& builtin_decoder();

// name, fault_class and action of the code or the rule, and why a link went down, from the catalog.
void add_facts(const catalog::Catalog& facts, DecodedRecord& decoded);

}  // namespace autopilot::checks
