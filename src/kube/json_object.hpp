// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/json/object.hpp>

namespace autopilot::kube {

// A JSON object as others may hand it on: what it holds is seen in this folder alone.
struct JsonObject {
  const boost::json::object& value;
};

}  // namespace autopilot::kube
