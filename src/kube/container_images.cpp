// SPDX-License-Identifier: Apache-2.0
#include "kube/container_images.hpp"

#include <boost/json.hpp>
#include <utility>

#include "kube/object_text.hpp"

namespace autopilot::kube {

namespace json = boost::json;

namespace {

// Older runtimes add a scheme: "docker-pullable://".
std::string pinned_of(std::string_view id) {
  if (const auto scheme = id.find("://"); scheme != std::string_view::npos) id.remove_prefix(scheme + 3);
  return id.find("@sha256:") == std::string_view::npos ? "" : std::string(id);
}

std::string pinned_of(const json::object& pod, std::string_view container) {
  const json::array* statuses = array_at(pod, {"status", "containerStatuses"});
  if (statuses == nullptr) return "";
  for (const json::value& status : *statuses)
    if (status.is_object() && text_at(status.get_object(), {"name"}) == container)
      return pinned_of(text_at(status.get_object(), {"imageID"}));
  return "";
}

}  // namespace

Result<std::vector<ContainerImage>> parse_container_images(std::string_view pod) {
  json::error_code error;
  const json::value value = json::parse({pod.data(), pod.size()}, error);
  if (error || !value.is_object()) return fail(Errc::malformed, "not a JSON object");
  std::vector<ContainerImage> images;
  const json::array* containers = array_at(value.get_object(), {"spec", "containers"});
  if (containers == nullptr) return images;
  for (const json::value& container : *containers) {
    if (!container.is_object()) continue;
    ContainerImage image{.name = std::string(text_at(container.get_object(), {"name"})),
                         .image = std::string(text_at(container.get_object(), {"image"})),
                         .pinned = {}};
    image.pinned = pinned_of(value.get_object(), image.name);
    images.push_back(std::move(image));
  }
  return images;
}

}  // namespace autopilot::kube
