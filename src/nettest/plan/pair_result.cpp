// SPDX-License-Identifier: Apache-2.0
#include "nettest/plan/pair_result.hpp"

namespace autopilot::nettest {

std::string_view to_string(Missing why) {
  switch (why) {
    case Missing::refused:
      return "refused";
    case Missing::cancelled:
      return "cancelled";
    case Missing::timed_out:
      return "timed_out";
    case Missing::no_answer:
      return "no_answer";
  }
  return "";
}

}  // namespace autopilot::nettest
