// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/script/script.hpp"

#include <gtest/gtest.h>

#include "workloads/migrate/script/secrets.hpp"

namespace autopilot::workloads::migrate {
namespace {

std::vector<std::string> words_of_line(std::string_view text) {
  return split_directive(text).words;
}

TEST(SplitDirective, quotes_and_comments) {
  EXPECT_EQ(words_of_line(R"( -R "span[ptile=1] rusage[mem=1]" -q 'a b'   # comment -n 9)"),
            (std::vector<std::string>{"-R", "span[ptile=1] rusage[mem=1]", "-q", "a b"}));
  EXPECT_EQ(words_of_line(" -J name#1"), (std::vector<std::string>{"-J", "name#1"}));
  EXPECT_TRUE(words_of_line("   ").empty());
  EXPECT_FALSE(split_directive(" -J \"open").is_closed);
}

TEST(ReadScript, lsf_reads_directives_behind_commands_and_slurm_does_not) {
  Findings findings;
  const auto lsf = read_script("#!/bin/bash\n#BSUB -n 1\necho\n#BSUB -W 5\n", std::nullopt, findings);
  ASSERT_TRUE(lsf.has_value());
  EXPECT_EQ(lsf->words.size(), 4U);
  EXPECT_EQ(lsf->shebang, "/bin/bash");
  const auto slurm = read_script("#!/bin/bash\n#SBATCH -n 1\necho\n#SBATCH -t 5\n", std::nullopt, findings);
  ASSERT_TRUE(slurm.has_value());
  EXPECT_EQ(slurm->words.size(), 2U);
  EXPECT_TRUE(findings.has("M-LATE-DIRECTIVE"));
}

TEST(ReadScript, comments_that_resemble_directives) {
  Findings findings;
  const auto script = read_script(
      "#BSUB -n 1\n##BSUB -n 2\n#####BSUB -n 3\n#-BSUB -n 4\n# BSUB -n 5\n#bsub -n 6\n #BSUB -n 7\n",
      std::nullopt, findings);
  ASSERT_TRUE(script.has_value());
  EXPECT_EQ(script->directives.size(), 1U);
  EXPECT_EQ(findings.sorted().front().lines.size(), 6U);
}

TEST(ReadScript, heterogeneous_jobs) {
  Findings findings;
  const auto script = read_script("#SBATCH -N 16\n#SBATCH hetjob\n#SBATCH -N 2\n", std::nullopt, findings);
  ASSERT_TRUE(script.has_value());
  EXPECT_EQ(script->parts, 2U);
  EXPECT_EQ(script->words.back().part, 1U);
}

TEST(ReadScript, what_is_not_a_script) {
  Findings findings;
  EXPECT_EQ(read_script("", std::nullopt, findings).error().code, Errc::malformed);
  EXPECT_EQ(read_script(std::string("#SBATCH\0", 8), std::nullopt, findings).error().code, Errc::malformed);
  EXPECT_EQ(read_script(std::string(kMaxScriptBytes + 1, 'a'), std::nullopt, findings).error().code,
            Errc::exhausted);
  EXPECT_TRUE(read_script("", Scheduler::lsf, findings).has_value());
}

TEST(ReadScript, text_that_is_latin1_becomes_utf8) {
  Findings findings;
  const auto script = read_script(
      "#BSUB -n 1\necho gr\xfc\xdf"
      "e\n",
      std::nullopt, findings);
  ASSERT_TRUE(script.has_value());
  EXPECT_TRUE(findings.has("M-ENCODING"));
  EXPECT_EQ(script->body.front().text,
            "echo gr\xc3\xbc\xc3\x9f"
            "e");
}

std::string without(std::string_view text) {
  return remove_secrets(text).text;
}

TEST(RemoveSecrets, values_of_sensitive_names) {
  EXPECT_EQ(without("export WANDB_API_KEY=0123456789abcdef"), "export WANDB_API_KEY=${WANDB_API_KEY}");
  EXPECT_EQ(without("TOKEN=\"abc123def456\""), "TOKEN=\"${TOKEN}\"");
  EXPECT_EQ(without("DB_PASSWORD='correct-horse'"), "DB_PASSWORD=${DB_PASSWORD}");
  EXPECT_EQ(without("app --api-key=abc123def456 x"), "app --api-key=${API_KEY} x");
  EXPECT_EQ(without("git clone https://me:s3cret-word@host/x"),
            "git clone https://me:${URL_PASSWORD}@host/x");
  EXPECT_EQ(without("login ghp_abcdefghij0123456789"), "login ${GITHUB_TOKEN}");
}

TEST(RemoveSecrets, what_is_not_a_secret) {
  for (const std::string_view text :
       {"MAX_TOKENS=4096", "PAD_TOKEN='[PAD]1234567'", "API_KEY=$MY_KEY", "TOKEN=<your-token-1>",
        "SSH_PRIVATE_KEY=~/.ssh/id_rsa1", "KEY=value123456", "TOKENIZER=llama-2-7b-hf",
        "module load sk-learn/1.0"})
    EXPECT_EQ(without(text), text);
}

TEST(RemoveSecrets, a_private_key_keeps_no_line) {
  const auto cleaned =
      remove_secrets("a\n-----BEGIN RSA PRIVATE KEY-----\nMIIB\nabcd\n-----END RSA PRIVATE KEY-----\nb\n");
  EXPECT_EQ(cleaned.text, "a\n${PRIVATE_KEY}\n\n\n\nb\n");
  EXPECT_EQ(cleaned.secrets.size(), 1U);
}

}  // namespace
}  // namespace autopilot::workloads::migrate
