// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "checks/kernel_log/nvidia_lines.hpp"
#include "core/result.hpp"
#include "core/subject.hpp"
#include "host/kernel_log/kmsg_record.hpp"

// Whatever a driver line holds, what is found is well-formed, and nothing is found that the prefilter denies.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace autopilot;
  host::KernelRecord record;
  record.text = host::clean_log_text({reinterpret_cast<const char*>(data), size});
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
