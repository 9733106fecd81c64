// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/script/secrets.hpp"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>

#include "core/parse.hpp"
#include "workloads/migrate/migrate.hpp"
#include "workloads/migrate/script/secret_names.hpp"

namespace autopilot::workloads::migrate {
namespace {

// Everything that a migration gives away.
std::string everything(const Migration& migration) {
  std::string text = manifest_stream(migration) + migration.script;
  for (const DirectiveRow& row : migration.rows)
    text += row.directive + row.becomes;
  for (const ScriptFinding& finding : migration.findings)
    text += finding.what + finding.cure;
  for (const auto& [name, value] : migration.job.variables)
    text += name + value;
  return text;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// @ is the secret.
constexpr std::array<std::string_view, 66> kForms{{
    "export PGPASSWORD=@",
    "SSHPASS=@ sshpass -e ssh host",
    "MYSQL_PWD=@ mysql",
    "SMTP_PASS='@'",
    "MY_PASS=\"@\"",
    "DBPASS=@",
    "export KAGGLE_KEY=@",
    "WANDB_KEY=@",
    "AZURE_STORAGE_KEY=@",
    "AZURE_STORAGE_CONNECTION_STRING=\"DefaultEndpointsProtocol=https;AccountKey=@;EndpointSuffix=x\"",
    "HTTP_AUTH=@",
    "GOOGLE_CREDENTIAL=@",
    "train --wandb_key=@ --x",
    "train --api-key @ --x",
    "train --password='@'",
    "train --password \\\n  @ --x",
    "sshpass -p @ ssh me@host",
    "sshpass -p'@' ssh me@host",
    "mysql -u root -p@ base",
    "mysqldump -u root \\\n  -p@ base",
    "curl -u me:@ https://host/x",
    "curl -s --user 'me:@' https://host/x",
    "curl --user=me:@ https://host/x",
    "az login -u me -p @",
    "docker login -u me -p @ host",
    "echo @ | docker login --password-stdin host",
    "echo '@' | sudo -S apt-get install x",
    "sudo -S ls <<< \"@\"",
    "printf '%s\\n' '@' | sudo -S ls",
    "cat > ~/.netrc <<EOF\nmachine host login me password @\nEOF",
    "cat > ~/.netrc <<EOF\nmachine host\n  login me\n  password @\nEOF",
    "cat > ~/.my.cnf <<EOF\npassword = @\nEOF",
    "cat > x.yaml <<EOF\ndb:\n  password: @\n  api_key: \"@\"\nEOF",
    "python - <<EOF\nimport os\nos.environ[\"HF_TOKEN\"] = \"@\"\nos.environ['HF_TOKEN']='@'\nEOF",
    "python - <<EOF\nos.environ.setdefault(\"HF_TOKEN\", \"@\")\nEOF",
    "python -c \"import x; x.login(token='@')\"",
    "python -c 'import x; x.login(token=\"@\")'",
    "bash -c \"export DB_PASSWORD=@; run\"",
    "bash -c \"export DB_PASSWORD=\\\"@\\\"; run\"",
    "bash -c 'export DB_PASSWORD=@; run'",
    "cat > x.json <<EOF\n{\"user\": \"x\", \"password\": \"@\"}\nEOF",
    "curl https://hooks.slack.com/services/T000/B000/@ -d x",
    "curl -H \"Authorization: Bearer @\" https://host",
    "curl -H 'X-Api-Key: @' https://host",
    "git clone https://me:@@host/x",
    "setenv HF_TOKEN @",
    "wandb login @",
    "wandb login --relogin @",
    "redis-cli -a @ ping",
    "openssl enc -pass pass:@ -in x",
    "export A_TOKEN=${A_TOKEN:-@}",
    ": \"${DB_PASSWORD:=@}\"",
    "API_KEY=\"${K:-@}\"",
    "# don't forget: PASSWORD='@'",
    "# HF_TOKEN=@",
    "TOKEN=@\ntouch /tmp/@",
    "DB_PASSWORD=/@",
    "DB_PASSWORD=\"/my @\"",
    "DB_PASSWORD=\"my @ rest\"",
    "DB_PASSWORD=my\\ @",
    "DB_PASSWORD=\"Exchange@\"",
    "DB_PASSWORD=your@",
    "DB_PASSWORD=\"none@todo,false\"",
    "WANDB_API_KEY=todo@",
    "curl 'https://x/y?api_key=@&z=1'",
    "DB_PASSWORD='$@'",
}};
constexpr std::array<std::string_view, 5> kDirectives{{
    "#SBATCH --export=ALL,PGPASSWORD=@",
    "#SBATCH --export=ALL,PGPASSWORD=@,OTHER=1",
    "#SBATCH --export=\"ALL,PGPASSWORD=@\"",
    "#SBATCH --comment=\"token=@\"",
    "#SBATCH --wrap=\"mysql -p@\"",
}};
constexpr std::array<std::string_view, 3> kValues{
    {"Zq9vR2tLk8Wm4XsB", "2024!rateQQ77xz", "0123456789abcdef0123456789abcdef01234567"}};

TEST(RemoveSecrets, a_secret_of_any_form_is_in_no_result) {
  for (const std::string_view value : kValues) {
    for (const std::string_view form : kForms) {
      const std::string script = "#!/bin/bash\n#SBATCH -n 1\n" +
                                 replaced(replaced(std::string(form), "me@host", "me%host"), "@@", "@%");
      const auto made = migrate(replaced(replaced(script, "@", value), "%host", "@host"), {});
      ASSERT_TRUE(made.has_value()) << form;
      EXPECT_EQ(everything(*made).find(value), std::string::npos) << form << "\n" << made->script;
      EXPECT_TRUE(made->needs_decision) << form;
    }
    for (const std::string_view form : kDirectives) {
      const auto made =
          migrate("#!/bin/bash\n#SBATCH -n 1\n" + replaced(std::string(form), "@", value) + "\nrun\n", {});
      ASSERT_TRUE(made.has_value()) << form;
      EXPECT_EQ(everything(*made).find(value), std::string::npos) << form << "\n" << made->script;
    }
  }
}

TEST(RemoveSecrets, two_values_of_one_name_have_two_keys) {
  const TextWithoutSecrets clean =
      remove_secrets("TOKEN=abc123def456\nTOKEN=xyz789uvw012\nTOKEN=abc123def456\n");
  EXPECT_EQ(clean.text, "TOKEN=${TOKEN}\nTOKEN=${TOKEN_2}\nTOKEN=${TOKEN}\n");
  ASSERT_EQ(clean.secrets.size(), 3U);
  EXPECT_EQ(clean.secrets[1].variable, "TOKEN_2");
}

TEST(RemoveSecrets, two_values_of_an_exported_variable_come_from_two_keys) {
  const auto made =
      migrate("#!/bin/bash\n#SBATCH --export=ALL,TOKEN=abc123def456\nTOKEN=xyz789uvw012 run\n", {});
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(manifest_stream(*made).find("value: ${TOKEN"), std::string::npos);
  EXPECT_NE(manifest_stream(*made).find("key: TOKEN_2"), std::string::npos);
}

TEST(RemoveSecrets, the_quotes_of_the_shell_still_fit) {
  const auto text = [](std::string_view script) { return remove_secrets(script).text; };
  EXPECT_EQ(text("x --password='a b c1' y"), "x --password=\"${PASSWORD}\" y");
  EXPECT_EQ(text("bash -c 'DB_PASSWORD=abc123 run'"), "bash -c 'DB_PASSWORD='\"${DB_PASSWORD}\"' run'");
  EXPECT_EQ(text("curl -u me:abc123 x"), "curl -u \"me:${CURL_PASSWORD}\" x");
  EXPECT_EQ(text("echo abc123 | sudo -S ls"), "echo ${SUDO_PASSWORD} | sudo -S ls");
}

TEST(RemoveSecrets, other_names_and_placeholders_stay) {
  for (const std::string_view text : {"TOKENIZERS_PARALLELISM=false1",
                                      "MAX_TOKENS=4096000000",
                                      "NUM_KEYS=8",
                                      "KEY_DIM=64",
                                      "KEYBOARD=layout1234",
                                      "PASSES=12",
                                      "AUTHOR=someone1234567890123",
                                      "PWD=/home/me",
                                      "cd $PWD",
                                      "DB_PASSWORD=<password>",
                                      "DB_PASSWORD=changeme",
                                      "TOKEN=your_token_here_please",
                                      "TOKEN=xxxxxxxxxxxx",
                                      "DB_PASSWORD=\"\"",
                                      "DB_PASSWORD=$VAR",
                                      "DB_PASSWORD=${VAR}",
                                      "DB_PASSWORD=$(cat file1)",
                                      "SSH_KEY=/home/me/.ssh/key1",
                                      "mysql -u root -p base1",
                                      "ssh -p 2222 host",
                                      "docker run -p 8080:80 image1",
                                      "train --key-dim 1024",
                                      "PASSWORD_FILE=/run/secrets/x1",
                                      "docker login --password-stdin host1",
                                      "mkdir -p out1",
                                      "echo pass 1",
                                      "train --sort-key=column12",
                                      "python x.py --max-tokens 1000000000 --num-keys 3",
                                      "BYPASS=always"})
    EXPECT_EQ(remove_secrets(text).text, text);
}

TEST(Migrate, directories_in_options_are_findings) {
  for (const std::string_view option :
       {"-cwd /gpfs/x", "-i /gpfs/x/in", "-o /gpfs/x/%J.out", "-E /gpfs/x/prepare"}) {
    const auto made = migrate("#!/bin/bash\n#BSUB " + std::string(option) + "\nrun\n", {});
    ASSERT_TRUE(made.has_value());
    EXPECT_EQ(std::count_if(made->findings.begin(), made->findings.end(),
                            [](const ScriptFinding& finding) {
                              return finding.id == "M-SITE-PATH" && finding.lines == std::vector<int>{2};
                            }),
              1)
        << option;
  }
}

TEST(Migrate, a_latin1_script_gives_utf8) {
  const auto made = migrate("#!/bin/bash\n#SBATCH -J gr\xfc\n# \xe9t\xe9\nrun\n", {});
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(to_utf8(manifest_stream(*made)), manifest_stream(*made));
  EXPECT_NE(made->script.find("\xc3\xa9t\xc3\xa9"), std::string::npos);
}

}  // namespace
}  // namespace autopilot::workloads::migrate
