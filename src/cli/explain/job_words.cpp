// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "cli/explain/vocabulary.hpp"

namespace autopilot::cli {
namespace {

constexpr std::string_view kWhyJob = "autopilot jobs why JOB";
constexpr std::string_view kReadLog = "read the last lines of the log of the rank that is named";
constexpr std::string_view kExplainMachine = "autopilot explain, on the node that is named";

// clang-format off
constexpr auto kJobWords = std::to_array<Word>({
    {"gate", "passed", "Of the pre-flight gate: the GPUs of the pod passed the test just now.", ""},
    {"gate", "failed", "Of the pre-flight gate: a diagnostic of the GPUs failed; they are proven faulty.", kExplainMachine},
    {"gate", "could_not_look", "Of the pre-flight gate: the GPUs could not be tested, so that nothing is proven. The setting preflight.could_not_look "
     "decides whether the pod starts.", "read the message of the test in the report of the pod"},
    {"gate", "waiting", "Of the pre-flight gate: the test waits for its turn.", ""},
    {"gate", "running", "Of the pre-flight gate: the test runs.", ""},
    {"gate", "fresh", "Of the pre-flight gate: the GPUs passed the test earlier, with no event since, so that it is not repeated.", ""},
    {"job", "unknown", "No source reports the progress of the job.", kWhyJob},
    {"job", "starting", "The job has not ended a step yet.", ""},
    {"job", "running", "The job makes progress at its usual rate.", ""},
    {"job", "slow", "Steps of the job are longer than before, or than those of its peers.", kWhyJob},
    {"job", "stalled", "No step has ended for longer than usual; it is too early to say that the job hangs.", kWhyJob},
    {"job", "hung", "No step ends any more.", kWhyJob},
    {"job", "ended", "All ranks of the job ended.", kWhyJob},
    {"effect", "none", "A part of a node is accused; it does not slow the job yet.", kWhyJob},
    {"effect", "slow", "A culprit slows the job.", kWhyJob},
    {"effect", "regression", "The job got slower as a whole; no node is accused.", kWhyJob},
    {"effect", "hang", "No step of the job ends.", kWhyJob},
    {"effect", "crash", "Ranks of the job ended.", kWhyJob},
    {"failure", "hardware", "The job ended because a part of a node failed.", kExplainMachine},
    {"failure", "application", "The job ended because of the program, its configuration or its data; no node is accused.", kReadLog},
    {"failure", "infrastructure", "The job ended because of storage, the scheduler, the network as a whole, or a lost node.",
     "check the service that is named, then start the job again"},
    {"failure", "unclear", "The evidence does not decide why the job ended.", kWhyJob},
    {"cause", "hang", "No step of the job ends, and no event explains it yet.", kWhyJob},
    {"cause", "regression", "The job as a whole got slower.", "compare the version, the data and the configuration with the run before"},
    {"cause", "replica", "A replica of an inference service differs from the others.", kWhyJob},
    {"cause", "congestion", "Other jobs fill the network between the nodes of the job.", "autopilot network test"},
    {"cause", "loss_is_nan", "The loss of the job is not a number.", kReadLog},
    {"cause", "leaf", "Nodes below one leaf switch are slow.", "autopilot network test"},
    {"cause", "nic", "A network adapter or its port slows the job.", "autopilot explain network.ib_port"},
    {"cause", "host", "The processors, memory or processes of a host slow the job.", "autopilot explain host.pressure"},
    {"cause", "stopped", "A process of a rank is stopped, or was stopped from outside.", "continue the process, or find the sender of the signal"},
    {"cause", "processor_wait", "A process waits for a processor although the host has free ones: a limit of its cgroup, or its affinity.",
     "raise the limit of the container"},
    {"cause", "power_brake", "The power supply of the machine holds a GPU back.", "autopilot explain gpu.throttle"},
    {"cause", "thermal", "A GPU is too hot and runs at a lower clock.", "autopilot explain gpu.temperature"},
    {"cause", "hw_slowdown", "The hardware of a GPU holds its clock back.", "autopilot explain gpu.throttle"},
    {"cause", "ecc", "The memory of a GPU reports errors.", "autopilot explain gpu.ecc"},
    {"cause", "pcie", "The PCIe link of a GPU is slow or reports errors.", "autopilot explain gpu.pcie_link"},
    {"cause", "nvlink", "An NVLink of a GPU is down or reports errors.", "autopilot explain gpu.nvlink"},
    {"cause", "power_cap", "The power limit of a GPU holds its clock back.", "autopilot explain gpu.power"},
    {"cause", "clock", "A GPU runs at a lower clock than its peers.", "autopilot explain gpu.clocks"},
    {"cause", "compute", "A GPU does less than its peers, and no counter states why.", "autopilot test gpu.compute"},
    {"cause", "link_down", "A link of a node went down.", "autopilot explain network.ib_port"},
    {"cause", "node_lost", "A node no longer answers.", "kubectl describe node NODE, or sinfo -R"},
    {"cause", "silent_rank", "A rank stopped reporting, and nothing states why.", kReadLog},
    {"cause", "ecc_uncorrectable", "The GPU reported an uncorrectable memory error.", "autopilot explain gpu.ecc"},
    {"cause", "gpu_lost", "The GPU is lost to the driver.", "autopilot explain gpu_fallen_off_bus"},
    {"cause", "gpu_fabric", "NVLink or its switch reported an error.", "autopilot explain gpu.fabric"},
    {"cause", "nic_error", "The network adapter reported an error of its port.", "autopilot explain network.ib_port"},
    {"cause", "host_out_of_memory", "The kernel killed a process of the job for memory.", "raise the memory limit, or let the program use less memory"},
    {"cause", "shared_memory", "The shared memory of the container is used up.", "give the pod a larger /dev/shm"},
    {"cause", "cuda_out_of_memory", "The program ran out of GPU memory.", "use a smaller batch, or more GPUs"},
    {"cause", "not_a_number", "A gradient or the loss is not a number.", kReadLog},
    {"cause", "collective_mismatch", "The ranks started different collectives.", kReadLog},
    {"cause", "illegal_access", "A kernel of the program accessed memory that is not its own.", kReadLog},
    {"cause", "launch_failure", "A kernel of the program could not be started, or ended with an unknown error.", kReadLog},
    {"cause", "gpu_busy", "The GPU was not available to the program.", "autopilot explain gpu.processes"},
    {"cause", "storage_full", "The storage is full.", "autopilot explain storage.filesystem"},
    {"cause", "storage_error", "Storage returned an error.", "autopilot explain storage.nfs"},
    {"cause", "name_resolution", "A name could not be resolved.", "autopilot explain network.dns"},
    {"cause", "collective_timeout", "A collective waited for another rank until its timeout: a consequence, not the cause.", kWhyJob},
    {"cause", "peer_ended", "Another rank closed the connection: a consequence, not the cause.", kWhyJob},
    {"cause", "launcher_summary", "The launcher lists ranks that ended: a consequence, not the cause.", kWhyJob},
    {"cause", "assertion", "An assertion of the program failed.", kReadLog},
    {"cause", "killed", "The process was killed, by an unknown sender.", "check the memory limit, and the log of the scheduler"},
    {"cause", "crash", "The program crashed.", kReadLog},
    {"cause", "traceback", "The program ended with an exception.", kReadLog},
    {"cause", "exit_code", "A rank ended with an exit code, and its log states no cause.", kReadLog},
    {"cause", "signal", "A signal ended a rank, and its log states no cause.", kReadLog},
    {"cause", "evicted", "Kubernetes evicted a pod of the job.", "kubectl describe pod POD"},
    {"cause", "preempted", "A job with a higher priority took the place of the job.", "start the job again"},
    {"cause", "node_shutdown", "A node of the job was shut down.", "start the job again"},
    {"cause", "deleted", "A person or a controller deleted a pod of the job.", ""},
    {"severity", "info", "Shown only; no person is alerted.", ""},
    {"severity", "ticket", "Needs attention within days.", kWhyJob},
    {"severity", "page", "Needs a person now.", kWhyJob},
    {"advice", "continue", "Let the job run: a swap would cost more than the slowdown.", ""},
    {"advice", "swap_at_checkpoint", "Replace the accused node after the next checkpoint.", kWhyJob},
    {"advice", "stop_now", "Stop the job now and start it without the accused node.", kWhyJob},
    {"advice", "restart_in_place", "Start the job again on the same nodes.", kWhyJob},
    {"validation", "passed", "The checks and diagnostics of the node passed.", ""},
    {"validation", "failed", "A check or a diagnostic of the node failed.", "autopilot validations"},
    {"validation", "unknown", "The node could not be validated completely.", "autopilot validations"},
    {"validation", "passive", "A validation with checks only.", ""},
    {"validation", "quick", "A validation with checks and short diagnostics of the GPUs.", ""},
    {"validation", "deep", "A validation with the deep diagnostic of the node.", ""},
    {"validation", "pair", "A validation with a test between this node and others.", ""},
});
// clang-format on

}  // namespace

std::span<const Word> job_words() {
  return kJobWords;
}

}  // namespace autopilot::cli
