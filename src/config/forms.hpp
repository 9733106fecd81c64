// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace autopilot::config {

// What a value of a setting may look like.
[[nodiscard]] bool is_listen_address(std::string_view text);  // "host:port", "[ipv6]:port", ":port", or empty
[[nodiscard]] bool is_further_address(std::string_view text);  // likewise, and not empty
[[nodiscard]] bool is_absolute_path(std::string_view text);    // no NUL, at most 4095 bytes
[[nodiscard]] bool is_socket_path(std::string_view text);      // absolute and within sockaddr_un
[[nodiscard]] bool is_socket_path_or_empty(std::string_view text);
[[nodiscard]] bool is_node_name(std::string_view text);      // letters, digits, '-', '.', '_'; may be empty
[[nodiscard]] bool is_name(std::string_view text);           // likewise, and not empty
[[nodiscard]] bool is_file_or_empty(std::string_view text);  // an absolute path, or nothing
// A DNS subdomain: the names of most objects of Kubernetes, and what may stand in front of the / of a key.
[[nodiscard]] bool is_dns_name(std::string_view text);
// "rack", "network.topology.nvidia.com/leaf".
[[nodiscard]] bool is_label_name(std::string_view text);  // "example.com/rack"
[[nodiscard]] bool is_name_space(std::string_view text);  // of Kubernetes; may be empty
[[nodiscard]] bool is_image(std::string_view text);       // of a container: the rest its runtime knows
[[nodiscard]] bool is_image_or_empty(std::string_view text);
[[nodiscard]] bool is_https_url_or_empty(std::string_view text);
[[nodiscard]] bool is_log_level(std::string_view text);
[[nodiscard]] bool is_log_format(std::string_view text);
[[nodiscard]] bool is_kernel_level(std::string_view text);
[[nodiscard]] bool is_deep_test(std::string_view text);
[[nodiscard]] bool is_peer(std::string_view text);       // "node-b=10.0.0.2:3333", "node-c=[fd00::3]:3333"
[[nodiscard]] bool is_interface(std::string_view text);  // "eth0", "mlx5_0/1"

// "67108864", "64MiB", "1GiB"; nothing when it is no size or does not fit.
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text);
// The largest unit that divides it.
[[nodiscard]] std::string format_size(std::uint64_t bytes);

// One of kPodTests.
[[nodiscard]] bool is_pod_test(std::string_view id);

}  // namespace autopilot::config
