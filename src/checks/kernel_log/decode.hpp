// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "catalog/catalog.hpp"
#include "catalog/log_pattern.hpp"
#include "checks/kernel_log/decoded_record.hpp"
#include "host/kernel_log/kernel_log.hpp"

namespace autopilot::checks {

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
