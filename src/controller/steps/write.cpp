// SPDX-License-Identifier: Apache-2.0
#include "controller/steps/write.hpp"

#include <utility>

namespace autopilot::controller {

net::Exchange send(kube::Client& client, const Write& write, kube::OnObject on_answer) {
  switch (write.method) {
    case Write::Method::create:
      return client.create({write.path, {}}, write.body, std::move(on_answer));
    case Write::Method::merge_patch:
      return client.patch({write.path, {}}, kube::Patch::merge, write.body, std::move(on_answer));
    case Write::Method::remove:
      return client.remove({write.path, {}}, write.body, std::move(on_answer));
    case Write::Method::get:
      break;
  }
  return client.get({write.path, {}}, std::move(on_answer));
}

}  // namespace autopilot::controller
