// Reductions of the simulated driver: kernels with a stated cost (Machine::reduction_time).

#include <fmt/format.h>

#include "core/error.h"
#include "driver/sim/sim_driver.h"

namespace polypath::sim {

void SimDriver::check_reduction(const CopyRequest& request, const Reduction& reduction) const {
  check_copy(request);
  check_gpu(request.destination_place);
  polypath::check_reduction(request, reduction);
}

void SimDriver::check_stream(const Stream& stream, StreamHandle handle, PlaceId gpu,
                             const char* what) const {
  if (stream.gpu == gpu) return;
  fail(ErrorCode::invalid_argument,
       fmt::format("stream {} cannot {} of {}", handle.value, what, machine_.place(gpu).name),
       fmt::format("it belongs to {}", machine_.place(stream.gpu).name),
       "Pass a stream of that GPU.");
}

void SimDriver::reduce(const CopyRequest& request, const Reduction& reduction,
                       StreamHandle stream) {
  const std::scoped_lock lock(mutex_);
  Stream& target = stream_of(stream);
  check_reduction(request, reduction);
  check_stream(target, stream, request.destination_place, "reduce memory");
  count(Call::reduce);
  enqueue(request, {}, reduction, target);
}

}  // namespace polypath::sim
