#include "plan/pieces/piece_kernels.h"

#include <algorithm>

#include "kernels/copy_pieces.h"
#include "plan/single/sparsify_shares.h"

namespace polypath::plan {
namespace {

bool is_peerless(const Machine& machine, HopId hop) {
  return machine.hop(hop).kind == HopKind::driver_staged;
}

class KernelsBuilder {
 public:
  KernelsBuilder(const Machine& machine, std::span<const Bytes> sizes, const DealtPieces& dealt,
                 PlaceId issuer)
      : machine_(machine), sizes_(sizes), dealt_(dealt), issuer_(issuer) {
    const Path& path = dealt.paths.front();
    const HopId last = path.staged() ? path.second : path.first;
    for (std::size_t piece = 0; piece < sizes.size(); ++piece) {
      program_.add(ProgramBuffer{machine.hop(path.first).source});
      program_.add(ProgramBuffer{machine.hop(last).destination});
    }
  }

  // The work in the caller's own stream has no event to wait for, so it is added last.
  Program build() {
    for (const bool by_issuer : {false, true})
      for (std::size_t path = 0; path < dealt_.paths.size(); ++path)
        if ((carrier(path) == issuer_) == by_issuer) add_path(path);
    return std::move(program_);
  }

 private:
  [[nodiscard]] PlaceId carrier(std::size_t path) const {
    return carrier_of(machine_, dealt_.paths[path]).value_or(PlaceId{});
  }

  void add_path(std::size_t path) {
    std::vector<std::size_t> pieces;
    for (const PieceBatch& batch : dealt_.batches)
      for (std::size_t k = 0; k < batch.count && batch.path == path; ++k)
        pieces.push_back(batch.first + k);
    const int queue =
        carrier(path) == issuer_ ? Program::kCallersQueue : program_.add(Queue{{}, carrier(path)});
    for (std::size_t first = 0; first < pieces.size(); first += kMostPiecesOfKernel) {
      const std::size_t count = std::min(kMostPiecesOfKernel, pieces.size() - first);
      program_.add(call_of(path, std::span(pieces).subspan(first, count)), queue);
    }
  }

  [[nodiscard]] KernelCall call_of(std::size_t path, std::span<const std::size_t> pieces) const {
    std::vector<Bytes> sizes;
    KernelCall call{.kernel = piece_kernel(carrier(path), pieces.size()),
                    .gpu = carrier(path),
                    .memory = {},
                    .shape = {.blocks = static_cast<unsigned>(machine_.driver.kernel_blocks),
                              .threads_per_block = kPieceKernelThreads},
                    .duration = machine_.driver.kernel_latency,
                    .path = static_cast<int>(path)};
    call.memory.reserve(2 * pieces.size());
    sizes.reserve(pieces.size());
    for (const std::size_t piece : pieces) {
      const Bytes size = sizes_[piece];
      call.memory.push_back({.slice = {source_buffer(piece), {}}, .bytes = size});
      call.memory.push_back(
          {.slice = {destination_buffer(piece), {}}, .bytes = size, .writes = true});
      sizes.push_back(size);
    }
    call.values = piece_values(sizes);
    return call;
  }

  const Machine& machine_;
  std::span<const Bytes> sizes_;
  const DealtPieces& dealt_;
  PlaceId issuer_;
  Program program_;
};

}  // namespace

std::optional<PlaceId> carrier_of(const Machine& machine, const Path& path) {
  if (is_peerless(machine, path.first)) return std::nullopt;
  if (!path.staged()) return machine.executing_gpu(path.first);
  const PlaceId relay = staging_place(machine, path);
  if (machine.place(relay).kind != PlaceKind::gpu || is_peerless(machine, path.second))
    return std::nullopt;
  return relay;
}

std::vector<Path> carried_paths(const Machine& machine, const std::vector<Path>& paths) {
  std::vector<Path> carried;
  std::copy_if(paths.begin(), paths.end(), std::back_inserter(carried),
               [&](const Path& path) { return carrier_of(machine, path).has_value(); });
  return carried;
}

std::vector<double> carried_shares(const Machine& machine, const ResourceModel& resources,
                                   const std::vector<Path>& paths, Bytes piece, Bytes total,
                                   std::size_t most) {
  const double efficiency = machine.driver.kernel_efficiency;
  std::vector<SharedPath> problem;
  for (const Path& path : paths) {
    SharedPath shared{{}, {}};
    double slowest = 0;  // seconds per byte
    for (const HopId hop : {path.first, path.second}) {
      if (!hop.valid()) continue;
      slowest = std::max(slowest, 1 / machine.hop(hop).bandwidth.value);
      for (Use claim : resources.claims(hop))
        if (machine.resource(claim.resource).copies_at_once == 0)
          shared.claims.push_back({claim.resource, claim.weight / efficiency});
    }
    merge_claims(shared.claims);
    shared.time = {slowest / efficiency, machine.driver.kernel_latency};
    problem.push_back(std::move(shared));
  }
  return sparsify_shares(std::move(problem), resources.capacities(), total, piece, most);
}

int piece_kernel(PlaceId gpu, std::size_t pieces) {
  return 2 * gpu.value + (pieces > kMostPiecesOfSmallKernel ? 1 : 0);
}

Program kernels_of(const Machine& machine, std::span<const Bytes> sizes, const DealtPieces& dealt,
                   PlaceId issuer) {
  return KernelsBuilder(machine, sizes, dealt, issuer).build();
}

}  // namespace polypath::plan
