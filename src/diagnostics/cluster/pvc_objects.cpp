// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/cluster/pvc_objects.hpp"

#include <boost/json.hpp>
#include <chrono>

#include "diagnostics/cluster/node_label.hpp"

namespace autopilot::diagnostics {

namespace json = boost::json;

namespace {

json::object meta_json(const PvcPlace& place, const PvcNames& names) {
  const json::object owner{
      {"apiVersion", "v1"}, {"kind", "Node"}, {"name", place.node}, {"uid", place.node_uid}};
  return {{"name", names.object},
          {"namespace", place.name_space},
          {"labels", json::object{{place.prefix + "/pvc-test", node_label_value(place.node)},
                                  {"app.kubernetes.io/managed-by", "autopilot"}}},
          {"annotations", json::object{{names.run_key, names.run}}},
          {"ownerReferences", json::array{owner}}};
}

json::object on_node(const std::string& node) {
  const json::object field{{"key", "metadata.name"}, {"operator", "In"}, {"values", json::array{node}}};
  const json::object term{{"matchFields", json::array{field}}};
  const json::object required{{"nodeSelectorTerms", json::array{term}}};
  return {{"nodeAffinity", json::object{{"requiredDuringSchedulingIgnoredDuringExecution", required}}}};
}

json::object container_json(const PvcPlace& place) {
  const json::object security{{"allowPrivilegeEscalation", false},
                              {"readOnlyRootFilesystem", true},
                              {"capabilities", json::object{{"drop", json::array{"ALL"}}}}};
  return {{"name", "consumer"},
          {"image", place.image},
          {"securityContext", security},
          {"volumeMounts", json::array{json::object{{"name", "volume"}, {"mountPath", "/volume"}}}}};
}

}  // namespace

std::string pvc_label(const PvcPlace& place) {
  return place.prefix + "/pvc-test=" + node_label_value(place.node);
}

std::string pvc_object_name(std::string_view node, const PvcTarget& target) {
  return "autopilot-pvc-" +
         hash_digits(std::string(node) + '/' + target.storage_class + '/' + target.access_mode);
}

std::string claim_json(const PvcPlace& place, const PvcTarget& target, const PvcNames& names) {
  const json::object resources{{"requests", json::object{{"storage", std::to_string(place.bytes)}}}};
  const json::object spec{{"accessModes", json::array{target.access_mode}},
                          {"storageClassName", target.storage_class},
                          {"resources", resources}};
  return json::serialize(json::object{{"apiVersion", "v1"},
                                      {"kind", "PersistentVolumeClaim"},
                                      {"metadata", meta_json(place, names)},
                                      {"spec", spec}});
}

std::string consumer_json(const PvcPlace& place, const PvcNames& names, Duration lifetime) {
  constexpr std::int64_t nobody = 65534;
  const json::object claim{{"claimName", names.object}};
  const json::object security{{"runAsNonRoot", true},
                              {"runAsUser", nobody},
                              {"runAsGroup", nobody},
                              {"seccompProfile", json::object{{"type", "RuntimeDefault"}}}};
  const json::object spec{
      {"restartPolicy", "Never"},
      {"automountServiceAccountToken", false},
      {"enableServiceLinks", false},
      {"terminationGracePeriodSeconds", 1},
      {"activeDeadlineSeconds", std::chrono::duration_cast<std::chrono::seconds>(lifetime).count()},
      {"affinity", on_node(place.node)},
      {"tolerations", json::array{json::object{{"operator", "Exists"}}}},
      {"securityContext", security},
      {"containers", json::array{container_json(place)}},
      {"volumes", json::array{json::object{{"name", "volume"}, {"persistentVolumeClaim", claim}}}}};
  return json::serialize(json::object{
      {"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", meta_json(place, names)}, {"spec", spec}});
}

std::string removal_json(std::string_view uid) {
  return json::serialize(json::object{
      {"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"preconditions", json::object{{"uid", uid}}}});
}

}  // namespace autopilot::diagnostics
