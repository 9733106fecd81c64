// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/json/object.hpp>

namespace autopilot::kube {

// An opaque JSON object for other folders; only this folder reads its content.
struct JsonObject {
  const boost::json::object& value;
};

}  // namespace autopilot::kube
