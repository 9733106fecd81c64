// SPDX-License-Identifier: Apache-2.0
#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/cli.hpp"
#include "core/parse.hpp"
#include "tests/paths/paths.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::cli {
namespace {

struct Outcome {
  int exit_code = 0;
  std::string out;
  std::string err;
};

Outcome decode(const std::vector<std::string>& arguments) {
  std::vector<std::string> words{"autopilot", "decode"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (auto& word : words)
    pointers.push_back(word.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.exit_code = run(static_cast<int>(pointers.size()), pointers.data());
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.err = testing::internal::GetCapturedStderr();
  return outcome;
}

constexpr std::string_view kLog =
    "[    1.000000] usb 1-1: new device\n"
    "[    2.000000] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus.\n"
    "[    3.000000] nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 error (First)\n"
    "[    3.000000] nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Data {0x00000004}\n";

TEST(DecodeVerb, prints_one_object_per_record_with_its_rows_inside) {
  const host::TestFolder folder;
  folder.write("/log", kLog);
  const auto outcome = decode({"-o", "json", folder.path() + "/log"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto lines = split(trim(outcome.out), '\n');
  ASSERT_EQ(lines.size(), 2U) << outcome.out;
  const auto xid = boost::json::parse(lines[0]).as_object();
  EXPECT_EQ(xid.at("code"), 79);
  EXPECT_EQ(xid.at("pci"), "0000:3b:00.0");
  EXPECT_EQ(xid.at("class"), "pcie");
  EXPECT_EQ(xid.at("action"), "power_cycle");
  EXPECT_EQ(xid.at("line"), 2);
  EXPECT_EQ(xid.at("fromKernel"), false) << "dmesg without -x does not say who wrote a line";
  const auto sxid = boost::json::parse(lines[1]).as_object();
  EXPECT_EQ(sxid.at("nvlink").as_object().at("link"), 32);
  EXPECT_EQ(sxid.at("data").as_array().size(), 1U);
}

TEST(DecodeVerb, prints_a_table_of_at_most_eighty_columns) {
  const host::TestFolder folder;
  folder.write("/log", kLog);
  const auto outcome = decode({folder.path() + "/log"});
  EXPECT_NE(outcome.out.find("xid 79"), std::string::npos);
  for (const auto line : split(outcome.out, '\n'))
    EXPECT_LE(line.size(), 80U) << line;
}

TEST(DecodeVerb, says_when_there_is_nothing) {
  const host::TestFolder folder;
  folder.write("/log", "hello\n");
  const auto outcome = decode({folder.path() + "/log"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("no known record in 1 line\n"), std::string::npos);
}

TEST(DecodeVerb, refuses_what_is_no_log_with_the_reason) {
  const host::TestFolder folder;
  folder.write("/binary", std::string("\x7f"
                                      "ELF\0\0",
                                      6));
  EXPECT_EQ(decode({folder.path() + "/missing"}).exit_code, kExitUsage);
  EXPECT_NE(decode({folder.path() + "/missing"}).err.find("No such file"), std::string::npos);
  EXPECT_EQ(decode({folder.path()}).exit_code, kExitUsage);
  EXPECT_EQ(decode({folder.path() + "/binary"}).exit_code, kExitUsage);
  EXPECT_NE(decode({folder.path() + "/binary"}).err.find("not a text file"), std::string::npos);
  EXPECT_EQ(decode({"-o", "xml", folder.path() + "/binary"}).exit_code, kExitUsage);
}

boost::json::object record_of(std::map<int, boost::json::object>& records, int line) {
  const auto found = records.extract(line);
  return found ? found.mapped() : boost::json::object{};
}

// What is printed of the log in `folder`, by its lines.
std::map<int, boost::json::object> records_of(const std::filesystem::path& folder) {
  const auto outcome = decode({"-o", "json", (folder / "input.log").string()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  std::map<int, boost::json::object> records;
  for (const auto line : split(trim(outcome.out), '\n')) {
    auto record = boost::json::parse(line).as_object();
    records[static_cast<int>(record.at("line").as_int64())] = std::move(record);
  }
  return records;
}

void expect_records(const std::filesystem::path& folder) {
  auto records = records_of(folder);
  std::ifstream expectations(folder / "expected.jsonl");
  std::string text;
  ASSERT_TRUE(std::getline(expectations, text));
  EXPECT_TRUE(boost::json::parse(text).as_object().contains("source")) << folder;
  while (std::getline(expectations, text)) {
    auto expected = boost::json::parse(text).as_object();
    const bool is_optional = expected.erase("optional") > 0;
    const auto record = record_of(records, static_cast<int>(expected.at("line").as_int64()));
    if (record.empty() && is_optional) continue;
    EXPECT_EQ(record.contains("fromUser"), expected.contains("fromUser")) << folder << ' ' << text;
    for (const auto& [name, value] : expected)
      EXPECT_TRUE(record.contains(name) && record.at(name) == value)
          << folder << ' ' << text << ": " << boost::json::serialize(record);
  }
  for (const auto& [line, record] : records)
    ADD_FAILURE() << folder << ':' << line << ": " << boost::json::serialize(record);
}

TEST(DecodeVerb, finds_in_logs_of_every_form_what_is_there) {
  for (const auto& folder : std::filesystem::directory_iterator(paths::source("tests/decode")))
    if (folder.is_directory()) expect_records(folder.path());
}

TEST(DecodeVerb, survives_a_line_without_end) {
  const host::TestFolder folder;
  std::string line = "NVRM: Xid (PCI:0000:3b:00): 79, ";
  line.resize(10'000'000, 'x');
  folder.write("/log", line);
  const auto outcome = decode({"-o", "json", folder.path() + "/log"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_LT(outcome.out.size(), 20'000U);
}

}  // namespace
}  // namespace autopilot::cli
