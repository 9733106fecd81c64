// SPDX-License-Identifier: Apache-2.0
#include "host/nccl_ras/ras_answer.hpp"

#include "core/parse.hpp"
#include "host/nccl_ras/ras_json.hpp"
#include "host/nccl_ras/ras_text.hpp"

namespace autopilot::host {

Result<RasAnswer> parse_ras_answer(std::string_view answer) {
  if (answer.size() > kMaxRasBytes)
    return fail(Errc::exhausted,
                "NCCL RAS: the answer is longer than " + std::to_string(kMaxRasBytes) + " bytes");
  const std::string_view text = trim(answer);
  return text.starts_with('{') ? parse_ras_json(text) : parse_ras_text(text);
}

}  // namespace autopilot::host
