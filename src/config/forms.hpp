// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace autopilot::config {

// Formats of setting values.
[[nodiscard]] bool is_listen_address(std::string_view text);  // "host:port", "[ipv6]:port", ":port", or empty
[[nodiscard]] bool is_further_address(std::string_view text);  // as is_listen_address, but not empty
[[nodiscard]] bool is_absolute_path(std::string_view text);    // no NUL, at most 4095 bytes
[[nodiscard]] bool is_socket_path(std::string_view text);      // absolute and within sockaddr_un
[[nodiscard]] bool is_socket_path_or_empty(std::string_view text);
[[nodiscard]] bool is_node_name(std::string_view text);      // letters, digits, '-', '.', '_'; may be empty
[[nodiscard]] bool is_name(std::string_view text);           // as is_node_name, but not empty
[[nodiscard]] bool is_file_or_empty(std::string_view text);  // an absolute path, or empty
// A DNS subdomain: the name format of most Kubernetes objects, and of the prefix of a label key.
[[nodiscard]] bool is_dns_name(std::string_view text);
// "rack", "network.topology.nvidia.com/leaf".
[[nodiscard]] bool is_label_name(std::string_view text);  // "example.com/rack"
[[nodiscard]] bool is_name_space(std::string_view text);  // a Kubernetes namespace; can be empty
[[nodiscard]] bool is_image(std::string_view text);  // image of a container; its runtime validates the rest
[[nodiscard]] bool is_image_or_empty(std::string_view text);
[[nodiscard]] bool is_https_url_or_empty(std::string_view text);
// Begins with http:// or https:// and has a host; at most 2048 printable characters without spaces.
[[nodiscard]] bool is_http_url(std::string_view text);
[[nodiscard]] bool is_log_level(std::string_view text);
[[nodiscard]] bool is_log_format(std::string_view text);
[[nodiscard]] bool is_kernel_level(std::string_view text);
[[nodiscard]] bool is_deep_test(std::string_view text);
[[nodiscard]] bool is_peer(std::string_view text);       // "node-b=10.0.0.2:3333", "node-c=[fd00::3]:3333"
[[nodiscard]] bool is_interface(std::string_view text);  // "eth0", "mlx5_0/1"

// "67108864", "64MiB", "1GiB"; nullopt for an invalid size or an overflow.
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text);
// Uses the largest unit that divides the size.
[[nodiscard]] std::string format_size(std::uint64_t bytes);

// One of kPodTests.
[[nodiscard]] bool is_pod_test(std::string_view id);

}  // namespace autopilot::config
