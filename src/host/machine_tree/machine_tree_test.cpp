// SPDX-License-Identifier: Apache-2.0
#include "host/machine_tree/machine_tree.hpp"

#include <filesystem>
#include <fstream>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr const char* kMinimal =
    "schema: autopilot.machine/v1\n"
    "node: node-1\n"
    "boot_id: 5d1ad1d8-5c5c-4b1e-9c5e-000000000001\n"
    "time: 2026-01-15T08:00:00Z\n"
    "uptime: 36h\n"
    "simulated: true\n";

std::string problem_of(const std::string& text) {
  const auto tree = parse_machine_tree(text, "/t");
  return tree ? "parsed" : tree.error().what;
}

TEST(MachineTree, ReadsWhatFilesCannotHold) {
  const auto tree = parse_machine_tree(
      std::string(kMinimal) +
          "filesystems:\n"
          "  /: {total_bytes: 100, free_bytes: 20, available_bytes: 10,"
          " total_inodes: 7, free_inodes: 3}\n"
          "  /mnt/data: {hangs: true}\n"
          "time_sync: {synchronised: true, max_error_us: 500}\n"
          "nvme:\n"
          "  nvme0: {percentage_used: 3, critical_warning: 4}\n"
          "  nvme1: {error: denied}\n"
          "name_servers:\n"
          "  192.0.2.53: {outcome: answered, milliseconds: 2}\n"
          "ethernet_ports:\n"
          "  eth0:\n"
          "    link: {reason: no_cable}\n"
          "    fec: {mode: rs, corrected_blocks: 7}\n"
          "    module: {50/00/0: 110704, 50/00/22: 2600, error: unavailable}\n"
          "  eth1: {error: timed_out}\n"
          "  eth2: {module: {error: denied}}\n"
          "probes:\n"
          "  gpu.speed: {takes: 2s, found: [{name: rate, subject: gpu/0000:1b:00.0, source: probe, value: "
          "4}]}\n"
          "tests:\n"
          "  storage.pvc:\n"
          "    seen:\n"
          "      - {name: pvc.outcome, subject: peer/fast, source: kubernetes, value: bound, age: 5m,"
          " attributes: {seconds: 2.5, provisioner: example.org/disk, node: \"7\"}}\n"
          "      - {name: pvc.outcome, subject: peer/slow, source: kubernetes, missing: denied}\n"
          "  gpu.other: {error: timed_out}\n"
          "unreadable:\n"
          "  /sys/class/net: {error: denied}\n"
          "  /proc/meminfo: {hangs: true}\n"
          "driver_library: broken\n",
      "/t");
  ASSERT_TRUE(tree) << tree.error().what;
  EXPECT_EQ(tree->node, "node-1");
  EXPECT_EQ(tree->uptime, 36h);
  EXPECT_EQ(format_time(tree->time), "2026-01-15T08:00:00.000Z");
  EXPECT_TRUE(tree->simulated);
  EXPECT_EQ(tree->filesystems.at("/").usage.available_bytes, 10U);
  EXPECT_TRUE(tree->filesystems.at("/mnt/data").hangs);
  ASSERT_TRUE(tree->time_sync);
  EXPECT_TRUE(tree->time_sync->state.synchronised);
  EXPECT_EQ(tree->nvme.at("nvme0").health.critical_warning, 4);
  EXPECT_EQ(tree->nvme.at("nvme1").error, Errc::denied);
  EXPECT_EQ(tree->name_servers.at("192.0.2.53").after, 2ms);
  const auto& port = tree->ethernet_ports.at("eth0");
  EXPECT_EQ(port->link->reason, "no_cable");
  EXPECT_EQ(port->fec->corrected_blocks, 7U);
  EXPECT_FALSE(port->fec->uncorrectable_blocks);
  EXPECT_EQ(port->module->parts.at({0x50, 0, 0}), "\x11\x07\x04");
  EXPECT_EQ(port->module->problem->code, Errc::unavailable);
  EXPECT_EQ(tree->ethernet_ports.at("eth1").error().code, Errc::timed_out);
  EXPECT_EQ(tree->ethernet_ports.at("eth2")->module.error().code, Errc::denied);
  EXPECT_EQ(tree->ethernet_ports.at("eth2")->fec.error().code, Errc::unsupported);
  const TreeProbe& probe = tree->probes.at("gpu.speed");
  EXPECT_EQ(probe.takes, std::chrono::seconds{2});
  EXPECT_FALSE(probe.hangs);
  ASSERT_EQ(probe.found.size(), 1U);
  EXPECT_EQ(to_string(probe.found[0].subject), "gpu/0000:1b:00.0");
  const auto& seen = *tree->tests.at("storage.pvc");
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(to_string(seen[0].subject), "peer/fast");
  EXPECT_EQ(seen[0].value, Value("bound"));
  EXPECT_EQ(format_time(seen[0].time.wall), "2026-01-15T07:55:00.000Z");
  EXPECT_EQ(*find_attribute(seen[0].attributes, "seconds"), Value(2.5));
  EXPECT_EQ(*find_attribute(seen[0].attributes, "node"), Value("7"));
  EXPECT_EQ(seen[1].missing, "denied");
  EXPECT_EQ(tree->tests.at("gpu.other").error().code, Errc::timed_out);
  EXPECT_EQ(tree->unreadable.at("/sys/class/net").error, Errc::denied);
  EXPECT_TRUE(tree->unreadable.at("/proc/meminfo").hangs);
  EXPECT_TRUE(tree->driver_library_broken);
  EXPECT_EQ(tree->root(), "/t/root");
}

TEST(MachineTree, NamesFileAndLineOfEveryProblem) {
  EXPECT_THAT(problem_of(std::string(kMinimal) + "colour: red\n"),
              HasSubstr("/t/machine.yaml:7: machine: unknown key `colour`"));
  EXPECT_THAT(problem_of(std::string(kMinimal) + "live: maybe\n"),
              HasSubstr("`live`: expected true or false"));
  EXPECT_THAT(problem_of(std::string(kMinimal) + "node: again\n"), HasSubstr("duplicate key `node`"));
  EXPECT_THAT(problem_of(std::string(kMinimal) + "filesystems:\n  /: {total_bytes: -1}\n"),
              HasSubstr("`total_bytes` is out of range"));
  EXPECT_THAT(problem_of(std::string(kMinimal) + "nvme: {nvme0: {critical_warning: 300}}\n"),
              HasSubstr("`critical_warning` is out of range"));
  EXPECT_THAT(problem_of(std::string(kMinimal) + "driver_library: old\n"),
              HasSubstr("`driver_library` must be sound or broken"));
  EXPECT_THAT(problem_of(std::string(kMinimal) + "unreadable: {sys: {error: denied}}\n"),
              HasSubstr("`sys` is not an absolute path"));
  EXPECT_THAT(problem_of(std::string(kMinimal) + "unreadable: {/sys: {hangs: false}}\n"),
              HasSubstr("needs either `hangs: true` or `error`"));
  EXPECT_THAT(problem_of(std::string(kMinimal) + "probes: {a.b: {takes: 2h, hang: true}}\n"),
              AllOf(HasSubstr("at most an hour"), HasSubstr("`hang`")));
  EXPECT_THAT(
      problem_of(std::string(kMinimal) + "tests: {a.b: {seen: [{name: n, subject: cat/1, source: s}]}}\n"),
      AllOf(HasSubstr("`cat/1` is not a subject"), HasSubstr("needs either a `value` or `missing`")));
  EXPECT_THAT(problem_of("schema: autopilot.machine/v1\nnode: a\n"), HasSubstr("`boot_id` is missing"));
  EXPECT_THAT(problem_of("schema: autopilot.machine/v9\n"), HasSubstr("`schema` must be"));
}

TEST(MachineTree, RefusesWhatIsNoDocument) {
  for (const std::string& text :
       {std::string(), std::string("[1, 2]"), std::string("{"), std::string("a: b: c"),
        std::string("\0\1\2\3", 4), std::string(5000, '['), std::string("node")})
    EXPECT_FALSE(parse_machine_tree(text, "/t"));
}

TEST(MachineTree, RefusesASourceAndNamesTheCure) {
  const auto tree = parse_machine_tree("base: hgx-h100-8\n", "/t");
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().code, Errc::unsupported);
  EXPECT_THAT(tree.error().what, HasSubstr("autopilot-sim create /t"));
}

TEST(MachineTreeFile, SeesAChangeOfTheFile) {
  const std::string directory = testing::TempDir() + "machine_tree_file";
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  EXPECT_EQ(MachineTreeFile::open(directory).error().code, Errc::not_found);

  const auto write = [&](const std::string& text) {
    std::ofstream(directory + "/new") << text;
    std::filesystem::rename(directory + "/new", directory + "/machine.yaml");
  };
  write(kMinimal);
  const auto file = MachineTreeFile::open(directory);
  ASSERT_TRUE(file) << file.error().what;
  const auto first = (*file)->read();
  EXPECT_EQ((*file)->read()->get(), first->get());
  write(std::string(kMinimal) + "time_sync: {synchronised: false}\n");
  EXPECT_TRUE((*file)->read().value()->time_sync.has_value());
  write("broken: [");
  EXPECT_EQ((*file)->read().error().code, Errc::malformed);
  std::filesystem::remove_all(directory);
}

class UnreadableFilesTest : public ::testing::Test {
 protected:
  UnreadableFilesTest() {
    folder_.write("/root/sys/devices/port/state", "4: ACTIVE\n");
    folder_.write("/root/sys/devices/portal", "sound\n");
    folder_.link("/root/sys/class/port", "../devices/port");
    say("");
    tree_ = MachineTreeFile::open(folder_.path()).value();
    unreadable_ = std::make_unique<UnreadableFiles>(*tree_, folder_.path() + "/root");
  }

  // In one step, as a scenario that is played does it.
  void say(const std::string& unreadable) const {
    folder_.write(
        "/fresh",
        "schema: autopilot.machine/v1\nnode: node-1\nboot_id: 5d1ad1d8-5c5c-4b1e-9c5e-000000000001\n"
        "time: 2026-01-15T08:00:00Z\nuptime: 36h\nsimulated: true\n" +
            unreadable);
    std::filesystem::rename(folder_.path() + "/fresh", folder_.path() + "/machine.yaml");
  }
  [[nodiscard]] Files files() const {
    return Files(folder_.path() + "/root", [this](std::string_view path) { return unreadable_->pass(path); });
  }

  const TestFolder folder_;
  std::unique_ptr<MachineTreeFile> tree_;
  std::unique_ptr<UnreadableFiles> unreadable_;
};

TEST_F(UnreadableFilesTest, a_path_is_refused_by_whatever_name_it_is_asked) {
  say("unreadable: {/sys/class/port: {error: denied}}\n");
  EXPECT_EQ(files().read("/sys/class/port/state").error().code, Errc::denied);
  EXPECT_EQ(files().read("/sys/devices/port/state").error().code, Errc::denied);
  EXPECT_EQ(files().list("/sys/class/port").error().code, Errc::denied);
  EXPECT_TRUE(files().exists("/sys/class/port/state"));
  EXPECT_EQ(files().read_word("/sys/devices/portal"), "sound") << "only begins like it";
}

TEST_F(UnreadableFilesTest, an_obstacle_of_what_is_not_there_is_met_all_the_same) {
  say("unreadable: {/sys/class/none: {error: unavailable}}\n");
  EXPECT_EQ(files().read("/sys/class/none/x").error().code, Errc::unavailable);
  EXPECT_EQ(files().read("/sys/class/other").error().code, Errc::not_found);
}

TEST_F(UnreadableFilesTest, a_read_that_hangs_returns_when_the_tree_lets_it) {
  say("unreadable: {/sys/class/port/state: {hangs: true}}\n");
  auto read = std::async(std::launch::async, [this] { return files().read_word("/sys/class/port/state"); });
  EXPECT_EQ(read.wait_for(5 * UnreadableFiles::kHangPoll), std::future_status::timeout);
  EXPECT_EQ(files().read_word("/sys/devices/portal"), "sound") << "the rest answers meanwhile";
  say("");
  EXPECT_EQ(read.get(), "4: ACTIVE");
}

TEST_F(UnreadableFilesTest, a_tree_that_is_gone_lets_everybody_go) {
  say("unreadable: {/sys: {hangs: true}}\n");
  auto read = std::async(std::launch::async, [this] { return files().list("/sys/class"); });
  std::filesystem::remove(folder_.path() + "/machine.yaml");
  EXPECT_FALSE(read.get());
}

}  // namespace
}  // namespace autopilot::host
