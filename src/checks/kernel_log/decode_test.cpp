// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/decode.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "checks/kernel_log/driver_advice.hpp"
#include "checks/kernel_log/nvidia_lines.hpp"
#include "core/parse.hpp"
#include "host/kernel_log/kmsg_source.hpp"
#include "tests/paths/paths.hpp"

namespace autopilot::checks {
namespace {

host::KernelRecord record(std::string_view text) {
  host::KernelRecord made;
  made.sequence = 17;
  made.text = host::clean_log_text(text);
  return made;
}

std::map<std::string, std::string> facts_of(const DecodedRecord& decoded) {
  std::map<std::string, std::string> facts;
  for (const auto& [name, value] : to_attributes(decoded))
    facts[name] = to_string(value);
  return facts;
}

// key=word or key="several words", separated by blanks.
std::map<std::string, std::string> parse_expectation(std::string_view text) {
  std::map<std::string, std::string> expected;
  while (!(text = trim(text)).empty()) {
    const auto equals = text.find('=');
    const std::string key(text.substr(0, equals));
    text.remove_prefix(equals + 1);
    const bool is_quoted = text.starts_with('"');
    if (is_quoted) text.remove_prefix(1);
    const auto end = std::min(text.find(is_quoted ? '"' : ' '), text.size());
    expected[key] = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return expected;
}

void expect_decoded(const std::string& line, std::string_view wanted, const std::string& place) {
  const auto decoded = builtin_decoder().decode(record(line));
  if (wanted == "none") {
    EXPECT_FALSE(decoded) << place << ": " << line;
    return;
  }
  ASSERT_TRUE(decoded) << place << ": " << line;
  auto expected = parse_expectation(wanted);
  auto facts = facts_of(*decoded);
  expected.try_emplace("injected", "false");
  for (const char* name : {"rule", "text", "class", "action"})
    if (!expected.contains(name)) facts.erase(name);
  for (const char* name : {"name", "line", "fromKernel"})
    facts.erase(name);
  EXPECT_EQ(facts, expected) << place << ": " << line;
}

// A corpus of lines, each with the source of its form, and what must be found in it.
class Corpus {
 public:
  void read(const std::filesystem::path& path) {
    std::ifstream stream(path);
    std::string source;
    std::string input;
    std::string line;
    for (int number = 1; std::getline(stream, line); ++number) {
      const std::string place = path.filename().string() + ":" + std::to_string(number);
      if (line.empty() || line.starts_with("# ")) continue;
      if (line.starts_with("@ ")) {
        source = line.substr(2);
      } else if (!line.starts_with("=> ")) {
        input = line;
        EXPECT_FALSE(source.empty()) << place << ": no source";
      } else {
        ++lines_;
        if (const auto rule = parse_expectation(std::string_view(line).substr(3)).extract("rule"))
          rules_.insert(rule.mapped());
        expect_decoded(input, std::string_view(line).substr(3), place);
      }
    }
  }
  [[nodiscard]] std::size_t lines() const { return lines_; }
  // Those that a line names.
  [[nodiscard]] const std::set<std::string>& rules() const { return rules_; }

 private:
  std::size_t lines_ = 0;
  std::set<std::string> rules_;
};

TEST(Decoder, finds_in_every_line_of_the_corpus_what_is_there) {
  Corpus corpus;
  for (const auto& file : std::filesystem::directory_iterator(paths::source("tests/golden/kernel_log")))
    if (file.path().extension() == ".txt") corpus.read(file.path());
  EXPECT_GE(corpus.lines(), 250U);
  for (const auto& rule : catalog::builtin().log_rules())
    EXPECT_TRUE(corpus.rules().contains(rule.id)) << rule.id << " has no line";
}

TEST(DecodeNvidia, tells_who_wrote_the_record) {
  auto written = record("NVRM: Xid (PCI:0000:3b:00): 79, x");
  EXPECT_TRUE(decode_nvidia(written)->from_kernel);
  EXPECT_EQ(decode_nvidia(written)->line, 17U);
  written.facility = 1;
  written.injected = true;
  EXPECT_FALSE(decode_nvidia(written)->from_kernel);
  EXPECT_TRUE(decode_nvidia(written)->injected);
  written.facility = 0;
  written.verified = false;
  EXPECT_FALSE(decode_nvidia(written)->from_kernel);
}

// Of lines that the driver writes whole.
TEST(Decoder, a_line_that_is_cut_says_nothing_worse_than_the_whole_one) {
  std::vector<std::string> lines{
      "NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 "
      "(None)",
      "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Non-fatal, Link 32 LTSSM Fault Up"};
  for (const char* file : {"nvlink5.txt", "xid_74.txt"}) {
    std::ifstream stream(paths::source(std::string("tests/golden/kernel_log/") + file));
    for (std::string line; std::getline(stream, line);)
      if (line.starts_with("NVRM: Xid")) lines.push_back(line);
  }
  EXPECT_GT(lines.size(), 50U);
  const auto& facts = catalog::builtin();
  for (const auto& line : lines) {
    const DriverAdvice whole = advice_on(facts, *builtin_decoder().decode(record(line)));
    // Behind the code: a part of it is another code.
    for (auto size = line.find(", "); size < line.size(); ++size) {
      const auto decoded = builtin_decoder().decode(record(line.substr(0, size)));
      ASSERT_TRUE(decoded) << line.substr(0, size);
      const DriverAdvice cut = advice_on(facts, *decoded);
      EXPECT_LE(cut.health, whole.health) << line.substr(0, size);
      EXPECT_TRUE(cut.now == whole.now || cut.now == Action::none) << line.substr(0, size);
    }
  }
}

TEST(DecodeNvidia, survives_every_prefix_of_every_form) {
  constexpr const char* kNvlink5 =
      "NVRM: Xid (PCI:0000:3b:00 GPU-I:05 GPU-CI:00): 145, pid=1, name=a, RLW Fatal XC1 i1 Link 1 (0x1 0x2)";
  for (const std::string_view line :
       {kNvlink5, "NVRM: Xid (PCI:0000:3b:00): 74, NVLink: fatal error detected on link 14(0x1, 0x0)",
        "NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (X)",
        "NVRM: Xid (PCI:0000:3b:00): 94, pid=1, name=a, Contained (0x9). RST: No, D-RST: No",
        "NVRM: API mismatch: the client 'x' (pid 1)", "NVRM: GPU at PCI:0000:03:00: GPU-1",
        "NVRM: The NVIDIA GPU 0000:b3:00.0 has fallen off the bus",
        "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Fatal, Link 32 x"})
    for (std::size_t size = 0; size <= line.size(); ++size)
      (void)decode_nvidia(record(line.substr(0, size)));
}

constexpr std::string_view kRules = R"(log_rules:
  - id: memory.oom
    kind: oom
    title: Out of memory
    pattern: 'Out of memory: Killed process (?P<pid>\d+) \((?P<process>.+?)\)'
    examples: ['Out of memory: Killed process 12 (python)']
    source: test
    date: 2026-11-21
    evidence: peer
  - id: pcie.aer
    kind: aer
    title: PCIe error
    pattern: '(?P<device>[0-9a-f:.]+): AER: (?P<severity>Corrected|Uncorrected)'
    examples: ['pcieport 0000:00:01.0: AER: Corrected error received']
    source: test
    date: 2026-11-21
    evidence: peer
  - id: test.late
    kind: other
    title: Killed
    pattern: 'Killed'
    examples: ['Killed']
    source: test
    date: 2026-11-21
    evidence: peer
)";

TEST(Decoder, uses_the_first_rule_that_matches_and_its_groups) {
  const auto facts = catalog::Catalog::parse({{"log_rules/test.yaml", std::string(kRules)}});
  ASSERT_TRUE(facts) << facts.error().what;
  const Decoder decoder(*facts);
  const auto oom = decoder.decode(record("Out of memory: Killed process 4242 (my (prog)) total-vm:1kB"));
  ASSERT_TRUE(oom);
  EXPECT_EQ(oom->kind, "oom");
  EXPECT_EQ(oom->rule, "memory.oom");
  EXPECT_EQ(oom->name, "Out of memory");
  EXPECT_EQ(oom->pid, 4242);
  EXPECT_EQ(oom->process, "my (prog");
  const auto aer =
      decoder.decode(record("pcieport 0000:00:01.0: AER: Corrected error received: 0000:03:00.0"));
  ASSERT_TRUE(aer);
  EXPECT_EQ(aer->pci, "0000:00:01.0");
  EXPECT_THAT(aer->attributes, testing::UnorderedElementsAre(testing::Pair("device", "0000:00:01.0"),
                                                             testing::Pair("severity", "Corrected")));
  EXPECT_EQ(decoder.decode(record("Killed"))->rule, "test.late");
  EXPECT_FALSE(decoder.decode(record("nothing of note")));
}

TEST(Decoder, knows_every_line_that_the_rules_give_as_example) {
  for (const auto& rule : catalog::builtin().log_rules())
    for (const std::string& example : rule.examples) {
      const auto decoded = builtin_decoder().decode(record(example));
      ASSERT_TRUE(decoded) << example;
      EXPECT_EQ(decoded->rule, rule.id) << example;
      EXPECT_EQ(decoded->kind, rule.kind) << example;
      EXPECT_EQ(decoded->name, rule.title) << example;
    }
}

TEST(Decoder, reads_by_rules_alone_what_a_driver_has_a_form_for) {
  catalog::Facts own;
  catalog::LogRule rule;
  rule.id = "own.xid";
  rule.pattern = "Xid .*: 79,";
  own.log_rules = {rule};
  const catalog::Catalog facts(std::move(own));
  const Decoder decoder(facts);
  const auto line = record("NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus.");
  EXPECT_EQ(decoder.decode(line)->code, 79);
  EXPECT_EQ(decoder.decode_by_rules(line)->rule, "own.xid");
}

TEST(Decoder, keeps_codes_that_the_catalog_does_not_know) {
  const auto facts = catalog::Catalog::parse({{"log_rules/test.yaml", std::string(kRules)}});
  ASSERT_TRUE(facts);
  const Decoder decoder(*facts);
  const auto unknown = decoder.decode(record("NVRM: Xid (PCI:0000:3b:00): 9999, what"));
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->code, 9999);
  EXPECT_EQ(unknown->fault_class, "unknown");
  EXPECT_EQ(unknown->action, Action::none);
}

TEST(Decoder, lets_the_drivers_verdict_decide_the_action) {
  const auto facts = catalog::Catalog::parse({{"log_rules/test.yaml", std::string(kRules)}});
  ASSERT_TRUE(facts);
  const Decoder decoder(*facts);
  const auto verdict =
      decoder.decode(record("NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to "
                            "0x4 (Drain and Reset)"));
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->action, Action::drain_then_reset_gpu);
}

}  // namespace
}  // namespace autopilot::checks
