// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace autopilot::net {

// What is awaited gives its error beside its result, and throws none. For sources of this folder alone.
inline constexpr auto kToken = boost::asio::as_tuple(boost::asio::use_awaitable);

}  // namespace autopilot::net
