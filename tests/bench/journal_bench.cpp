// SPDX-License-Identifier: Apache-2.0
// How fast the journal makes events durable, in a folder beside the temporary ones: the disk decides.
#include <benchmark/benchmark.h>
#include <chrono>
#include <string>

#include "host/clock/system_clock.hpp"
#include "store/journal_writer.hpp"
#include "tests/support/host/test_folder.hpp"
#include "tests/support/store/journal_fixture.hpp"

namespace autopilot {
namespace {

// Batches of that many events, each waited for.
void commit_events(benchmark::State& state) {
  const host::TestFolder folder;
  const host::SystemClock clock;
  auto opened = store::Journal::open(folder / "journal.db", clock.now().wall);
  if (!opened) return state.SkipWithError(opened.error().what.c_str());
  store::JournalWriter writer(store::make_journal_sink(std::move(opened->journal)), clock, {});
  const auto events = static_cast<std::size_t>(state.range(0));
  while (state.KeepRunning()) {
    store::Batch batch;
    for (std::size_t i = 0; i < events; ++i)
      batch.events.push_back(store::testing::event(
          "NVRM: Xid (PCI:0000:43:00): 45, pid=4711, name=python, Ch 00000010", clock.now().wall));
    writer.submit(std::move(batch));
    if (!writer.flush(std::chrono::seconds{10})) return state.SkipWithError("the disk does not answer");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(commit_events)->Arg(1)->Arg(200)->UseRealTime();

}  // namespace
}  // namespace autopilot
