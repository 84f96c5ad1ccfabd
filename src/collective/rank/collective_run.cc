#include "collective/rank/collective_run.h"

#include "collective/program/tuning.h"
#include "engine/call/copy_call.h"

namespace polypath::collective {

CollectiveRun::CollectiveRun(Driver& driver, const Machine& machine, const Settings& settings)
    : driver_(driver),
      hops_(driver, machine, with_collective_slots(settings, machine)),
      kernels_(driver, machine),
      mailboxes_(driver),
      streams_(driver, hops_),
      graphs_(driver, hops_, settings, statistics_),
      ended_(driver) {}

CollectiveRun::~CollectiveRun() {
  if (last_.value == 0) return;
  if (!ignore_errors([&] { driver_.synchronize(last_); })) hops_.lose_rings();
}

void CollectiveRun::wait_for_earlier(StreamHandle stream) {
  if (last_.value != 0 && stream != last_stream_) driver_.wait(stream, last_);
}

template <class Runner>
void CollectiveRun::run_by(Runner& executor, const Transfer& transfer) {
  executor.prepare(transfer);
  const EventHandle ended = ended_.on(transfer.stream_gpu);
  try {
    wait_for_earlier(transfer.stream);
    executor.run(transfer);
    driver_.record(ended, transfer.stream);
  } catch (const Error& error) {
    if (!hops_.settle(transfer)) throw UnsettledError(error.code(), error.what());
    throw;
  }
  last_ = ended, last_stream_ = transfer.stream;
}

void CollectiveRun::run(const CollectiveProgram& program, std::span<const Address> buffers,
                        StreamHandle stream, PlaceId gpu) {
  kernels_.prepare(program.program);
  const std::vector<Address> addresses = mailboxes_.addresses(program.program, buffers);
  const Transfer transfer{.program = &program.program,
                          .structure = program.structure,
                          .buffers = addresses,
                          .stream = stream,
                          .stream_gpu = gpu,
                          .id = ++runs_,
                          .kernels = kernels_.handles()};
  if (program.executor == Executor::graph) run_by(graphs_, transfer);
  else run_by(streams_, transfer);
}

}  // namespace polypath::collective
