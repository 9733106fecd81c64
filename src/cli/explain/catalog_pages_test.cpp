// SPDX-License-Identifier: Apache-2.0
#include "cli/explain/catalog_pages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/kernel_log/decode.hpp"
#include "core/parse.hpp"

namespace autopilot::cli {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string of_line(const std::string& text) {
  host::KernelRecord record;
  record.text = text;
  const auto decoded = checks::Decoder(catalog::builtin()).decode(record);
  if (!decoded) return {};
  return page_text(
      explain(*decoded, checks::verdict_on(record, *decoded, catalog::builtin()), catalog::builtin()));
}

// Whatever makes a finding is explained with all that a person asks.
void expect_whole(const std::string& page) {
  for (const char* label :
       {"\nWhat ", "\nConfidence ", "\nDo now ", "\nClears ", "\nMay be wrong if ", "\nSource "})
    EXPECT_THAT(page, HasSubstr(label));
  for (const std::string_view line : split(page, '\n'))
    EXPECT_LE(line.size(), 80U) << line;
}

TEST(Explanation, of_every_driver_error_says_how_it_clears_and_what_would_prove_it_wrong) {
  const auto& facts = catalog::builtin();
  for (const auto& xid : facts.xids())
    expect_whole(page_text(explain(xid, facts)));
  for (const auto& sxid : facts.sxids())
    expect_whole(page_text(explain(sxid, facts)));
}

TEST(Explanation, of_a_code_is_that_of_the_finding_it_makes) {
  const auto& facts = catalog::builtin();
  EXPECT_THAT(page_text(explain(*facts.xid(79), facts)), HasSubstr("several GPUs fail at once"));
  EXPECT_THAT(page_text(explain(*facts.xid(31), facts)), HasSubstr("closes 10m after the last line"));
}

TEST(Explanation, of_a_line_that_makes_a_finding_is_that_of_its_reason) {
  const std::string page = of_line("watchdog: BUG: soft lockup - CPU#7 stuck for 22s! [kworker/7:1:4242]");
  expect_whole(page);
  EXPECT_THAT(page, AllOf(HasSubstr("cpu_stuck: "), HasSubstr("kworker/7:1"), Not(HasSubstr("\nline "))));
  const std::string sxid = of_line(
      "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 44 egress non-posted PRIV error");
  expect_whole(sxid);
  EXPECT_THAT(sxid, HasSubstr("SXid 12028"));
}

TEST(Explanation, of_a_line_that_is_an_event_only_says_so_and_who_reads_it) {
  const std::string page = of_line("mce: [Hardware Error]: CPU 4: Machine Check: 0 Bank 9: 8c00004000010091");
  EXPECT_THAT(page,
              AllOf(HasSubstr("an event only"), HasSubstr("host.machine_check"), HasSubstr("\nSource ")));
}

TEST(Explanation, of_a_line_says_what_the_check_that_reads_it_finds) {
  EXPECT_THAT(of_line("NVRM: GPU 0000:18:00.0: GPU has fallen off the bus."),
              AllOf(HasSubstr("gpu.xid reports failed (gpu_fallen_off_bus). Action: power-cycle"),
                    HasSubstr("\nDo now "), Not(HasSubstr("an event only"))));
  EXPECT_THAT(of_line("EXT4-fs (nvme0n1p2): mounted filesystem with ordered data mode. Quota mode: none."),
              HasSubstr("no finding from this line alone"));
}

TEST(Explanation, of_a_line_names_its_kernels_and_says_when_its_form_is_unproven) {
  EXPECT_THAT(of_line("end_request: I/O error, dev sda, sector 2048"),
              AllOf(HasSubstr("\nKernels "), HasSubstr("up to 3.17"), Not(HasSubstr("\nUnproven "))));
  EXPECT_THAT(of_line("mmfs: [E] CCR: failed to connect to node 10.0.0.101"),
              AllOf(HasSubstr("\nUnproven "), HasSubstr("\nNot judged ")));
}

}  // namespace

}  // namespace autopilot::cli
