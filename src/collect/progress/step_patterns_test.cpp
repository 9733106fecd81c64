// SPDX-License-Identifier: Apache-2.0
#include "collect/progress/step_patterns.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace autopilot::collect::step_patterns_test {
namespace {

using jobs::Edge;
using jobs::Phase;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Known {
  std::string_view line;
  std::int64_t number;
  std::optional<double> loss, step_s, tokens_s;
};

// Lines that frameworks printed, from public issues and repositories, shortened.
const std::vector<Known>& known_lines() {
  static const std::vector<Known> lines{
      // Megatron-LM (epfLLM/Megatron-LLM issue 11)
      {" iteration      201/  250000 | consumed samples:       205824 | elapsed time per iteration (ms): "
       "139113.4 | learning rate: 1.507E-05 | global batch size:  1024 | lm loss: 2.373574E+00 | loss scale: "
       "1.0 | grad norm: 0.811 | number of skipped iterations:   0 | number of nan iterations:   0 |",
       201,
       2.373574,
       139.1134,
       {}},
      // with a throughput
      {"[2025-10-24 09:52:15] iteration      480/     500 | consumed samples:        30720 | elapsed time "
       "per "
       "iteration (ms): 5533.0 | throughput per GPU (TFLOP/s/GPU): 560.9 | lm loss: 1.605485E+00 | loss "
       "scale: "
       "1.0 | grad norm: 17.924 | tokens/sec/gpu: 11844.5 | number of skipped iterations:   0 |",
       480, 1.605485, 5.533, 11844.5},
      // GPT-NeoX (deepspeedai/DeepSpeed issue 3742)
      {" samples/sec: 7.799 | iteration       34/   10000 | elapsed time per iteration (ms): 4103.1 | "
       "learning "
       "rate: 2.111E-06 | approx flops per GPU: 112.9TFLOPS | lm_loss: 1.118665E+01 | number of skipped "
       "iterations:   0 |",
       34,
       11.18665,
       4.1031,
       {}},
      // DeepSpeed
      {"[2022-03-11 02:06:58,985] [INFO] [logging.py:69:log_dist] [Rank 0] step=40, skipped=2, lr=[5e-05], "
       "mom=[[0.9, 0.999]]",
       40,
       {},
       {},
       {}},
      {"[2023-07-25 21:03:17,269] [INFO] [timer.py:215:stop] epoch=0/micro_step=34/global_step=34, "
       "RunningAvgSamplesPerSec=7.86, CurrSamplesPerSec=8.009, MemAllocated=59.65GB",
       34,
       {},
       {},
       {}},
      // NeMo 2 (NVIDIA-NeMo/Speech issue 10675)
      {"Training epoch 0, iteration 196/3999 | lr: 2.954e-05 | consumed_samples: 4728 | global_batch_size: "
       "24 | "
       "global_step: 196 | reduced_train_loss: 10.84 | train_step_timing in s: 0.9765",
       196,
       10.84,
       0.9765,
       {}},
      {"Training epoch 0, iteration 120/149 | lr: 3e-05 | consumed_samples: 121 | global_batch_size: 1 | "
       "global_step: 120 | reduced_train_loss: 1.233 | train_step_timing in s: 0.03146 | val_loss: 4.106",
       120,
       1.233,
       0.03146,
       {}},
      // Lightning (issue 4225)
      {"Epoch 0:  22%|##1       | 4/18 [00:17<01:02,  4.47s/it, loss=10.072, v_num=193315]",
       4,
       10.072,
       4.47,
       {}},
      {"Epoch 0:   1%|          | 3/517 [00:02<07:38,  1.12it/s, loss=1.63]", 3, 1.63, 1 / 1.12, {}},
      // transformers (issue 14531)
      {"  8%|#############    | 1999/24128 [1:52:09<20:27:23,  3.33s/it]", 1999, {}, 3.33, {}},
      // DeepSpeed behind the bar of transformers, in one line
      {"  8%|######  | 1999/24128 [1:52:09<20:27:23,  3.33s/it][2021-11-26 03:07:16,494] [INFO] "
       "[logging.py:69:log_dist] [Rank 0] step=2000, skipped=1995, lr=[0.001, 0.001], mom=[0.0, 0.0]",
       2000,
       {},
       3.33,
       {}},
      // torchtitan (pull requests 3393, 1287)
      {"[rank0]:[titan] 2026-05-18 16:04:46,338 - root - INFO - step: 14  loss:  3.24405  grad_norm:  0.8319 "
       " "
       "memory:  9.46GiB(64.99%)  tps: 7,282  tflops: 0.52  mfu: 0.17%",
       14,
       3.24405,
       {},
       7282},
      {"[rank0]:[titan] 2025-06-16 22:30:50,322 - root - INFO - step: 200  loss:  6.1384  memory: "
       "49.66GiB(52.28%)  tps: 5,856  tflops: 339.16  mfu: 34.29%",
       200,
       6.1384,
       {},
       5856},
      // nanoGPT
      {"iter 120: loss 4.0706, time 48.02ms, mfu 10.07%", 120, 4.0706, 0.04802, {}},
      {"iter 10: loss 9.2617, lr 4.00e-05, 176.9k tok/s, FP8: False", 10, 9.2617, {}, 176900},
      {"iter 1: loss nan, time 1.0ms", 1, kNan, 0.001, {}},
      // lit-gpt
      {"iter 44: loss 4.6250, iter time: 385.25ms, t: 4096", 44, 4.625, 0.38525, {}},
      {"Epoch 3 | iter 722 step 722 | loss train: 1.012, val: 1.039 | iter time: 707.27 ms (step)",
       722,
       1.012,
       0.70727,
       {}},
      // MaxText (pull requests 761, 4847, issue 8)
      {"completed step: 9, seconds: 1.341, TFLOP/s/device: 257.929, Tokens/s/device: 36653.244, loss: 0.000",
       9, 0.0, 1.341, 36653.244},
      {"I0811 21:54:55.531340 138304841739136 metric_logger.py:226] completed step: 1, seconds: 0.631, "
       "TFLOP/s/device: 5688.282, Tokens/s/device: 311629.521, total_weights: 1572864, loss: 12.979",
       1, 12.979, 0.631, 311629.521},
      // fairseq (issues 301, 940)
      {"| epoch 001:    450 / 1891 loss=11.521, nll_loss=10.881, ppl=1886.05, wps=52922, ups=0.5, "
       "wpb=104928, "
       "bsz=5325, num_updates=445, lr=8.90889e-05, gnorm=1.543, clip=0%, oom=0, wall=882, train_wall=756",
       445,
       11.521,
       {},
       52922},
      {"| epoch 010  2000 / 8223 loss=1.27 (1.50), wps=962, wpb=908, bsz=32, lr=0.001, clip=100%",
       2000,
       1.27,
       {},
       962},
      // OpenMMLab (open-mmlab/mmdetection issue 2672)
      {"2020-05-08 18:56:16,649 - mmdet - INFO - Epoch [1][2400/7517]\tlr: 0.00125, eta: 4:33:09, time: "
       "0.595, "
       "data_time: 0.032, memory: 6836, loss_rpn_cls: 0.0989, acc: 93.4961, loss: 0.4890",
       2400,
       0.489,
       0.595,
       {}},
      // detectron2
      {"[01/29 06:25:28 d2.utils.events]: eta: 0:00:00  iter: 999  total_loss: 1.104  loss_cls: 0.210  "
       "loss_box_reg: 0.342  time: 0.6797  data_time: 0.1221  lr: 0.00025",
       999,
       1.104,
       0.6797,
       {}},
      {"[04/12 05:09:22 c2.utils.dump.events]: eta: 0:00:00  iter: 45000/45000  total_loss: 0.477  loss_cls: "
       "0.191  time: 0.8782  data_time: 0.0347  lr: 0.000600",
       45000,
       0.477,
       0.8782,
       {}},
      // PyTorch examples
      {"Train Epoch: 1 [640/60000 (1%)]\tLoss: 1.384441", 640, 1.384441, {}, {}},
      {"Epoch: [0][  10/1307]\tTime  0.779 ( 5.211)\tData  0.000 ( 0.060)\tLoss 2.3915e+01 "
       "(1.5221e+01)\tAcc@1 "
       "  0.00 (  5.68)",
       10,
       23.915,
       0.779,
       {}},
      // timm
      {"Train: 0 [  50/10009 (  0%)]  Loss:  6.926911 (6.9269)  Time: 1.820s,   70.32/s  (1.820s,   70.32/s) "
       " "
       "LR: 5.000e-07  Data: 1.382 (1.382)",
       50,
       6.926911,
       1.82,
       {}},
      // Keras
      {"543/570 [===========================>..] - ETA: 0s - loss: 1.3738 - accuracy: 0.6358",
       543,
       1.3738,
       {},
       {}},
      // PaddleNLP
      {"[2022-08-31 16:19:16,008] [    INFO] - loss: 3.25806541, learning_rate: 2.999e-05, global_step: 10, "
       "interval_runtime: 2.2591, interval_samples_per_second: 3.541, epoch: 0.0265",
       10,
       3.25806541,
       {},
       {}},
      // MindSpore
      {"epoch: 1 step: 100, loss is 7.793933868408203", 100, 7.793933868408203, {}, {}},
      {"epoch: 0, step: 100, loss is 0.6854114", 100, 0.6854114, {}, {}},
      // verl
      {"(TaskRunner pid=247607) step:1 - global_seqlen/min:159906 - global_seqlen/max:159906 - "
       "actor/entropy:0.0976 - timing_s/step:38.46",
       1,
       {},
       38.46,
       {}},
      {"Training Progress:   1%|          | 1/140 [00:49<1:53:43, 49.09s/it]", 1, {}, 49.09, {}},
      // OLMo
      {"[2024-04-17 09:44:11] INFO     [olmo.train:816, rank=0] [step=10/739328]", 10, {}, {}, {}},
      // Composer (mosaicml/composer pull request 1884)
      {"[batch=1/3]:", 1, {}, {}, {}},
      // llm.c
      {"step    5/18865 | loss 10.95 (+nanz)| norm 15.31 (+nanz)| lr 4.29e-07 | 3056.36 ms | 42.6% bf16 MFU "
       "| "
       "171545 tok/s",
       5, 10.95, 3.05636, 171545},
      // modded-nanogpt
      {"step:10/5100 train_loss:7.5123 train_time:1523ms step_avg:152.3ms", 10, 7.5123, 0.1523, {}},
      // JSON
      {R"({"step": 1200, "loss": 2.25, "lr": 0.0003, "step_time": 0.75})", 1200, 2.25, 0.75, {}},
      // common forms of own loops
      {"Step [200/1000], Loss: 0.4312", 200, 0.4312, {}, {}},
      {"Epoch 2/10, Batch 100/500, Loss: 0.5121", 100, 0.5121, {}, {}},
      {"global_step=1500", 1500, {}, {}, {}},
      {"ep 1 it 200 loss 0.532 time 0.31s", 200, 0.532, 0.31, {}},
      {"[Rank 0] step 100 | loss 1.23 | 812.1 ms/step", 100, 1.23, 0.8121, {}},
      {"INFO:tensorflow:loss = 0.693, step = 200 (1.234 sec)", 200, 0.693, {}, {}},
      {"Iter(train) [   50/80000]  lr: 9.9e-03  eta: 10:22:11  time: 0.4670  data_time: 0.0070  loss: 3.1",
       50,
       3.1,
       0.467,
       {}},
      {"      1/100      4.2G      1.234     0.8123     45        640:  12%|#| 20/160 [00:05<00:35,  "
       "4.00it/s]",
       20,
       {},
       0.25,
       {}},
      {"[worker 3] step=100", 100, {}, {}, {}},
      {"global_step=1500 train_loss=3.25e-01", 1500, 0.325, {}, {}},
      {"2026-01-01 INFO trainer: step 12,000 | loss=1.98 | 0.5 s/step | lr=3e-4", 12000, 1.98, {}, {}},
  };
  return lines;
}

void expect_near(const std::optional<double>& got, const std::optional<double>& expected,
                 std::string_view line) {
  ASSERT_EQ(got.has_value(), expected.has_value()) << line;
  if (!got) return;
  if (std::isnan(*expected))
    EXPECT_TRUE(std::isnan(*got)) << line;
  else
    EXPECT_NEAR(*got, *expected, std::abs(*expected) * 1e-6) << line;
}

TEST(StepPatterns, steps_of_frameworks_are_read) {
  for (const Known& known : known_lines()) {
    const LineFacts facts = read_line(known.line);
    ASSERT_TRUE(facts.counter) << known.line;
    EXPECT_EQ(facts.counter->number, known.number) << known.line;
    EXPECT_NE(facts.counter->kind, CounterKind::named) << known.line;
    expect_near(facts.values.loss, known.loss, known.line);
    if (known.step_s) expect_near(facts.values.step_s, known.step_s, known.line);
    expect_near(facts.values.tokens_s, known.tokens_s, known.line);
    EXPECT_FALSE(facts.phase) << known.line;
  }
}

// Lines that hold a step word, a bar or a rising number, and state no step of training.
TEST(StepPatterns, other_lines_are_not_taken_for_steps) {
  const std::vector<std::string_view> lines{
      "time (ms) | forward: 652.41 | backward: 2164.53 | backward_inner: 2001.89 | step: 1172.13",
      "[2023-07-25 21:03:17,269] [INFO] [logging.py:96:log_dist] [Rank 0] rank=0 time (ms) | "
      "forward_microstep: "
      "652.42 | step_microstep: 1172.13",
      "[INFO] [loss_scaler.py:190:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss "
      "scale: "
      "65536, but hysteresis is 2. Reducing hysteresis to 1",
      "  train_iters ..................................... 500000",
      "  eval_interval ................................... 1000",
      "  Total optimization steps = 24128",
      "  Gradient Accumulation steps = 4",
      "max_steps: 1000, warmup_steps: 500, save_steps: 200",
      "Num warmup steps: 2000",
      "--max-steps 1000 --log-interval 10",
      "Step 3/12 : RUN pip install -r requirements.txt",
      "Loading checkpoint shards:  50%|#####     | 2/4 [00:10<00:10,  5.20s/it]",
      "Map:  12%|#2        | 120/1000 [00:00<00:01, 900.12 examples/s]",
      "Downloading shards:   8%|8         | 1/12 [00:21<03:51, 21.03s/it]",
      "model-00001.safetensors:  12%|#2        | 1.2G/10G [00:31<03:40, 40.1MB/s]",
      "Evaluating:  40%|####      | 20/50 [00:05<00:07, 4.01it/s]",
      "Sanity Checking DataLoader 0:  50%|#####     | 1/2 [00:00<00:00,  1.44it/s]",
      "Validation DataLoader 0: 100%|##########| 10/10 [00:03<00:00,  3.05it/s]",
      "Fetching 12 files:  50%|#####     | 6/12 [00:01<00:01,  4.33it/s]",
      "Resuming training from step 12000, lr 1e-4",
      "srun: job 4711 queued and waiting for resources",
      "slurmstepd: error: *** STEP 4711.0 ON node17 CANCELLED AT 2026-01-01T00:00:00 ***",
      "  File \"/opt/train.py\", line 123, in step",
      "Warning: Detected call of `lr_scheduler.step()` before `optimizer.step()`.",
      "[rank3]:[E ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout: "
      "WorkNCCL(SeqNum=123, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600123 ms",
      "node1:4711:4811 [0] NCCL INFO Channel 00/32 :    0   1   2   3",
      "10.0.0.1 - - [01/Jan/2026:00:00:00 +0000] \"GET /step/12 HTTP/1.1\" 200 -",
      "INFO 01-01 00:00:00 metrics.py:345] Avg prompt throughput: 120.5 tokens/s, Running: 3 reqs, Waiting: "
      "0",
      "number of parameters: 123.59M",
      "tokens per iteration will be: 491,520",
      "num decayed parameter tensors: 50, with 124,354,560 parameters",
      "Retrying (attempt 3/5): connection refused",
      "denoising step 12/50: 1.2 s/step",
      "Early stopping at step 500",
      "Starting training from iteration 1000 to 5000",
      " > resuming from iteration 1000",
      "I0101 12:00:00.000000 140 basic_session_run_hooks.py:692] global_step/sec: 81.2",
      "Tokenizing:  12%|#2 | 120/1000 [00:01<00:09, 95.1it/s]",
      "Learning rate decays by 0.1 every 30 steps",
      "time step: 0.01, solver iterations 20",
      "epoch 3",
      "Setting ds_accelerator to cuda (auto detect)",
      "W0811 torch/distributed/run.py:779] Setting OMP_NUM_THREADS environment variable for each process to "
      "be 1",
      "Loss: 2.31",
      "iteration over the dataset took 3.1 s",
      "step-by-step guide: see README",
      "gpu 0 step clock 1755 MHz",
      "wandb: Run data is saved locally in /root/run-20260131_111743",
      "",
      "12345",
      "100%",
      std::string_view("\x00\xff\xfe step", 8),
  };
  for (const std::string_view line : lines) {
    const LineFacts facts = read_line(line);
    if (facts.counter)
      EXPECT_EQ(facts.counter->kind, CounterKind::named) << line << ": " << facts.counter->key;
  }
}

// Without a value beside it, a number counts only if it rises in several lines (StepLines).
TEST(StepPatterns, a_step_word_alone_is_weak) {
  const LineFacts facts = read_line("Dumping profiler traces at step 200");
  EXPECT_FALSE(facts.counter);
  const LineFacts weak = read_line("finished iteration 7");
  ASSERT_TRUE(weak.counter);
  EXPECT_EQ(weak.counter->kind, CounterKind::named);
}

struct KnownPhase {
  std::string_view line;
  Phase phase;
  Edge edge;
};

TEST(StepPatterns, phases_of_frameworks_are_read) {
  const std::vector<KnownPhase> lines{
      {"saving checkpoint at iteration    1000 to /ckpt in torch_dist format", Phase::checkpoint,
       Edge::begin},
      {"  successfully saved checkpoint from iteration    1000 to /ckpt", Phase::checkpoint, Edge::end},
      {"[titan] Saving the checkpoint.", Phase::checkpoint, Edge::begin},
      {"[rank0]:2025-04-01 00:25:59,616 - root - INFO - Finished saving the checkpoint (or staging if async "
       "is "
       "enabled)in 5.53 seconds.",
       Phase::checkpoint, Edge::end},
      {"Saving model checkpoint to out/checkpoint-500", Phase::checkpoint, Edge::begin},
      {"Model weights saved in out/checkpoint-500/model.safetensors", Phase::checkpoint, Edge::end},
      {"[2026-01-01] [INFO] [torch_checkpoint_engine.py:21:save] [Torch] Saving ckpt/mp_rank_00_model.pt...",
       Phase::checkpoint, Edge::begin},
      {"[2026-01-01] [INFO] [torch_checkpoint_engine.py:23:save] [Torch] Saved ckpt/mp_rank_00_model.pt.",
       Phase::checkpoint, Edge::end},
      {" loading checkpoint from /ckpt at iteration 1000", Phase::load, Edge::begin},
      {"  successfully loaded checkpoint from /ckpt at iteration 1000", Phase::load, Edge::end},
      {"***** Running Evaluation *****", Phase::evaluate, Edge::begin},
      {"{'eval_loss': 0.52, 'eval_runtime': 12.1, 'epoch': 1.0}", Phase::evaluate, Edge::end},
      {"validation loss at iteration 1000 | lm loss value: 2.3E+00 | lm loss PPL: 1.0E+01 |", Phase::evaluate,
       Edge::end},
      {"step 0: train loss 10.9210, val loss 10.9209", Phase::evaluate, Edge::end},
      {"| epoch 001 | valid on 'valid' subset | valid_loss 8.11425 | num_updates 600", Phase::evaluate,
       Edge::end},
      {"Test set: Average loss: 0.0468, Accuracy: 9850/10000 (99%)", Phase::evaluate, Edge::end},
      {"compiling the model... (takes a ~minute)", Phase::compile, Edge::begin},
  };
  for (const KnownPhase& known : lines) {
    const LineFacts facts = read_line(known.line);
    ASSERT_TRUE(facts.phase) << known.line;
    EXPECT_EQ(facts.phase->phase, known.phase) << known.line;
    EXPECT_EQ(facts.phase->edge, known.edge) << known.line;
    EXPECT_FALSE(facts.counter) << known.line;
  }
  for (const std::string_view line :
       {"not saving checkpoint at iteration 3", "save_interval: 500, checkpoint_dir: /ckpt",
        "Will be saving checkpoints every 500 steps", "eval_iters ................ 10",
        "error: could not save checkpoint"})
    EXPECT_FALSE(read_line(line).phase) << line;
}

TEST(StepPatterns, the_rank_of_a_shared_log_is_read) {
  EXPECT_EQ(read_line("[rank3]: step 5 loss 2.0").rank, 3);
  EXPECT_EQ(read_line("[default7]:iteration 5/ 10 | lm loss: 2.0 |").rank, 7);
  EXPECT_FALSE(read_line("step 5 loss 2.0 on rank 3").rank);
}

TEST(StepPatterns, huge_and_binary_lines_are_read) {
  std::string line(std::size_t{1} << 20, 'x');
  EXPECT_FALSE(read_line(line).counter);
  line = std::string(16000, '9') + " step " + std::string(400, '9') + " loss 1e999";
  EXPECT_FALSE(read_line(line).counter);
  std::string binary;
  for (int i = 0; i < 4096; ++i)
    binary += static_cast<char>(i % 256);
  (void)read_line(binary);
}

}  // namespace
}  // namespace autopilot::collect::step_patterns_test
