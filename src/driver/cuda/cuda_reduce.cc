// Reductions on GPUs: a kernel of ours, loaded for a GPU when it reduces for the first time.

#include <array>

#include "driver/cuda/cuda_driver.h"
#include "kernels/reduce.h"

namespace polypath::cuda {

KernelHandle CudaDriver::reduce_kernel_of(PlaceId gpu) {
  const std::scoped_lock lock(mutex_);
  KernelHandle& kernel = reduce_kernels_[gpu];
  if (kernel.value == 0) kernel = load_kernel(gpu, polypath::reduce_kernel());
  return kernel;
}

KernelRequest CudaDriver::reduce_request(const CopyRequest& request, const Reduction& reduction) {
  check_reduction(request, reduction);
  const PlaceId gpu = request.destination_place;
  const KernelMemory into{.address = request.destination, .place = gpu, .bytes = request.bytes};
  KernelMemory result = into;
  result.writes = true;
  return {
      .kernel = reduce_kernel_of(gpu),
      .gpu = gpu,
      .memory = {result, into, {.address = request.source, .place = gpu, .bytes = request.bytes}},
      .values = reduce_values(reduction, request.bytes, std::array{reduction.into, reduction.from}),
      .shape = reduce_shape(request.bytes),
      .label = request.label};
}

void CudaDriver::reduce(const CopyRequest& request, const Reduction& reduction,
                        StreamHandle stream) {
  run(reduce_request(request, reduction), stream);
}

}  // namespace polypath::cuda
