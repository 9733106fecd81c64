// SPDX-License-Identifier: Apache-2.0
#include "kube/container_images.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ContainerImages, are_told_by_the_digest_that_runs) {
  const auto images = parse_container_images(R"({"spec": {"containers": [
      {"name": "a", "image": "registry/autopilot:1"}, {"name": "b", "image": "local:1"}, {"name": "c", "image": "x"}]},
    "status": {"containerStatuses": [{"name": "b", "imageID": "sha256:12"},
      {"name": "a", "imageID": "docker-pullable://registry/autopilot@sha256:ab"}]}})");
  ASSERT_TRUE(images);
  EXPECT_THAT(*images,
              ElementsAre(ContainerImage{"a", "registry/autopilot:1", "registry/autopilot@sha256:ab"},
                          ContainerImage{"b", "local:1", ""}, ContainerImage{"c", "x", ""}));
}

TEST(ContainerImages, of_a_pod_that_makes_no_sense_are_none) {
  EXPECT_FALSE(parse_container_images("[]"));
  EXPECT_FALSE(parse_container_images("{"));
  for (const char* pod : {"{}", R"({"spec": {"containers": [7]}, "status": {"containerStatuses": "x"}})"}) {
    const auto images = parse_container_images(pod);
    ASSERT_TRUE(images);
    EXPECT_THAT(*images, IsEmpty());
  }
}

}  // namespace
}  // namespace autopilot::kube
