// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "checks/kernel_log/nvidia_lines.hpp"
#include "core/parse.hpp"
#include "core/result.hpp"
#include "core/subject.hpp"
#include "host/kernel_log/kmsg_source.hpp"
#include "host/kernel_log/text_log.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::decode_fuzz {
namespace {

// A log of any form: records come in the order of their lines, bounded and clean.
void read_log(std::string_view text) {
  host::TextLogReader reader(
      [](const host::KernelRecord& record) { return checks::decode_nvidia(record).has_value(); });
  std::uint64_t last = 0;
  const auto check = [&last](const std::vector<host::KernelRecord>& records) {
    for (const auto& record : records) {
      AUTOPILOT_ASSERT(record.sequence > last);
      AUTOPILOT_ASSERT(record.text.size() <= host::KernelRecord::kMaxText);
      AUTOPILOT_ASSERT(record.facility >= 0 && record.priority >= 0 && record.priority <= 7);
      last = record.sequence;
    }
  };
  for (const auto line : split(text, '\n'))
    check(reader.add_line(line));
  check(reader.finish());
}

}  // namespace

// Whatever a driver line holds, what is found is well-formed, and nothing is found that the prefilter denies.
int run(const std::uint8_t* data, std::size_t size) {
  host::KernelRecord record;
  record.text = host::clean_log_text({reinterpret_cast<const char*>(data), size});
  read_log({reinterpret_cast<const char*>(data), size});
  const auto decoded = checks::decode_nvidia(record);
  if (!decoded) return 0;
  AUTOPILOT_ASSERT(checks::may_be_nvidia(record.text));
  AUTOPILOT_ASSERT(!decoded->kind.empty() && !decoded->rule.empty());
  AUTOPILOT_ASSERT(decoded->pci.empty() || canonical_pci_address(decoded->pci) == decoded->pci);
  AUTOPILOT_ASSERT(!decoded->code || *decoded->code >= 0);
  AUTOPILOT_ASSERT(decoded->text.size() <= record.text.size());
  AUTOPILOT_ASSERT(!checks::to_attributes(*decoded).empty());
  return 0;
}

}  // namespace autopilot::decode_fuzz
