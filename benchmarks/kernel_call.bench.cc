// What a small collective costs the calling thread beside the driver and the ranks' book-keeping: a
// program of one kernel, which exchanges messages with seven others, and an event after it. The
// CUDA driver's functions do nothing (null_cuda/).

#include <benchmark/benchmark.h>

#include "core/settings.h"
#include "driver/cuda/cuda_driver.h"
#include "engine/execute/stream_executor.h"
#include "kernels/mail.h"
#include "machine/load_machine.h"

namespace polypath::bench {
namespace {

constexpr int kRanks = 8;

// Rank 0's part of an all-reduce of 8 KiB.
class OneKernel {
 public:
  OneKernel()
      : machine_(load_machine("h200x8")),
        driver_(machine_, {.peer_access = false}),  // no bytes arrive here
        hops_(driver_, machine_, Settings{}),
        executor_(driver_, hops_),
        kernel_(driver_.load_kernel({0}, kernel())),
        // That of a framework, as torch.cuda.current_stream has it.
        stream_(driver_.foreign_stream({0}, 0)),
        ended_(driver_.create_event({0})) {
    for (int rank = 0; rank <= kRanks; ++rank)
      (void)program_.add(ProgramBuffer{.place = {rank == 0 ? 0 : rank - 1}});
    (void)program_.add(call(), Program::kCallersQueue);
    program_.assign_events();
  }

  void run() {
    const Transfer transfer{.program = &program_,
                            .buffers = buffers_,
                            .stream = stream_,
                            .stream_gpu = {0},
                            .kernels = {&kernel_, 1}};
    executor_.prepare(transfer);
    executor_.run(transfer);
    driver_.record(ended_, stream_);
  }

 private:
  // The image is one that nobody looks at.
  static Kernel kernel() {
    Kernel made = mail_kernel(MailUse::reduce);
    made.image = "PTX";
    return made;
  }
  static KernelCall call() {
    const MailCall mail{.mail = {.use = MailUse::reduce,
                                 .message = 8_KiB,
                                 .stride = 8_KiB,
                                 .end = 8_KiB,
                                 .same_for_all = true},
                        .reduction = {ReduceOperator::sum, ElementType::float32},
                        .ranks = kRanks,
                        .box = box_for(8_KiB)};
    KernelCall made{.gpu = {0},
                    .memory = {{.slice = {0, {}}, .bytes = 8_KiB},
                               {.slice = {0, {}}, .bytes = 8_KiB, .writes = true}},
                    .values = mail_values(mail),
                    .shape = mail_shape(mail)};
    for (int rank = 1; rank <= kRanks; ++rank)
      made.memory.push_back({.slice = {rank, {}}, .bytes = 8_KiB, .writes = true});
    return made;
  }

  Machine machine_;
  cuda::CudaDriver driver_;
  Hops hops_;
  StreamExecutor executor_;
  KernelHandle kernel_;
  StreamHandle stream_;
  EventHandle ended_;
  Program program_;
  std::vector<Address> buffers_ = std::vector<Address>(kRanks + 1, Address{4096});
};

void enqueue_one_kernel(benchmark::State& state) {
  OneKernel one;
  for (auto _ : state) one.run();
}
BENCHMARK(enqueue_one_kernel);

}  // namespace
}  // namespace polypath::bench
