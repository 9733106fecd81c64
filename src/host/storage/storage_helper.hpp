// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/helpers/helper_client.hpp"
#include "host/storage/filesystems.hpp"
#include "host/storage/nvme.hpp"

namespace autopilot::host {

// `autopilot helper storage`: what may hang in a mount or a device. Returns the exit code of the process.
[[nodiscard]] int run_storage_helper(int fd);

// The questions to it. `client` is of kind "storage".
[[nodiscard]] tl::expected<Usage, HelperError> ask_usage(HelperClient& client, const std::string& mount_point,
                                                         MonoTime deadline);
[[nodiscard]] tl::expected<NvmeHealth, HelperError> ask_nvme_health(HelperClient& client,
                                                                    const std::string& controller,
                                                                    MonoTime deadline);

}  // namespace autopilot::host
