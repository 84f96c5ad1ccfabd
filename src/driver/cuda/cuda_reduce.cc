#include "driver/cuda/cuda_reduce.h"

#include <array>

#include "kernels/reduce.h"

namespace polypath::cuda {

CudaReductions::CudaReductions(CudaKernels& kernels, const Contexts& contexts)
    : kernels_(kernels), kernel_(kernels, contexts, &reduce_kernel) {}

KernelRequest CudaReductions::request_of(const CopyRequest& request, const Reduction& reduction) {
  check_reduction(request, reduction);
  const PlaceId gpu = request.destination_place;
  const KernelMemory into{.address = request.destination, .place = gpu, .bytes = request.bytes};
  KernelMemory result = into;
  result.writes = true;
  return {
      .kernel = kernel_.of(gpu),
      .gpu = gpu,
      .memory = {result, into, {.address = request.source, .place = gpu, .bytes = request.bytes}},
      .values = reduce_values(reduction, request.bytes, std::array{reduction.into, reduction.from}),
      .shape = reduce_shape(request.bytes),
      .label = request.label};
}

void CudaReductions::reduce(const CopyRequest& request, const Reduction& reduction,
                            StreamHandle stream) {
  kernels_.run(request_of(request, reduction), stream);
}

}  // namespace polypath::cuda
