// SPDX-License-Identifier: Apache-2.0
#include "catalog/catalog.hpp"

#include <algorithm>
#include <fstream>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <re2/re2.h>
#include <set>
#include <sstream>

#include "catalog/compact.hpp"
#include "catalog/log_rules.hpp"
#include "tests/paths/paths.hpp"

namespace autopilot::catalog {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string problems_of(const std::string& name, const std::string& text) {
  const auto catalog = Catalog::parse({{name, text}});
  return catalog ? "" : catalog.error().what;
}

TEST(BuiltinCatalog, is_what_its_files_say) {
  const auto parsed = Catalog::parse(builtin_files());
  ASSERT_TRUE(parsed) << parsed.error().what;
  EXPECT_EQ(to_compact(*parsed), to_compact(builtin()));
}

TEST(BuiltinCatalog, holds_the_files_of_this_checkout) {
  for (const auto& [name, text] : builtin_files()) {
    std::ifstream in(paths::source("catalog/" + name), std::ios::binary);
    std::stringstream content;
    content << in.rdbuf();
    EXPECT_TRUE(in) << name;
    EXPECT_EQ(content.str(), text) << name;
  }
}

TEST(BuiltinCatalog, finds_by_id) {
  const Catalog& catalog = builtin();
  ASSERT_NE(catalog.reason("row_remap_pending"), nullptr);
  EXPECT_EQ(catalog.reason("row_remap_pending")->action, Action::drain_then_reset_gpu);
  EXPECT_EQ(catalog.reason("row_remap_pending")->max_health, Health::degraded);
  EXPECT_EQ(catalog.reason("row_remap_failed")->clear, ClearRule::replaced);
  EXPECT_EQ(catalog.reason("no_such_reason"), nullptr);
  ASSERT_NE(catalog.threshold("gpu.throttle.hw_thermal_share"), nullptr);
  EXPECT_EQ(catalog.threshold("gpu.throttle.hw_thermal_share")->unit, "ratio");
  EXPECT_EQ(catalog.threshold(""), nullptr);
  ASSERT_NE(catalog.profile("local"), nullptr);
  EXPECT_EQ(catalog.profile("local")->required.size(), 7u);
  EXPECT_EQ(catalog.profile("none"), nullptr);
}

TEST(BuiltinCatalog, what_could_not_be_seen_is_never_a_fault) {
  for (const Reason& reason : builtin().reasons()) {
    if (reason.checks != std::vector<std::string>{std::string(kAnyCheck)}) continue;
    EXPECT_TRUE(reason.max_health == Health::unknown || reason.max_health == Health::unsupported)
        << reason.id;
    EXPECT_EQ(reason.action, Action::none) << reason.id;
    EXPECT_EQ(reason.confidence, 0) << reason.id;
  }
}

TEST(BuiltinCatalog, every_failed_reason_has_evidence_from_elsewhere_or_is_no_number) {
  for (const Threshold& threshold : builtin().thresholds())
    if (threshold.max_health == Health::failed) {
      EXPECT_NE(threshold.provenance.evidence, EvidenceKind::own) << threshold.id;
    }
}

TEST(BuiltinCatalog, tells_models_apart_by_their_whole_name) {
  ASSERT_NE(builtin().gpu_model("NVIDIA H200"), nullptr);
  EXPECT_EQ(builtin().gpu_model("NVIDIA H200")->nvlinks, 18);
  EXPECT_EQ(builtin().gpu_model("NVIDIA GH200 480GB"), nullptr);
  EXPECT_EQ(builtin().gpu_model("NVIDIA A100 80GB PCIe")->nvlinks, 0);
  EXPECT_FALSE(builtin().gpu_model("Tesla T4")->row_remap);
}

TEST(BuiltinCatalog, what_a_model_can_do_is_its_own) {
  const auto memory_of = [](const char* name) -> std::optional<double> {
    const GpuModel* model = builtin().gpu_model(name);
    if (model == nullptr || !model->peaks) return std::nullopt;
    return model->peaks->memory_gigabytes_per_second;
  };
  EXPECT_EQ(memory_of("NVIDIA H200"), 4800);
  EXPECT_EQ(memory_of("NVIDIA GH200 480GB"), std::nullopt);
  EXPECT_EQ(memory_of("NVIDIA H100 80GB HBM3"), 3350);
  EXPECT_EQ(memory_of("NVIDIA H100 96GB HBM3"), std::nullopt);  // another memory
  EXPECT_LT(memory_of("NVIDIA A100-SXM4-40GB"), memory_of("NVIDIA A100-SXM4-80GB"));
  EXPECT_EQ(builtin().gpu_model("NVIDIA A10")->peaks->bf16_teraflops, 125);
  EXPECT_EQ(builtin().gpu_model("NVIDIA A10G")->peaks->bf16_teraflops, std::nullopt);
  EXPECT_EQ(builtin().gpu_model("Tesla V100-PCIE-16GB")->peaks->bf16_teraflops, std::nullopt);
}

TEST(BuiltinCatalog, the_models_of_data_centres_have_peaks_to_be_compared_with) {
  for (const char* name :
       {"Tesla V100-SXM2-16GB", "Tesla V100-SXM2-32GB", "NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB",
        "NVIDIA H100 80GB HBM3", "NVIDIA H100 PCIe", "NVIDIA H200", "NVIDIA B200", "Tesla T4", "NVIDIA L4",
        "NVIDIA L40S", "NVIDIA A10", "NVIDIA A40", "NVIDIA RTX A6000"}) {
    const GpuModel* model = builtin().gpu_model(name);
    ASSERT_NE(model, nullptr) << name;
    ASSERT_TRUE(model->peaks.has_value()) << name;
    EXPECT_TRUE(model->peaks->memory_gigabytes_per_second.has_value()) << name;
    EXPECT_TRUE(model->peaks->pcie_generation.has_value()) << name;
  }
  for (const char* name : {"Tesla V100-SXM2-16GB", "NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3",
                           "NVIDIA H200", "NVIDIA B200"})
    EXPECT_TRUE(builtin().gpu_model(name)->peaks->fp64_teraflops.has_value()) << name;
  for (const char* name : {"NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3", "NVIDIA H200", "NVIDIA B200",
                           "NVIDIA L4", "NVIDIA L40S", "NVIDIA A10", "NVIDIA A40", "NVIDIA RTX A6000"})
    EXPECT_TRUE(builtin().gpu_model(name)->peaks->bf16_teraflops.has_value()) << name;
}

TEST(BuiltinCatalog, peaks_are_in_the_order_of_magnitude_of_their_unit) {
  for (const GpuModel& model : builtin().gpu_models()) {
    if (!model.peaks) continue;
    EXPECT_FALSE(model.peaks->provenance.source.empty()) << model.id;
    EXPECT_GE(model.peaks->memory_gigabytes_per_second.value_or(300), 300) << model.id;
    EXPECT_LE(model.peaks->fp64_teraflops.value_or(0), model.peaks->fp64_tensor_teraflops.value_or(100))
        << model.id;
    EXPECT_GE(model.peaks->bf16_teraflops.value_or(100), 100) << model.id;
  }
}

TEST(BuiltinCatalog, narrow_counters_saturate) {
  ASSERT_NE(builtin().counter("infiniband.link_downed"), nullptr);
  EXPECT_EQ(builtin().counter("infiniband.link_downed")->saturation(), 255u);
  EXPECT_EQ(builtin().counter("infiniband.local_link_integrity_errors")->saturation(), 15u);
  EXPECT_EQ(builtin().counter("infiniband.port_xmit_data")->saturation(), std::nullopt);
}

TEST(BuiltinCatalog, every_check_has_a_page_and_a_reason) {
  for (const CheckPage& page : builtin().checks()) {
    const auto& reasons = builtin().reasons();
    EXPECT_TRUE(std::any_of(reasons.begin(), reasons.end(), [&page](const Reason& reason) {
      return std::find(reason.checks.begin(), reason.checks.end(), page.id) != reason.checks.end();
    })) << page.id;
  }
}

TEST(BuiltinCatalog, knows_every_code_of_the_driver) {
  for (std::uint32_t code = 1; code <= 176; ++code)
    EXPECT_NE(builtin().xid(code), nullptr) << code;
  EXPECT_EQ(builtin().xid(0), nullptr);
  EXPECT_EQ(builtin().xid(177), nullptr);
  for (const std::uint32_t code : {48U, 64U, 79U, 95U, 119U, 120U, 140U, 143U, 158U, 167U})
    EXPECT_EQ(builtin().xid(code)->health, Health::failed) << code;
  EXPECT_EQ(builtin().xid(63)->health, Health::degraded);
  EXPECT_EQ(builtin().xid(94)->health, Health::degraded);
  EXPECT_EQ(builtin().xid(45)->classes.front(), "sympathetic");
  EXPECT_EQ(builtin().xid(154)->classes.front(), "verdict");
}

TEST(BuiltinCatalog, knows_every_switch_code_that_the_vendor_treats_in_its_own_way) {
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> codes{
      {10001, 10005}, {11001, 11001}, {11004, 11004}, {11009, 11009}, {11012, 11013}, {11018, 11023},
      {12001, 12002}, {12020, 12028}, {12030, 12032}, {14017, 14017}, {15001, 15001}, {15006, 15006},
      {15008, 15013}, {19047, 19049}, {19054, 19071}, {19084, 19084}, {20001, 20001}, {20009, 20009},
      {20012, 20012}, {20034, 20034}, {22003, 22003}, {22011, 22013}, {23001, 23017}, {24001, 24007},
      {25010, 25010}, {26001, 26008}, {27001, 27007}, {28001, 28005}};
  for (const auto& [first, last] : codes)
    for (std::uint32_t code = first; code <= last; ++code) {
      const Sxid* sxid = builtin().sxid(code);
      ASSERT_NE(sxid, nullptr) << code;
      EXPECT_FALSE(sxid->is_unit()) << code;
      EXPECT_NE(sxid->classes.front(), "unknown") << code;
    }
  EXPECT_EQ(builtin().sxid(12020)->action_now, Action::reboot_node);
  EXPECT_EQ(builtin().sxid(11004)->classes.front(), "app");
}

TEST(BuiltinCatalog, a_switch_code_without_entry_is_an_event_of_its_unit) {
  for (std::uint32_t unit = 10; unit <= 30; ++unit) {
    const Sxid* sxid = builtin().sxid(unit * 1000 + 999);
    ASSERT_NE(sxid, nullptr) << unit;
    EXPECT_TRUE(sxid->is_unit());
    EXPECT_EQ(sxid->classes.front(), "unknown");
    EXPECT_EQ(sxid->health, Health::healthy);
    EXPECT_EQ(sxid->action_now, Action::none);
  }
  EXPECT_EQ(builtin().sxid(9999), nullptr);
  EXPECT_EQ(builtin().sxid(31000), nullptr);
}

TEST(BuiltinCatalog, knows_which_errors_end_others) {
  EXPECT_EQ(builtin().xid(162)->takes_back, std::vector<std::uint32_t>{163});
  for (const Xid& xid : builtin().xids())
    if (xid.code != 162) {
      EXPECT_TRUE(xid.takes_back.empty()) << xid.code;
    }
}

TEST(BuiltinCatalog, knows_every_reason_for_which_a_link_goes_down) {
  EXPECT_EQ(builtin().link_down_reasons().size(), 21U);
  ASSERT_NE(builtin().link_down_reason(35), nullptr);
  EXPECT_EQ(builtin().link_down_reason(35)->id, "peer_hot");
  EXPECT_EQ(builtin().link_down_reason(38)->action_now, Action::none);
  EXPECT_EQ(builtin().link_down_reason(3), nullptr);
}

TEST(BuiltinCatalog, errors_of_dcgm_that_tell_of_no_hardware_do_not_evict) {
  std::map<std::uint32_t, const DcgmError*> errors;
  for (const DcgmError& error : builtin().dcgm_errors())
    errors[error.number] = &error;
  EXPECT_EQ(errors.size(), 118U);
  for (const std::uint32_t number : {45U, 46U, 47U, 51U, 55U, 56U, 101U}) {
    ASSERT_TRUE(errors.contains(number));
    EXPECT_FALSE(errors[number]->evicts) << errors[number]->name;
  }
  EXPECT_EQ(errors[101]->says, "xid");
  // What NVIDIA says to isolate or to reset counts, but for processes that somebody left on a GPU.
  for (const auto& [number, error] : errors)
    if (error->severity == "isolate" || (error->severity == "reset" && error->name != "GRAPHICS_PROCESSES")) {
      EXPECT_TRUE(error->evicts) << error->name;
    }
}

TEST(BuiltinCatalog, every_unit_of_an_nvlink_has_one_number_in_each_layout) {
  std::map<std::string, std::vector<std::uint32_t>> numbers;
  for (const NvLinkError& error : builtin().nvlink_errors()) {
    EXPECT_NE(builtin().xid(error.xid), nullptr) << error.id;
    for (const std::string& unit : error.units) {
      const std::vector<std::uint32_t> mine{error.xid, static_cast<std::uint32_t>(error.block_v1),
                                            static_cast<std::uint32_t>(error.unit_v1),
                                            static_cast<std::uint32_t>(error.unit_v2)};
      EXPECT_EQ(numbers.try_emplace(unit, mine).first->second, mine) << error.id;
    }
  }
  EXPECT_EQ(numbers.at("RLW_SRC_TRACK"), (std::vector<std::uint32_t>{145, 2, 7, 7}));
  EXPECT_EQ(numbers.at("TLW_TX_PIPE1"), (std::vector<std::uint32_t>{146, 3, 11, 13}));
}

TEST(BuiltinCatalog, a_fault_of_a_program_never_takes_a_gpu_out_of_service) {
  for (const Xid& xid : builtin().xids()) {
    const std::string& first = xid.classes.front();
    if (first != "app" && first != "sympathetic" && first != "info" && first != "unknown") continue;
    EXPECT_EQ(xid.health, Health::healthy) << xid.code;
    EXPECT_LT(xid.confidence, 0.5) << xid.code;
    EXPECT_FALSE(takes_device_out_of_service(xid.action_now)) << xid.code;
  }
}

TEST(BuiltinCatalog, every_class_of_xid_has_its_reason) {
  for (const std::string& word : xid_classes())
    EXPECT_NE(builtin().reason("xid_" + word), nullptr) << word;
  for (const Xid& xid : builtin().xids()) {
    const Reason* reason = builtin().reason("xid_" + xid.classes.front());
    ASSERT_NE(reason, nullptr) << xid.code;
    if (xid.health == Health::failed) {
      EXPECT_EQ(reason->max_health, Health::failed) << xid.code;
    }
  }
}

std::set<std::string> reasons_that_stand_alone() {
  std::set<std::string> reasons;
  std::ifstream in(paths::source("tests/golden/causes/alone.txt"));
  EXPECT_TRUE(in);
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && line.front() != '#') reasons.insert(line);
  return reasons;
}

TEST(BuiltinCatalog, every_reason_belongs_to_a_cause_or_is_named_as_standing_alone) {
  std::set<std::string> of_causes;
  for (const Cause& cause : builtin().causes())
    for (const auto* words : {&cause.roots, &cause.takes, &cause.takes_anywhere, &cause.explains})
      of_causes.insert(words->begin(), words->end());
  const std::set<std::string> alone = reasons_that_stand_alone();
  for (const Reason& reason : builtin().reasons())
    EXPECT_NE(of_causes.contains(reason.id), alone.contains(reason.id))
        << reason.id << ": stands either in a rule of catalog/causes.yaml or in "
        << "tests/golden/causes/alone.txt; write what it follows from or what follows from it, or that it "
        << "stands alone";
  for (const std::string& reason : alone)
    EXPECT_NE(builtin().reason(reason), nullptr) << "alone.txt: there is no reason " << reason;
}

TEST(BuiltinCatalog, the_first_log_rule_that_matches_an_example_is_its_own) {
  for (const LogRule& rule : builtin().log_rules())
    for (const std::string& example : rule.examples)
      for (const LogRule& other : builtin().log_rules()) {
        if (!RE2::PartialMatch(example, other.pattern)) continue;
        EXPECT_EQ(other.id, rule.id) << example;
        break;
      }
}

TEST(BuiltinCatalog, log_rules_leave_ordinary_lines_alone) {
  for (const std::string line :
       {"Linux version 6.1.0-18-amd64 (gcc-12 (Debian 12.2.0-14) 12.2.0)",
        "traps: Missing ENDBR: bpf_testmod+0x0",
        "EXT4-fs (sda1): mounted filesystem with ordered data mode. Quota mode: none.",
        "EXT4-fs (sda1): re-mounted. Opts: errors=remount-ro", "nvme nvme0: 8/0/0 default/read/poll queues",
        "XFS (nvme1n1): Ending clean mount", "mlx5_core 0000:3b:00.0: firmware version: 22.35.1012",
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023",
        "NVRM: Xid (PCI:0000:05:00): 79, pid=1234, name=python3, GPU has fallen off the bus.",
        "pcieport 0000:00:1c.0: AER: enabled with IRQ 123", "EDAC MC0: Giving out device to module skx_edac"})
    for (const LogRule& rule : builtin().log_rules()) {
      if (rule.fault_class == "info") continue;
      EXPECT_FALSE(RE2::PartialMatch(line, rule.pattern)) << rule.id << ": " << line;
    }
}

constexpr const char* kThreshold = R"(thresholds:
  - id: gpu.ecc.corrected
    value: 5
    unit: count
    meaning: Errors.
    max_health: degraded
    source: somebody
    date: 2026-11-21
    evidence: own
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(ParseCatalog, accepts_a_sound_entry) {
  const auto catalog = Catalog::parse({{"thresholds.yaml", kThreshold}});
  ASSERT_TRUE(catalog) << catalog.error().what;
  ASSERT_NE(catalog->threshold("gpu.ecc.corrected"), nullptr);
  EXPECT_EQ(catalog->threshold("gpu.ecc.corrected")->value, 5);
  EXPECT_EQ(catalog->threshold("gpu.ecc.corrected")->provenance.source, "somebody");
}

TEST(ParseCatalog, refuses_entries_without_source_date_or_evidence) {
  EXPECT_THAT(problems_of("thresholds.yaml", replaced(kThreshold, "    source: somebody\n", "")),
              HasSubstr("thresholds.yaml:2: threshold: `source` is missing"));
  EXPECT_THAT(problems_of("thresholds.yaml", replaced(kThreshold, "    date: 2026-11-21\n", "")),
              HasSubstr("`date` is missing"));
  EXPECT_THAT(problems_of("thresholds.yaml", replaced(kThreshold, "    evidence: own\n", "")),
              HasSubstr("`evidence` is missing"));
  EXPECT_THAT(problems_of("thresholds.yaml", replaced(kThreshold, "2026-11-21", "last year")),
              HasSubstr("thresholds.yaml:8: `date`: expected a day"));
}

TEST(ParseCatalog, refuses_unknown_keys_words_and_types_all_at_once) {
  std::string text = replaced(kThreshold, "value: 5", "value: five");
  text = replaced(text, "max_health: degraded", "max_health: bad");
  text = replaced(text, "unit: count", "unitt: count");
  const std::string problems = problems_of("thresholds.yaml", text);
  EXPECT_THAT(problems, HasSubstr("thresholds.yaml:3: threshold: `value`: expected a number, found `five`"));
  EXPECT_THAT(problems, HasSubstr("thresholds.yaml:6: threshold: `max_health`: unknown value `bad`"));
  EXPECT_THAT(problems, HasSubstr("thresholds.yaml:4: threshold: unknown key `unitt`; did you mean `unit`?"));
}

TEST(ParseCatalog, an_unproven_number_of_our_own_may_not_say_failed) {
  EXPECT_THAT(problems_of("thresholds.yaml", replaced(kThreshold, "degraded", "failed")),
              HasSubstr("thresholds.yaml:6: `max_health`: an unproven threshold"));
}

TEST(ParseCatalog, an_unproven_reason_of_our_own_may_not_say_failed) {
  constexpr std::string_view kText = R"(reasons:
  - id: broken
    title: Broken
    checks: [gpu.ecc]
    meaning: It is broken.
    cure: Mend it.
    disproof: It works.
    action: none
    max_health: degraded
    confidence: 0.5
    clear: healthy_rounds
    source: somebody
    date: 2026-11-21
    evidence: own
)";
  const std::string failed = replaced(std::string(kText), "degraded", "failed");
  EXPECT_THAT(problems_of("reasons.yaml", failed),
              HasSubstr("reasons.yaml:9: `max_health`: an unproven reason"));
  EXPECT_THAT(problems_of("reasons.yaml", replaced(failed, "own", "peer")),
              ::testing::Not(HasSubstr("unproven reason")));
  EXPECT_THAT(problems_of("reasons.yaml", replaced(failed, "gpu.ecc", "custom")),
              ::testing::Not(HasSubstr("unproven reason")));
}

constexpr const char* kReason = R"(reasons:
  - id: blind
    title: Blind
    checks: [any]
    meaning: Nothing is known.
    cure: Look again.
    disproof: It answers.
    action: none
    max_health: unknown
    confidence: 0
    clear: healthy_rounds
    hides: [blind]
    source: somebody
    date: 2026-11-21
    evidence: own
)";

TEST(ParseCatalog, only_what_is_unknown_hides_other_reasons) {
  const auto catalog = Catalog::parse({{"reasons.yaml", kReason}});
  ASSERT_TRUE(catalog) << catalog.error().what;
  EXPECT_EQ(catalog->reason("blind")->hides, std::vector<std::string>{"blind"});
  EXPECT_THAT(problems_of("reasons.yaml", replaced(kReason, "max_health: unknown", "max_health: degraded")),
              HasSubstr("`hides`: only a reason with `max_health: unknown` may hide others"));
}

TEST(ParseCatalog, the_second_look_is_asked_for_where_two_rounds_are_needed) {
  const std::string asks = "raise_rounds: 2\n    asks_again: true\n    source: somebody";
  const auto catalog = Catalog::parse({{"reasons.yaml", replaced(kReason, "source: somebody", asks)}});
  ASSERT_TRUE(catalog) << catalog.error().what;
  EXPECT_TRUE(catalog->reason("blind")->asks_again);
  EXPECT_FALSE(builtin().reason("nvlink_down")->asks_again) << "a link may come back by itself";
  EXPECT_THAT(problems_of("reasons.yaml",
                          replaced(kReason, "source: somebody", "asks_again: true\n    source: somebody")),
              HasSubstr("`asks_again`: needs `raise_rounds: 2`"));
}

constexpr const char* kRange = R"(ranges:
  - id: shares
    readings: [utilization]
    least: 0
    most: 1
    meaning: A share is from 0 to 1.
    source: somebody
    date: 2026-11-21
    evidence: own
)";

TEST(ParseCatalog, a_reading_has_one_range_that_holds_something) {
  const auto catalog = Catalog::parse({{"readings.yaml", kRange}});
  ASSERT_TRUE(catalog) << catalog.error().what;
  ASSERT_NE(catalog->range_of("utilization"), nullptr);
  EXPECT_EQ(catalog->range_of("utilization")->most, 1);
  EXPECT_EQ(catalog->range_of("nvlink.remote"), nullptr);
  EXPECT_THAT(problems_of("readings.yaml", replaced(kRange, "most: 1", "most: 0")),
              HasSubstr("readings.yaml:5: `most`: expected more than `least`"));
  EXPECT_THAT(problems_of("readings.yaml", replaced(kRange, "[utilization]", "[utilization, utilization]")),
              HasSubstr("readings.yaml: shares: `utilization` has a range already"));
}

TEST(ParseCatalog, refuses_the_same_entry_twice) {
  std::string text = kThreshold;
  text += text.substr(text.find("  - id"));
  EXPECT_THAT(problems_of("thresholds.yaml", text),
              HasSubstr("thresholds.yaml: gpu.ecc.corrected: is defined twice"));
}

TEST(ParseCatalog, refuses_peaks_that_no_gpu_has) {
  const auto problems_with = [](const std::string& peaks) {
    return problems_of("gpu_models.yaml",
                       "gpu_models:\n  - id: a\n    names: [A]\n    nvlinks: 0\n    peaks: {" + peaks +
                           "source: s, date: 2026-11-25, evidence: vendor}\n"
                           "    source: s\n    date: 2026-11-25\n    evidence: vendor\n");
  };
  EXPECT_EQ(problems_with("fp64_teraflops: 9.7, pcie_generation: 4, pcie_lanes: 16, "), "");
  EXPECT_THAT(problems_with("memory_gigabytes_per_second: 4800000, "), HasSubstr("at most 50000"));
  EXPECT_THAT(problems_with("bf16_teraflops: 0, "), HasSubstr("`bf16_teraflops`: expected more than 0"));
  EXPECT_THAT(problems_with("pcie_generation: 40, pcie_lanes: 16, "), HasSubstr("expected 1 to 7"));
  EXPECT_THAT(problems_with("pcie_lanes: 16, "), HasSubstr("need each other"));
  EXPECT_THAT(problems_with("memory: 4800, "), HasSubstr("memory"));
}

TEST(ParseCatalog, refuses_references_to_nothing) {
  auto files = builtin_files();
  files["thresholds.yaml"] = replaced(kThreshold, "gpu.ecc.corrected", "gpu.eccc.corrected");
  const auto catalog = Catalog::parse(files);
  ASSERT_FALSE(catalog);
  EXPECT_THAT(catalog.error().what, HasSubstr("gpu.eccc.corrected: does not begin with the id of a check"));
  EXPECT_THAT(catalog.error().what, HasSubstr("there is no threshold `network.ib_port."));
}

TEST(ParseCatalog, refuses_files_it_does_not_know) {
  EXPECT_THAT(problems_of("threshold.yaml", kThreshold), HasSubstr("no file of the catalog has this name"));
  EXPECT_THAT(problems_of("xid.yaml", kThreshold), HasSubstr("unknown key `thresholds`"));
  EXPECT_THAT(problems_of("xid.yaml", ""), HasSubstr("`xids` is missing"));
}

TEST(ParseCatalog, a_log_rule_must_compile_and_match_its_examples) {
  const std::string rule = R"(log_rules:
  - id: memory.oom
    kind: oom
    pattern: 'Out of memory: Killed process (?P<pid>\d+)'
    title: Out of memory
    examples: ['Out of memory: Killed process 12 (python)']
    source: somebody
    date: 2026-11-21
    evidence: peer
)";
  EXPECT_EQ(problems_of("log_rules/memory.yaml", rule), "");
  EXPECT_THAT(problems_of("log_rules/memory.yaml", replaced(rule, "(?P<pid>", "(?P<pid")),
              HasSubstr("log_rules/memory.yaml:4: `pattern`: "));
  EXPECT_THAT(problems_of("log_rules/memory.yaml", replaced(rule, "['Out of", "['Out off")),
              HasSubstr("the pattern does not match: Out off memory"));
  EXPECT_THAT(problems_of("log_rules/memory.yaml", replaced(rule, "kind: oom", "kind: boom")),
              HasSubstr("unknown value `boom`"));
}

TEST(ParseCatalog, what_a_log_rule_says_by_itself) {
  const std::string rule = R"(log_rules:
  - id: storage.gone
    kind: block
    pattern: 'disk (?P<device>\S+) is gone'
    title: A disk is gone
    examples: [disk sda is gone]
    reason: disk_gone
    health: degraded
    subject: disk
    unproven: true
    source: somebody
    date: 2026-11-21
    evidence: own
)";
  EXPECT_EQ(problems_of("log_rules/storage.yaml", rule), "");
  EXPECT_THAT(problems_of("log_rules/storage.yaml", replaced(rule, "    unproven: true\n", "")),
              HasSubstr("log_rules/storage.yaml:12: `evidence`: `own` and `unproven: true` need each other"));
  EXPECT_THAT(problems_of("log_rules/storage.yaml", replaced(rule, "evidence: own", "evidence: peer")),
              HasSubstr("`evidence`: `own` and `unproven: true` need each other"));
  EXPECT_THAT(problems_of("log_rules/storage.yaml", replaced(rule, "health: degraded", "health: failed")),
              HasSubstr("an unproven line allows degraded, not failed"));
  EXPECT_THAT(problems_of("log_rules/storage.yaml", replaced(rule, "health: degraded", "health: healthy")),
              HasSubstr("`health`"));
  EXPECT_THAT(problems_of("log_rules/storage.yaml", replaced(rule, "(?P<device>", "(?P<disk>")),
              HasSubstr("no group `device`"));
  EXPECT_THAT(problems_of("log_rules/storage.yaml", replaced(rule, "subject: disk", "subject: planet")),
              HasSubstr("`subject`"));
}

TEST(BuiltinCatalog, a_line_that_no_check_reads_says_why) {
  auto files = builtin_files();
  std::string& checks = files["checks.yaml"];
  checks = replaced(checks, "pcie.bandwidth_limited, ", "");
  std::string& disks = files["log_rules/storage.yaml"];
  disks = replaced(disks, "    not_judged: 'storage.raid reads the state of every array'\n", "");
  const auto parsed = Catalog::parse(files);
  ASSERT_FALSE(parsed);
  EXPECT_THAT(parsed.error().what, HasSubstr("pcie.bandwidth_limited: no check reads it"));
  EXPECT_THAT(parsed.error().what, HasSubstr("storage.raid_failure: no check reads it"));
}

TEST(BuiltinCatalog, an_unproven_rule_is_degraded_at_worst_whoever_judges_it) {
  for (const LogRule& rule : builtin().log_rules()) {
    EXPECT_EQ(rule.unproven, rule.provenance.evidence == EvidenceKind::own) << rule.id;
    EXPECT_EQ(allowed_health(rule, Health::failed), rule.unproven ? Health::degraded : Health::failed);
    EXPECT_EQ(allowed_health(rule, Health::unknown), Health::unknown);
  }
  EXPECT_TRUE(builtin().log_rule("filesystem.gpfs")->unproven);
}

std::string refusal_of(const std::string& rules) {
  const auto parsed = parse_operator_rules({{"own.yaml", "log_rules:\n" + rules}}, builtin());
  return parsed ? "" : parsed.error().what;
}

TEST(OperatorRules, are_tried_as_the_decoder_will_run_them) {
  EXPECT_EQ(refusal_of("  - {id: a.b, title: t, pattern: 'first.second'}\n"), "");
  EXPECT_THAT(refusal_of("  - {id: a.b, title: t, pattern: '\\x{100}'}\n"),
              HasSubstr("own.yaml:2: `pattern`: "));
  EXPECT_THAT(refusal_of("  - {id: a.b, title: t, pattern: '((a{0,100}){0,100}){0,100}'}\n"),
              HasSubstr("own.yaml:2: `pattern`: "));
}

TEST(OperatorRules, that_need_too_much_memory_together_are_refused_at_the_first_too_many) {
  std::string rules;
  for (int i = 0; i < 128; ++i)
    rules += "  - {id: a.b" + std::to_string(i) + ", title: t, pattern: 'start" + std::to_string(i) +
             " .{0,1000} end'}\n";
  const std::string told = refusal_of(rules);
  EXPECT_TRUE(RE2::PartialMatch(told, "own\\.yaml:\\d+: `pattern`: with `a\\.b\\d+` all rules together"))
      << told;
}

TEST(OperatorRules, a_rule_that_takes_back_an_unknown_one_is_named_with_its_line) {
  EXPECT_EQ(
      refusal_of(
          "  - {id: a.b, title: t, pattern: x}\n  - {id: a.c, title: t, pattern: y, takes_back: [a.d]}\n"),
      "own.yaml:3: `a.c` takes back `a.d`, which is not one of these rules");
}

TEST(LogPatterns, match_bytes_and_give_the_groups_of_the_first_rule) {
  LogRule first;
  first.pattern = "disk (?P<device>\\S+)(?: of (?P<owner>\\S+))?.*gone";
  LogRule second;
  second.pattern = "gone";
  const auto patterns = LogPatterns::compile({first, second});
  ASSERT_TRUE(patterns);
  const auto match = patterns->first_match("disk \xff\n is gone");
  ASSERT_TRUE(match);
  EXPECT_EQ(match->rule, 0U);
  EXPECT_EQ(match->groups, (LogPattern::Groups{{"device", "\xff"}}));
  EXPECT_EQ(patterns->first_match("all gone")->rule, 1U);
  EXPECT_FALSE(patterns->first_match("all there"));
  EXPECT_FALSE(LogPatterns::compile({})->first_match("gone"));
}

TEST(LogPatterns, may_be_asked_by_several_threads_at_once) {
  LogRule rule;
  rule.pattern = "disk (?P<device>\\S+) gone";
  const auto patterns = LogPatterns::compile({rule});
  ASSERT_TRUE(patterns);
  std::vector<std::future<LogPattern::Groups>> answers;
  for (int thread = 0; thread < 8; ++thread)
    answers.push_back(std::async(std::launch::async, [&patterns] {
      const auto match = patterns->first_match("disk sda gone");
      return match ? match->groups : LogPattern::Groups{};
    }));
  for (auto& answer : answers)
    EXPECT_EQ(answer.get(), (LogPattern::Groups{{"device", "sda"}}));
}

TEST(BuiltinCatalog, every_log_rule_with_a_reason_is_read_by_a_check_that_may_say_it) {
  auto files = builtin_files();
  std::string& checks = files["checks.yaml"];
  checks = replaced(checks, "log_rules: [host.soft_lockup, ", "log_rules: [host.no_such_rule, ");
  const auto parsed = Catalog::parse(files);
  ASSERT_FALSE(parsed);
  EXPECT_THAT(parsed.error().what, HasSubstr("host.lockups: there is no log rule `host.no_such_rule`"));
  EXPECT_THAT(parsed.error().what,
              HasSubstr("host.soft_lockup: no check that may report `cpu_stuck` reads it"));
}

TEST(ParseCatalog, refuses_driver_errors_that_cannot_be) {
  constexpr std::string_view rest =
      "    meaning: x\n    action_now: none\n    action_later: none\n    confidence: 0.5\n    source: x\n"
      "    date: 2026-11-21\n    evidence: own\n";
  const std::string sxid = "sxids:\n  - code: 12000\n    last: 11000\n    name: X\n    classes: [nvlink]\n";
  EXPECT_THAT(problems_of("sxid.yaml", sxid + "    health: healthy\n" + std::string(rest)),
              HasSubstr("sxid.yaml:3: `last`: expected 12000 to 4294967295, found 11000"));
  const std::string unit = "sxids:\n  - code: 12000\n    last: 12999\n    name: X\n    classes: [nvlink]\n";
  EXPECT_THAT(problems_of("sxid.yaml", unit + "    health: degraded\n" + std::string(rest)),
              HasSubstr("a unit contains unknown codes, which are events only"));
  const std::string failed = "sxids:\n  - code: 12000\n    name: X\n    classes: [nvlink]\n";
  EXPECT_THAT(problems_of("sxid.yaml", failed + "    health: failed\n" + std::string(rest)),
              HasSubstr("a judgement of our own allows degraded, not failed"));
  const std::string error =
      "nvlink_errors:\n  - id: x\n    xid: 144\n    units: [X]\n    block_v1: 1\n    unit_v1: 32\n"
      "    unit_v2: 1\n    match: all\n    status: [one]\n    health: healthy\n";
  const std::string problems = problems_of("nvlink_errors.yaml", error + std::string(rest));
  EXPECT_THAT(problems, HasSubstr("`unit_v1`: expected 0 to 31, found 32"));
  EXPECT_THAT(problems, HasSubstr("`match`: unknown value `all`"));
  EXPECT_THAT(problems, HasSubstr("`status`: expected a number such as 0x00000001, found `one`"));
  const std::string bits =
      "nvlink_registers:\n  - id: x\n    register: 8\n    bits: [32]\n    health: healthy\n";
  const std::string register_problems = problems_of("nvlink_registers.yaml", bits + std::string(rest));
  EXPECT_THAT(register_problems, HasSubstr("`register`: expected 1 to 7, found 8"));
  EXPECT_THAT(register_problems, HasSubstr("`bits`: expected 0 to 31, found `32`"));
}

TEST(ParseCatalog, hostile_text_is_a_problem_not_a_crash) {
  for (const std::string& text :
       {std::string("\xff\x00\x01", 3), std::string(100'000, '['), std::string("thresholds: {a: [1"),
        std::string("thresholds:\n  - 5\n  - [a]\n  -\n"), std::string(2'000'000, 'x')})
    EXPECT_THAT(problems_of("thresholds.yaml", text), Not(testing::IsEmpty()));
}

}  // namespace
}  // namespace autopilot::catalog
