// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>

#include "probes/net/machine/address.hpp"

namespace autopilot::probes::net {

// libiperf makes its sockets itself, shows none, and tells of errors the last one, which is often about what
// it does after the one that mattered. So the linker leads its calls of listen(), accept(), read(), write()
// and sendfile() through functions of ours (CMakeLists.txt). All this is of the whole process.

// From now on nobody is heard but these addresses; everybody where there are none. They must outlive the last
// call. Where the kernel permits this process no filter, who else connects is turned away as soon as it is
// accepted, and the server begins anew.
void listen_only_for(std::span<const Address> allowed);
// Where the first socket that listens writes line_of_listening().
void tell_of_listening(int output);
// Whether a socket has listened yet.
[[nodiscard]] bool has_listened();

// What is done each time that a client has agreed with its peer about the test and has not connected the
// streams of data yet.
void before_streams(std::function<void()> work);

// The number of the first call on a descriptor that failed since forget_errors(); 0: none did.
[[nodiscard]] int first_errno();
void forget_errors();

}  // namespace autopilot::probes::net
