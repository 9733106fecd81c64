// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "probes/net/machine/interfaces.hpp"

namespace autopilot::probes::net {

// libiperf creates its sockets itself, does not expose them, and reports only the last error, which often
// follows from an earlier one. Therefore the linker redirects its calls of listen(), accept(), read(),
// write() and sendfile() to functions of ours (CMakeLists.txt). All this applies to the whole process.

// Restricts clients to these addresses from now on; no restriction if the list is empty. The addresses must
// outlive the last call. If this process has no permission to set a filter, other clients are rejected after
// accept(), and the server starts again.
void listen_only_for(std::span<const Address> allowed);
// Sets the output to which the first listening socket writes line_of_listening().
void announce_listening_on(int output);
// True if a socket has listened.
[[nodiscard]] bool has_listened();

// Sets a function that runs each time a client has agreed with its peer on the test, before it connects the
// data streams.
void before_streams(std::function<void()> work);

// Errno of the first failed descriptor call since forget_errors(); 0: none.
[[nodiscard]] int first_errno();
void forget_errors();

// Writes the whole text; ends early if the reader has closed.
void write_all(int output, std::string_view text);

}  // namespace autopilot::probes::net
