// SPDX-License-Identifier: Apache-2.0
#include "controller/webhook/preflight_review.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "controller/webhook/admission_review.hpp"
#include "kube/objects.hpp"
#include "tests/support/controller/test_reviews.hpp"

namespace autopilot::controller {
namespace {

namespace json = boost::json;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::patched;
using testing::read_answer;
using testing::request_for;
using testing::review_of;
using testing::review_of_pod;
using testing::test_settings;

json::value small_pod() {
  return json::parse(R"({"apiVersion": "v1", "kind": "Pod",
    "metadata": {"name": "a", "labels": {"autopilot": ""}},
    "spec": {"containers": [{"name": "main", "image": "m", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}})");
}

HandlerAnswer answer_to(const json::value& pod, const WebhookSettings& settings = test_settings()) {
  return review(review_of_pod(pod), settings);
}

const json::object& first_container(const json::value& pod) {
  return pod.at("spec").at("initContainers").at(0).as_object();
}

std::string tests_of(const json::value& pod) {
  for (const json::value& variable : first_container(pod).at("env").as_array())
    if (variable.at("name") == "AUTOPILOT_TESTS") return std::string(variable.at("value").as_string());
  return "not there";
}

TEST(Preflight, nothing_but_a_new_pod_is_changed) {
  const auto asked = [](std::string_view member, const json::value& value) {
    json::object request = request_for(small_pod());
    request[member] = value;
    return review(review_of(request), test_settings());
  };
  for (const auto& answer :
       {asked("operation", "UPDATE"), asked("operation", "DELETE"),
        asked("subResource", "ephemeralcontainers"),
        asked("kind", json::object{{"group", "batch"}, {"version", "v1"}, {"kind", "Job"}})}) {
    EXPECT_EQ(answer.outcome, ReviewOutcome::left_out);
    EXPECT_EQ(read_answer(answer).uid, testing::kUid);
    EXPECT_THAT(read_answer(answer).patch, IsEmpty());
    EXPECT_THAT(read_answer(answer).warnings, IsEmpty());
  }
  EXPECT_EQ(asked("operation", "CREATE").outcome, ReviewOutcome::patched);
}

TEST(Preflight, a_dry_run_is_answered_as_the_run_would_be) {
  json::object request = request_for(small_pod());
  const std::string real = review(review_of(request), test_settings()).body;
  request["dryRun"] = true;
  EXPECT_EQ(review(review_of(request), test_settings()).body, real);
}

TEST(Preflight, a_pod_without_the_label_is_left_alone) {
  json::value pod = small_pod();
  json::object& metadata = pod.at("metadata").as_object();
  for (const json::value& labels :
       {json::value(nullptr), json::value(json::object{}), json::value(json::object{{"app", "autopilot"}}),
        json::value("autopilot"), json::value(json::object{{"autopilot", "false"}})}) {
    metadata["labels"] = labels;
    EXPECT_EQ(answer_to(pod).outcome, ReviewOutcome::left_out) << json::serialize(labels);
    EXPECT_THAT(read_answer(answer_to(pod)).warnings, IsEmpty());
  }
  metadata.erase("labels");
  EXPECT_EQ(answer_to(pod).outcome, ReviewOutcome::left_out);
}

TEST(Preflight, lists_that_are_null_or_empty_are_lists_of_nothing) {
  json::value pod = small_pod();
  json::object& spec = pod.at("spec").as_object();
  for (const json::value& nothing : {json::value(nullptr), json::value(json::array{})}) {
    for (const auto* list : {"initContainers", "volumes", "resourceClaims", "tolerations"})
      spec[list] = nothing;
    const json::value after = patched(pod, answer_to(pod));
    EXPECT_EQ(after.at("spec").at("initContainers").as_array().size(), 1U);
    EXPECT_EQ(after.at("spec").at("volumes").as_array().size(), 1U);
  }
  spec["containers"] = nullptr;
  EXPECT_EQ(answer_to(pod).outcome, ReviewOutcome::no_accelerator);
  spec.erase("containers");
  EXPECT_EQ(answer_to(pod).outcome, ReviewOutcome::no_accelerator);
  pod.as_object()["spec"] = nullptr;
  EXPECT_EQ(answer_to(pod).outcome, ReviewOutcome::no_accelerator);
}

TEST(Preflight, of_forty_containers_it_asks_for_what_all_have_together) {
  json::value pod = small_pod();
  json::array containers;
  for (int i = 0; i < 40; ++i) {
    json::object amounts{{"cpu", "1"}};
    if (i % 5 == 4) amounts["nvidia.com/gpu"] = "1";
    containers.push_back(
        json::object{{"name", "c" + std::to_string(i)}, {"resources", {{"limits", amounts}}}});
  }
  pod.at("spec").as_object()["containers"] = containers;
  const json::value after = patched(pod, answer_to(pod));
  EXPECT_EQ(first_container(after).at("resources").at("limits"),
            (json::value{{"cpu", "1"}, {"nvidia.com/gpu", "8"}}));
  EXPECT_EQ(after.at("spec").at("containers"), pod.at("spec").at("containers"));
}

TEST(Preflight, a_pod_asks_for_no_more_than_before) {
  struct Begins {
    const char* containers;
    const char* of_all;
  };
  for (const auto& [begins, of_all] :
       {Begins{R"([])", "1"},
        Begins{R"([{"name": "i", "resources": {"limits": {"nvidia.com/gpu": "4"}}}])", "4"},
        Begins{R"([{"name": "s", "restartPolicy": "Always", "resources": {"limits": {"nvidia.com/gpu": "2"}}},
                   {"name": "i", "resources": {"limits": {"nvidia.com/gpu": "3"}}}])",
               "5"}}) {
    json::value pod = small_pod();
    pod.at("spec").as_object()["initContainers"] = json::parse(begins);
    const json::value after = patched(pod, answer_to(pod));
    // Counted as other programs count the resources of a pod.
    EXPECT_EQ(kube::parse_pod(json::serialize(after))->devices,
              kube::parse_pod(json::serialize(pod))->devices);
    EXPECT_EQ(first_container(after).at("resources").at("limits").at("nvidia.com/gpu"), of_all);
  }
}

TEST(Preflight, accelerators_are_what_the_settings_say) {
  json::value pod = small_pod();
  json::object& limits = pod.at("spec").at("containers").at(0).at("resources").at("limits").as_object();
  limits = {{"example.com/npu", "2"}};
  EXPECT_EQ(answer_to(pod).outcome, ReviewOutcome::no_accelerator);
  WebhookSettings settings = test_settings();
  settings.accelerators.resources = {"example.com/*"};
  EXPECT_EQ(answer_to(pod, settings).outcome, ReviewOutcome::patched);
  limits = {{"nvidia.com/gpu", "0"}};
  EXPECT_EQ(answer_to(pod).outcome, ReviewOutcome::no_accelerator);
  limits = {{"nvidia.com/gpu", 2}};
  EXPECT_EQ(answer_to(pod).outcome, ReviewOutcome::patched);
  limits = {{"nvidia.com/gpu", "-2"}};
  EXPECT_EQ(answer_to(pod).outcome, ReviewOutcome::no_accelerator);
}

// Schedulers of shares treat a container that requests only a GPU as a request for a whole one.
TEST(Preflight, a_pod_with_a_share_of_a_gpu_is_left_as_it_is) {
  json::value pod = small_pod();
  json::object& resources = pod.at("spec").at("containers").at(0).at("resources").as_object();
  const auto is_left_out = [&] {
    const HandlerAnswer answer = answer_to(pod);
    return answer.outcome == ReviewOutcome::left_out && patched(pod, answer) == pod &&
           !testing::read_answer(answer).warnings.empty();
  };
  for (const auto* share :
       {"nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores", "nvidia.com/vgpu",
        "volcano.sh/vgpu-number", "volcano.sh/vgpu-memory", "volcano.sh/gpu-memory", "aliyun.com/gpu-mem",
        "aliyun.com/gpu-core.percentage", "koordinator.sh/gpu-memory-ratio", "tencent.com/vcuda-core",
        "nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb.shared", "amd.com/gpumem"}) {
    resources["limits"] = {{"nvidia.com/gpu", "1"}, {share, "10"}};
    EXPECT_TRUE(is_left_out()) << share;
    resources["limits"] = {{share, 10}};
    EXPECT_TRUE(is_left_out()) << share << " alone";
    resources["limits"] = {{"nvidia.com/gpu", "1"}, {share, "0"}};
    EXPECT_EQ(answer_to(pod).outcome, ReviewOutcome::patched) << share << " of nothing";
  }
  resources["limits"] = {{"nvidia.com/gpu", "1"}};
  resources["requests"] = {{"nvidia.com/gpumem", "1000"}};
  EXPECT_TRUE(is_left_out());
}

TEST(Preflight, a_pod_for_nodes_that_share_their_gpus_is_left_as_it_is) {
  json::value pod = small_pod();
  json::object& spec = pod.at("spec").as_object();
  spec["nodeSelector"] = {{"cloud.google.com/gke-gpu-sharing-strategy", "time-sharing"}};
  EXPECT_EQ(answer_to(pod).outcome, ReviewOutcome::left_out);
  spec["nodeSelector"] = {{"nvidia.com/gpu.sharing-strategy", "mps"}};
  EXPECT_EQ(answer_to(pod).outcome, ReviewOutcome::left_out);
  spec["nodeSelector"] = {{"nvidia.com/gpu.sharing-strategy", "none"}};
  EXPECT_EQ(answer_to(pod).outcome, ReviewOutcome::patched);
  spec["nodeSelector"] = {{"nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"}};
  EXPECT_EQ(answer_to(pod).outcome, ReviewOutcome::patched);
}

TEST(Preflight, a_claim_counts_where_the_settings_say_so) {
  json::value pod = small_pod();
  pod.at("spec").at("containers").at(0).as_object()["resources"] = {
      {"claims", json::array{{{"name", "gpu"}}}}};
  EXPECT_EQ(answer_to(pod).outcome, ReviewOutcome::patched);
  WebhookSettings settings = test_settings();
  settings.accelerators.has_claims = false;
  EXPECT_EQ(answer_to(pod, settings).outcome, ReviewOutcome::no_accelerator);
}

TEST(Preflight, the_tests_are_those_of_labels_and_annotation) {
  const auto tests = [](const json::object& labels, const json::value& annotation) {
    json::value pod = small_pod();
    json::object& metadata = pod.at("metadata").as_object();
    for (const auto& [label, value] : labels)
      metadata["labels"].as_object()[label] = value;
    metadata["annotations"] = {{"autopilot.ibm.com/preflight", annotation}};
    WebhookSettings settings = test_settings();
    settings.default_tests = {"gpu.diagnosis", "self_test"};
    return tests_of(patched(pod, answer_to(pod, settings)));
  };
  EXPECT_EQ(tests({}, ""), "gpu.diagnosis,self_test");
  EXPECT_EQ(tests({}, " , "), "gpu.diagnosis,self_test");
  EXPECT_EQ(tests({{"gpu-pcie-bw", ""}}, ""), "gpu.pcie_bandwidth");
  EXPECT_EQ(tests({{"gpu-mem", "yes"}, {"gpu-pcie-bw", ""}}, ""), "gpu.pcie_bandwidth,gpu.memory_bandwidth");
  EXPECT_EQ(tests({}, "self_test"), "self_test");
  EXPECT_EQ(tests({{"gpu-pcie-bw", ""}}, "self_test, gpu.pcie_bandwidth ,self_test,"),
            "gpu.pcie_bandwidth,self_test");
  for (const auto* wrong : {"GPU.diagnosis", "gpu diagnosis", "gpu..x", ".gpu", "gpu.", "gpu;x",
                            "gpu.d\xC3\xA9", "\"a\"", "[\"a\"]", "a\nb"})
    EXPECT_EQ(tests({{"gpu-pcie-bw", ""}}, wrong), "gpu.diagnosis,self_test") << wrong;
  EXPECT_EQ(tests({}, 7), "gpu.diagnosis,self_test");
  EXPECT_EQ(tests({}, json::string(65, 'a')), "gpu.diagnosis,self_test");
  std::string many = "a0";
  for (int i = 1; i < 16; ++i)
    many += ",a" + std::to_string(i);
  EXPECT_EQ(tests({}, json::string(many)), many);
  EXPECT_EQ(tests({}, json::string(many + ",b")), "gpu.diagnosis,self_test");
}

TEST(Preflight, an_annotation_that_cannot_be_read_is_told) {
  json::value pod = small_pod();
  pod.at("metadata").as_object()["annotations"] = {{"gpu.example.com/preflight", "a;b"}};
  EXPECT_THAT(read_answer(answer_to(pod)).warnings, IsEmpty());
  WebhookSettings settings = test_settings();
  settings.prefix = "gpu.example.com";
  EXPECT_THAT(read_answer(answer_to(pod, settings)).warnings,
              ElementsAre(HasSubstr("annotation gpu.example.com/preflight: expected ids of tests")));
}

TEST(Preflight, a_test_that_is_not_known_is_told_with_those_that_are_and_asked_for_all_the_same) {
  json::value pod = small_pod();
  pod.at("metadata").as_object()["annotations"] = {
      {"autopilot.ibm.com/preflight", "gpu.nonsense,self_test,gpu.memory"}};
  const HandlerAnswer answer = answer_to(pod);
  EXPECT_THAT(
      read_answer(answer).warnings,
      ElementsAre(::testing::AllOf(HasSubstr("unknown tests gpu.nonsense, gpu.memory;"),
                                   HasSubstr("known tests: gpu.compute, gpu.dcgm, gpu.diagnosis, "))));
  EXPECT_EQ(tests_of(patched(pod, answer)), "gpu.nonsense,self_test,gpu.memory");
}

TEST(Preflight, a_pod_says_no_in_capital_letters_too) {
  json::value pod = small_pod();
  json::object& labels = pod.at("metadata").at("labels").as_object();
  for (const auto* no : {"false", "False", "FALSE"}) {
    labels["autopilot"] = no;
    EXPECT_EQ(answer_to(pod).outcome, ReviewOutcome::left_out) << no;
  }
  labels["autopilot"] = "falsehood";
  EXPECT_EQ(answer_to(pod).outcome, ReviewOutcome::patched);
}

TEST(Preflight, in_a_namespace_that_wants_it_a_pod_needs_no_label_and_gets_it) {
  const auto answer_in_namespace = [](const json::value& pod) {
    return review_in_namespace(testing::review_of_pod(pod), test_settings());
  };
  json::value pod = small_pod();
  const json::value labelled = patched(pod, answer_to(pod));
  json::object& metadata = pod.at("metadata").as_object();
  metadata["labels"] = json::object{{"app", "train"}};
  EXPECT_EQ(answer_to(pod).outcome, ReviewOutcome::left_out);
  const json::value after = patched(pod, answer_in_namespace(pod));
  EXPECT_EQ(after.at("metadata").at("labels"), (json::value{{"app", "train"}, {"autopilot", ""}}));
  EXPECT_EQ(after.at("spec"), labelled.at("spec"));
  EXPECT_EQ(answer_in_namespace(after).outcome, ReviewOutcome::unchanged);
  EXPECT_EQ(answer_to(after).outcome, ReviewOutcome::unchanged);
  metadata.erase("labels");
  EXPECT_EQ(patched(pod, answer_in_namespace(pod)).at("metadata").at("labels"),
            (json::value{{"autopilot", ""}}));
  pod.as_object().erase("metadata");
  EXPECT_EQ(patched(pod, answer_in_namespace(pod)).at("metadata").at("labels"),
            (json::value{{"autopilot", ""}}));
  pod.as_object()["metadata"] = json::object{{"labels", json::object{{"autopilot", "False"}}}};
  EXPECT_EQ(answer_in_namespace(pod).outcome, ReviewOutcome::left_out);
}

TEST(Preflight, in_a_namespace_that_wants_it_a_pod_without_accelerators_is_left_alone_in_silence) {
  json::value pod = small_pod();
  pod.at("metadata").as_object().erase("labels");
  pod.at("spec").at("containers").at(0).as_object().erase("resources");
  const HandlerAnswer answer = review_in_namespace(testing::review_of_pod(pod), test_settings());
  EXPECT_EQ(answer.outcome, ReviewOutcome::no_accelerator);
  EXPECT_THAT(read_answer(answer).warnings, IsEmpty());
  EXPECT_TRUE(read_answer(answer).patch.empty());
}

TEST(Preflight, the_token_of_the_gate_is_for_no_other_container) {
  json::value pod = small_pod();
  const json::array mounts{json::object{{"name", "data"}, {"mountPath", "/data"}},
                           json::object{{"name", "autopilot-preflight-token"}, {"mountPath", "/a"}},
                           json::object{{"name", "autopilot-preflight-token"}, {"mountPath", "/b"}}};
  json::object& spec = pod.at("spec").as_object();
  spec["containers"].as_array()[0].as_object()["volumeMounts"] = mounts;
  spec["initContainers"] = json::array{json::object{{"name", "early"}, {"volumeMounts", mounts}}};
  const HandlerAnswer answer = answer_to(pod);
  const json::value after = patched(pod, answer);
  const json::array left{mounts.front()};
  EXPECT_EQ(after.at("spec").at("containers").at(0).at("volumeMounts"), left);
  EXPECT_EQ(after.at("spec").at("initContainers").at(1).at("volumeMounts"), left);
  EXPECT_EQ(first_container(after).at("volumeMounts").as_array().size(), 2U);
  EXPECT_THAT(read_answer(answer).warnings,
              ElementsAre(HasSubstr("container early mounts autopilot-preflight-token"),
                          HasSubstr("container main mounts autopilot-preflight-token")));
  EXPECT_TRUE(read_answer(answer_to(after)).patch.empty());
}

TEST(Preflight, never_is_a_folder_of_the_node_in_the_pod) {
  const json::value after = patched(small_pod(), answer_to(small_pod()));
  EXPECT_THAT(json::serialize(after), ::testing::Not(HasSubstr("hostPath")));
  EXPECT_EQ(after.at("spec").as_object().contains("hostNetwork"), false);
}

TEST(Preflight, is_the_user_of_the_pod_where_that_is_one_and_not_root) {
  const auto user = [](const json::value& of_pod, const json::value& of_main, const json::value& of_second) {
    json::value pod = small_pod();
    json::object& spec = pod.at("spec").as_object();
    json::array& containers = spec["containers"].as_array();
    containers.push_back(json::object{{"name", "second"}});
    const auto context = [](const json::value& id) {
      return id.is_null() ? json::object{} : json::object{{"runAsUser", id}};
    };
    spec["securityContext"] = context(of_pod);
    containers[0].as_object()["securityContext"] = context(of_main);
    containers[1].as_object()["securityContext"] = context(of_second);
    const json::value after = patched(pod, answer_to(pod));
    return first_container(after).at("securityContext").at("runAsUser").to_number<std::int64_t>();
  };
  EXPECT_EQ(user(nullptr, nullptr, nullptr), 65532);
  EXPECT_EQ(user(1000, nullptr, nullptr), 1000);
  EXPECT_EQ(user(nullptr, 1000, 1000), 1000);
  EXPECT_EQ(user(7, 1000, 1000), 1000);
  EXPECT_EQ(user(nullptr, 1000, nullptr), 65532);
  EXPECT_EQ(user(1000, 1001, nullptr), 65532);
  EXPECT_EQ(user(0, nullptr, nullptr), 65532);
  EXPECT_EQ(user(-1, nullptr, nullptr), 65532);
}

// Their value can change slightly each time a program writes them again.
TEST(Preflight, numbers_with_a_fraction_or_an_exponent_are_neither_users_nor_devices) {
  const auto pod_of = [](const std::string& user, const std::string& devices) {
    return json::parse(R"({"metadata": {"name": "a", "labels": {"autopilot": ""}}, "spec": {"containers": [{
      "name": "main", "securityContext": {"runAsUser": )" +
                       user + R"(}, "resources": {"limits": {"nvidia.com/gpu": )" + devices + "}}}]}}");
  };
  const json::value pod = pod_of("90448177928119946.0769", "1");
  const json::value after = patched(pod, answer_to(pod));
  EXPECT_EQ(first_container(after).at("securityContext").at("runAsUser"), 65532);
  EXPECT_EQ(answer_to(after).outcome, ReviewOutcome::unchanged);
  EXPECT_EQ(answer_to(pod_of("1000", "4400000000000000.1e-14")).outcome, ReviewOutcome::no_accelerator);
}

TEST(Preflight, whatever_was_changed_in_the_container_is_put_right) {
  const json::value good = patched(small_pod(), answer_to(small_pod()));
  ASSERT_EQ(answer_to(good).outcome, ReviewOutcome::unchanged);
  const auto changed = [&](std::string_view name, const json::value& value) {
    json::value pod = good;
    pod.at("spec").at("initContainers").at(0).as_object()[name] = value;
    return pod;
  };
  for (const auto& [name, value] : json::object{{"restartPolicy", "Always"},
                                                {"command", json::array{"true"}},
                                                {"image", "other"},
                                                {"env", json::array{}},
                                                {"lifecycle", json::object{}},
                                                {"imagePullPolicy", "Never"},
                                                {"volumeMounts", nullptr}}) {
    const json::value pod = changed(name, value);
    const HandlerAnswer answer = answer_to(pod);
    EXPECT_EQ(patched(pod, answer), good) << name;
    EXPECT_THAT(read_answer(answer).warnings, ElementsAre(HasSubstr("is replaced"))) << name;
  }
  // Defaults that API servers add are not a change.
  EXPECT_EQ(answer_to(changed("terminationMessagePath", "/dev/termination-log")).outcome,
            ReviewOutcome::unchanged);
  EXPECT_EQ(answer_to(changed("imagePullPolicy", "Always")).outcome, ReviewOutcome::unchanged);
}

TEST(Preflight, the_rules_of_the_cluster_stay_when_the_container_is_put_right) {
  json::value pod = patched(small_pod(), answer_to(small_pod()));
  json::object& container = pod.at("spec").at("initContainers").at(0).as_object();
  container["imagePullPolicy"] = "Always";
  container["resources"] = {{"limits", {{"cpu", "1"}, {"nvidia.com/gpu", "64"}}}};
  const json::value after = patched(pod, answer_to(pod));
  EXPECT_EQ(first_container(after).at("imagePullPolicy"), "Always");
  EXPECT_EQ(first_container(after).at("resources").at("limits"),
            (json::value{{"cpu", "1"}, {"nvidia.com/gpu", "1"}}));
}

}  // namespace
}  // namespace autopilot::controller
