// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/job_records.hpp"

namespace autopilot::api::job_format {

// A contradiction between members of one object.
struct MemberProblem {
  std::string member;
  std::string what;
};

template <class R>
[[nodiscard]] std::optional<MemberProblem> find_problem(const R&) {
  return std::nullopt;
}
[[nodiscard]] std::optional<MemberProblem> find_problem(const jobs::JobRecord& record);
[[nodiscard]] std::optional<MemberProblem> find_problem(const jobs::WindowRecord& record);
[[nodiscard]] std::optional<MemberProblem> find_problem(const jobs::Communicator& record);
[[nodiscard]] std::optional<MemberProblem> find_problem(const jobs::FaultLabel& label);
[[nodiscard]] std::optional<MemberProblem> find_problem(const jobs::ConfounderLabel& label);
[[nodiscard]] std::optional<MemberProblem> find_problem(const LabelledTime& label);

// "gpu/3", "nic/mlx5_0", "host"
[[nodiscard]] bool is_subject(std::string_view text);
// 1 to 253 characters of valid UTF-8 without control characters.
[[nodiscard]] bool is_name(std::string_view text);

}  // namespace autopilot::api::job_format
