// SPDX-License-Identifier: Apache-2.0
#include "kube/kubeconfig.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/base64.hpp"
#include "tests/support/kube/test_files.hpp"

namespace autopilot::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

const std::string kPath = "/home/ada/.kube/config";

// A kubeconfig with one context, and what stands below its cluster and its user: lines of a block.
std::string config_with(const std::string& cluster, const std::string& user) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: dev\n"
         "contexts:\n- name: dev\n  context: {cluster: c, user: u}\n"
         "clusters:\n- name: c\n  cluster:\n    server: https://10.0.0.1:6443\n" +
         cluster + "users:\n- name: u\n  user:\n    disable: me\n" + user;
}

class Kubeconfig : public ::testing::Test {
 protected:
  Result<Access> read(const std::string& text, const std::string& context = "") {
    files_.texts[kPath] = text;
    return read_kubeconfig({kPath}, context, files_.reader());
  }
  // What is wrong with such a cluster and such a user.
  std::string problem(const std::string& cluster, const std::string& user) {
    const auto access = read(config_with(cluster, user));
    if (access) return "nothing";
    EXPECT_EQ(access.error().code, Errc::malformed);
    EXPECT_THAT(access.error().what, StartsWith(kPath + ":"));
    EXPECT_THAT(access.error().what, Not(HasSubstr("secret")));
    return access.error().what;
  }

  TestFiles files_;
};

TEST_F(Kubeconfig, one_with_everything_inside_needs_no_other_file) {
  const auto access = read(
      "apiVersion: v1\nkind: Config\npreferences: {}\ncurrent-context: admin@dev\n"
      "clusters:\n- cluster:\n    certificate-authority-data: " +
      encode_base64(kTestCertificate) +
      "\n    server: https://dev.example:6443\n    tls-server-name: kubernetes\n  name: dev\n"
      "contexts:\n- context:\n    cluster: dev\n    namespace: training\n    user: admin\n  name: admin@dev\n"
      "users:\n- name: admin\n  user:\n    client-certificate-data: " +
      encode_base64(kTestCertificate) + "\n    client-key-data: " + encode_base64(kTestKey) +
      "\n    token: secret\n");
  ASSERT_TRUE(access) << access.error().what;
  EXPECT_EQ(net::to_string(access->server), "https://dev.example:6443");
  EXPECT_EQ(access->server_name, "kubernetes");
  EXPECT_EQ(access->authorities, kTestCertificate);
  EXPECT_EQ(access->certificate, kTestCertificate);
  EXPECT_EQ(access->key, kTestKey);
  EXPECT_EQ(access->token, "secret");
  EXPECT_EQ(access->name_space, "training");
  EXPECT_EQ(access->certificate_file, "");
  EXPECT_FALSE(access->trusts_any_server);
  EXPECT_EQ(files_.reads, 1);
}

TEST_F(Kubeconfig, relative_paths_begin_at_its_folder) {
  files_.texts["/home/ada/.kube/pki/ca.crt"] = kTestCertificate;
  files_.texts["/home/ada/.kube/../me.crt"] = kTestCertificate;
  files_.texts["/etc/me.key"] = kTestKey;
  files_.texts["/home/ada/.kube/token"] = "secret\n";
  const auto access = read(config_with("    certificate-authority: pki/ca.crt\n",
                                       "    client-certificate: ../me.crt\n    client-key: /etc/me.key\n"
                                       "    tokenFile: token\n    exec:\n      command: bin/login\n"
                                       "      apiVersion: client.authentication.k8s.io/v1\n"));
  ASSERT_TRUE(access) << access.error().what;
  EXPECT_EQ(access->authorities, kTestCertificate);
  EXPECT_EQ(access->authorities_file, "/home/ada/.kube/pki/ca.crt");
  EXPECT_EQ(access->certificate_file, "/home/ada/.kube/../me.crt");
  EXPECT_EQ(access->key, kTestKey);
  EXPECT_EQ(access->key_file, "/etc/me.key");
  EXPECT_EQ(access->token_file, "/home/ada/.kube/token");
  EXPECT_EQ(access->token, "secret");
  EXPECT_EQ(access->exec->command, "/home/ada/.kube/bin/login");
}

TEST_F(Kubeconfig, data_wins_over_the_file_of_the_same) {
  const auto access = read(config_with("    certificate-authority: gone\n    certificate-authority-data: " +
                                           encode_base64(kTestCertificate) + "\n",
                                       ""));
  ASSERT_TRUE(access) << access.error().what;
  EXPECT_EQ(access->authorities, kTestCertificate);
  EXPECT_EQ(access->authorities_file, "");
}

TEST_F(Kubeconfig, json_is_read_as_well) {
  const auto access = read(
      "{\n\t\"kind\": \"Config\", \"apiVersion\": \"v1\", \"current-context\": \"dev\",\n"
      "\t\"clusters\": [{\"name\": \"c\", \"cluster\": {\"server\": \"http:\\/\\/127.0.0.1:8001\"}}],\n"
      "\t\"contexts\": [{\"name\": \"dev\", \"context\": {\"cluster\": \"c\", \"user\": \"u\"}}],\n"
      "\t\"users\":[{\"name\":\"u\",\"user\":null}]\n}\n");
  ASSERT_TRUE(access) << access.error().what;
  EXPECT_FALSE(access->server.is_tls);
  EXPECT_EQ(access->server.port, 8001);
  EXPECT_EQ(access->name_space, "default");
  EXPECT_EQ(access->token, "");
}

TEST_F(Kubeconfig, an_exec_plugin_is_read_whole) {
  const auto access = read(config_with("", R"(    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      command: aws
      args: [--region, eu-central-1, eks, get-token]
      env: [{name: AWS_PROFILE, value: dev}]
      installHint: get it
      interactiveMode: IfAvailable
      provideClusterInfo: true
)"));
  ASSERT_TRUE(access) << access.error().what;
  ASSERT_TRUE(access->exec);
  EXPECT_EQ(access->exec->command, "aws");
  EXPECT_THAT(access->exec->arguments, ElementsAre("--region", "eu-central-1", "eks", "get-token"));
  EXPECT_THAT(access->exec->environment, ElementsAre(Pair("AWS_PROFILE", "dev")));
  EXPECT_EQ(access->exec->api_version, "client.authentication.k8s.io/v1beta1");
  EXPECT_TRUE(access->exec->wants_cluster);
}

TEST_F(Kubeconfig, an_exec_plugin_that_cannot_be_run_says_why) {
  const std::string begin =
      "    exec:\n      command: login\n      apiVersion: client.authentication.k8s.io/";
  EXPECT_EQ(problem("", begin + "v1\n      interactiveMode: Never\n"), "nothing");
  EXPECT_THAT(problem("", begin + "v1\n      interactiveMode: Always\n"), HasSubstr("needs a terminal"));
  EXPECT_THAT(problem("", begin + "v1\n      interactiveMode: Often\n"),
              HasSubstr("expected Never, IfAvailable"));
  EXPECT_THAT(problem("", begin + "v1alpha1\n"), HasSubstr("update the plugin"));
  EXPECT_THAT(problem("", begin + "v1\n      env: [{value: secret}]\n"),
              HasSubstr("expected the name of an environment variable"));
  EXPECT_THAT(problem("", begin + "v1\n      args: secret\n"), HasSubstr("`args`: expected a list"));
  EXPECT_THAT(problem("", begin + "v1\n      args: [[secret]]\n"), HasSubstr("expected a list of strings"));
  EXPECT_THAT(problem("", "    exec: {apiVersion: client.authentication.k8s.io/v1}\n"),
              HasSubstr("`command`: missing"));
  EXPECT_THAT(problem("    extensions: [{name: client.authentication.k8s.io/exec, extension: {a: b}}]\n",
                      begin + "v1\n      provideClusterInfo: true\n"),
              HasSubstr("is not passed on"));
}

TEST_F(Kubeconfig, what_is_not_supported_is_refused_with_the_cure) {
  EXPECT_THAT(problem("    proxy-url: http://secret:3128\n", ""),
              HasSubstr("config:11: cluster `c`: `proxy-url`: a proxy"));
  EXPECT_THAT(problem("", "    username: ada\n    password: secret\n"),
              HasSubstr("client certificate or an exec plugin"));
  EXPECT_THAT(problem("", "    auth-provider: {name: gcp}\n"), HasSubstr("gke-gcloud-auth-plugin"));
  EXPECT_THAT(problem("", "    as: system:admin\n"), HasSubstr("give this user the permissions"));
  EXPECT_THAT(problem("", "    as-groups: [system:masters]\n"), HasSubstr("give this user the permissions"));
  // As kubectl writes what is not set.
  EXPECT_EQ(
      problem("    proxy-url: \"\"\n", "    username: \"\"\n    as-groups: []\n    auth-provider: null\n"),
      "nothing");
}

TEST_F(Kubeconfig, a_server_that_cannot_be_checked_is_only_trusted_when_that_is_said) {
  const auto access = read(config_with("    insecure-skip-tls-verify: true\n", ""));
  ASSERT_TRUE(access) << access.error().what;
  EXPECT_TRUE(access->trusts_any_server);
  EXPECT_FALSE(read(config_with("    insecure-skip-tls-verify: false\n", ""))->trusts_any_server);
  EXPECT_THAT(problem("    insecure-skip-tls-verify: yes\n", ""), HasSubstr("expected true or false"));
  EXPECT_THAT(problem("    insecure-skip-tls-verify: true\n    certificate-authority: ca.crt\n", ""),
              HasSubstr("remove one of the two"));
}

TEST_F(Kubeconfig, keys_and_certificates_that_are_none_are_told_without_their_content) {
  const std::string secret = encode_base64("secret");
  EXPECT_THAT(problem("    certificate-authority-data: secret!\n", ""), HasSubstr("expected base64"));
  EXPECT_THAT(problem("    certificate-authority-data: " + secret + "\n", ""),
              HasSubstr("expected certificates in PEM"));
  EXPECT_THAT(problem("    certificate-authority: gone.crt\n", ""), HasSubstr("/home/ada/.kube/gone.crt"));
  EXPECT_THAT(problem("", "    client-certificate-data: " + encode_base64(kTestCertificate) + "\n"),
              HasSubstr("`client-key`: missing"));
  EXPECT_THAT(problem("", "    client-key-data: " + encode_base64(kTestKey) + "\n"),
              HasSubstr("`client-certificate`: missing"));
  EXPECT_THAT(problem("", "    client-certificate-data: " + encode_base64(kTestCertificate) +
                              "\n    client-key-data: " + secret + "\n"),
              HasSubstr("expected a private key"));
  EXPECT_THAT(problem("", "    token: [secret]\n"), HasSubstr("`token`: expected a string"));
  EXPECT_THAT(problem("", "    token: secret secret\n"), HasSubstr("`token`: the token contains spaces"));
  EXPECT_THAT(problem("", "    token: \"secret\\0\"\n"), HasSubstr("NUL"));
  EXPECT_THAT(problem("", "    tokenFile: gone\n"), HasSubstr("`tokenFile`: the file: No such file"));
  files_.texts["/home/ada/.kube/empty"] = "\n";
  EXPECT_THAT(problem("", "    tokenFile: empty\n"), HasSubstr("the token is empty"));
}

TEST_F(Kubeconfig, a_secret_in_the_place_of_its_file_is_not_shown) {
  EXPECT_THAT(problem("", "    tokenFile: secret\n"), HasSubstr("`tokenFile`: the file: No such file"));
  EXPECT_THAT(problem("", "    client-certificate-data: " + encode_base64(kTestCertificate) +
                              "\n    client-key: |\n      -----BEGIN PRIVATE KEY-----\n      secret\n"),
              HasSubstr("`client-key`: the file: No such file"));
}

TEST_F(Kubeconfig, an_address_that_is_none_is_told_without_what_may_stand_in_it) {
  for (const char* server :
       {"10.0.0.1:6443", "https://ada:secret@10.0.0.1", "https://a?token=secret", "\"\"", "[secret]"}) {
    std::string text = config_with("", "");
    const std::string good = "https://10.0.0.1:6443";
    text.replace(text.find(good), good.size(), server);
    const auto access = read(text);
    ASSERT_FALSE(access) << server;
    EXPECT_THAT(access.error().what, HasSubstr(":10: cluster `c`: `server`: expected an address"));
    EXPECT_THAT(access.error().what, Not(HasSubstr("secret")));
  }
}

TEST_F(Kubeconfig, all_that_is_wrong_is_told_at_once) {
  const std::string text = problem("    proxy-url: http://a\n", "    username: ada\n");
  EXPECT_THAT(text, HasSubstr("config:11: cluster `c`: `proxy-url`"));
  EXPECT_THAT(text, HasSubstr("config:16: user `u`: `username`"));
}

class KubeconfigContexts : public Kubeconfig {
 protected:
  const std::string text_ =
      "current-context: dev\n"
      "contexts:\n- {name: dev, context: {cluster: c, user: u}}\n- {name: prod, context: {cluster: p, user: "
      "u}}\n"
      "- {name: lost, context: {cluster: gone, user: nobody}}\n- {name: empty}\n"
      "clusters:\n- {name: c, cluster: {server: https://c}}\n- {name: p, cluster: {server: https://p}}\n"
      "- {name: broken, cluster: {server: none}}\n"
      "users:\n- {name: u, user: {token: secret}}\n";
};

TEST_F(KubeconfigContexts, the_one_that_was_named_wins_over_the_current_one) {
  EXPECT_EQ(read(text_)->server.host, "c");
  EXPECT_EQ(read(text_, "prod")->server.host, "p");
}

TEST_F(KubeconfigContexts, one_that_is_missing_is_told_with_those_that_are_there) {
  const auto access = read(text_, "stage");
  ASSERT_FALSE(access);
  EXPECT_EQ(access.error().code, Errc::malformed);
  EXPECT_THAT(access.error().what, HasSubstr("unknown context `stage`; contexts: dev, empty, lost, prod"));
  EXPECT_THAT(read("contexts: null\n").error().what, HasSubstr("use-context; contexts: none"));
  EXPECT_THAT(read("").error().what, HasSubstr("no `current-context`"));
}

TEST_F(KubeconfigContexts, names_that_lead_nowhere_are_told_with_their_line) {
  const std::string text = read(text_, "lost").error().what;
  EXPECT_THAT(text,
              HasSubstr("config:5: context `lost`: `cluster`: `clusters` has no `gone`, but: broken, c, p"));
  EXPECT_THAT(text, HasSubstr("`users` has no `nobody`, but: u"));
  EXPECT_THAT(read(text_, "empty").error().what, HasSubstr("config:6: context `empty`: `cluster`: missing"));
}

TEST_F(KubeconfigContexts, lists_that_are_none_are_told) {
  EXPECT_THAT(read("contexts: {}\nclusters: 5\n", "a").error().what,
              HasSubstr("config:1: kubeconfig: `contexts`: expected a list"));
  EXPECT_THAT(read("contexts: [5]\n", "a").error().what, HasSubstr("`contexts`: expected a map"));
  EXPECT_THAT(read("contexts: [{context: {}}]\n", "a").error().what, HasSubstr("`name`: missing"));
  EXPECT_THAT(read("contexts: [{name: a}, {name: a}]\n", "a").error().what, HasSubstr("duplicate name `a`"));
}

TEST_F(KubeconfigContexts, what_is_no_kubeconfig_is_refused) {
  EXPECT_THAT(read("kind: Pod\napiVersion: v1\n").error().what,
              HasSubstr("config:1: kubeconfig: `kind`: expected Config"));
  EXPECT_THAT(read("apiVersion: v2\n").error().what, HasSubstr("expected v1"));
  for (const std::string& text : {std::string("- a\n"), std::string("a: [\n"), std::string("\0\xff", 2),
                                  std::string(2 << 20, 'a'), std::string("text")}) {
    const auto access = read(text);
    ASSERT_FALSE(access) << text.substr(0, 20);
    EXPECT_EQ(access.error().code, Errc::malformed);
    EXPECT_THAT(access.error().what, StartsWith(kPath + ":"));
  }
}

TEST(KubeconfigPaths, the_variable_wins_over_the_home) {
  EXPECT_THAT(kubeconfig_paths("", "/home/ada"), ElementsAre("/home/ada/.kube/config"));
  EXPECT_THAT(kubeconfig_paths("/a", "/home/ada"), ElementsAre("/a"));
  EXPECT_THAT(kubeconfig_paths(":/a::/b:/a:", "/home/ada"), ElementsAre("/a", "/b"));
  EXPECT_THAT(kubeconfig_paths("", ""), IsEmpty());
}

class KubeconfigFiles : public ::testing::Test {
 protected:
  Result<Access> read(const std::string& context = "") {
    return read_kubeconfig(kubeconfig_paths("/a/config:/gone:/b/config", ""), context, files_.reader());
  }

  TestFiles files_{{{"/a/config",
                     "contexts:\n- {name: dev, context: {cluster: c, user: u}}\n"
                     "clusters:\n- {name: c, cluster: {server: https://first}}\n"},
                    {"/b/config",
                     "current-context: dev\n"
                     "contexts:\n- {name: dev, context: {cluster: c, user: u, namespace: late}}\n"
                     "- {name: prod, context: {cluster: c, user: u, namespace: serving}}\n"
                     "clusters:\n- {name: c, cluster: {server: https://second, tls-server-name: late}}\n"
                     "users:\n- {name: u, user: {tokenFile: token}}\n"},
                    {"/b/token", "secret"}},
                   {}};
};

TEST_F(KubeconfigFiles, the_first_of_a_name_counts_whole) {
  const auto access = read();
  ASSERT_TRUE(access) << access.error().what;
  EXPECT_EQ(access->server.host, "first");
  EXPECT_EQ(access->server_name, "");
  EXPECT_EQ(access->name_space, "default");
}

TEST_F(KubeconfigFiles, a_path_begins_at_the_folder_of_the_file_that_says_it) {
  EXPECT_EQ(read()->token_file, "/b/token");
}

TEST_F(KubeconfigFiles, the_first_current_context_counts) {
  files_.texts["/a/config"] += "current-context: prod\n";
  const auto access = read();
  ASSERT_TRUE(access) << access.error().what;
  EXPECT_EQ(access->name_space, "serving");
}

TEST_F(KubeconfigFiles, a_problem_names_the_file_that_has_it) {
  files_.texts.erase("/b/token");
  EXPECT_THAT(read().error().what, StartsWith("/b/config:8: user `u`: `tokenFile`"));
}

TEST_F(KubeconfigFiles, one_that_cannot_be_read_is_not_passed_over) {
  files_.broken["/gone"] = Errc::denied;
  const auto access = read();
  ASSERT_FALSE(access);
  EXPECT_EQ(access.error().code, Errc::denied);
  EXPECT_THAT(access.error().what, HasSubstr("/gone"));
}

TEST_F(KubeconfigFiles, without_any_of_them_there_is_none) {
  files_.texts.clear();
  const auto access = read();
  ASSERT_FALSE(access);
  EXPECT_EQ(access.error().code, Errc::not_found);
  EXPECT_THAT(access.error().what, HasSubstr("/a/config, /gone, /b/config"));
  EXPECT_EQ(read_kubeconfig({}, "", files_.reader()).error().code, Errc::not_found);
}

}  // namespace
}  // namespace autopilot::kube
