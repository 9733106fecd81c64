// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace autopilot::net {

// Makes co_await return the error beside the result instead of throwing. Only for sources of this folder.
inline constexpr auto kToken = boost::asio::as_tuple(boost::asio::use_awaitable);

}  // namespace autopilot::net
