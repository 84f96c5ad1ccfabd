#include "engine/execute/loaded_kernels.h"

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "core/ignore_errors.h"
#include "core/log.h"
#include "kernels/copy_pieces.h"
#include "plan/pieces/piece_kernels.h"

namespace polypath::engine {
namespace {

// A program may make and drop streams for ever.
constexpr std::size_t kMostUses = 64;

}  // namespace

LoadedKernels::LoadedKernels(Driver& driver, const Machine& machine)
    : driver_(driver),
      machine_(machine),
      states_(machine.places.size(), State::missing),
      handles_(2 * machine.places.size()) {}

LoadedKernels::~LoadedKernels() {
  for (const auto& [stream, event] : uses_) {
    if (!ignore_errors([&, used = event] { driver_.synchronize(used); })) lost_ = true;
    ignore_errors([&, used = event] { driver_.destroy_event(used); });
  }
  if (lost_) return;
  for (const KernelHandle kernel : handles_)
    if (kernel.value != 0) ignore_errors([&] { driver_.unload_kernel(kernel); });
}

LoadedKernels::OfGpu LoadedKernels::make(PlaceId gpu) const noexcept {
  OfGpu made;
  try {
    for (const std::size_t most : {kMostPiecesOfSmallKernel, kMostPiecesOfKernel})
      made.push_back(driver_.load_kernel(gpu, copy_pieces_kernel(most)));
    return made;
  } catch (const std::exception& error) {
    log(LogLevel::info, fmt::format("small pieces are copied without kernels of {}: {}",
                                    machine_.place(gpu).name, error.what()));
  }
  for (const KernelHandle kernel : made) ignore_errors([&] { driver_.unload_kernel(kernel); });
  return {};
}

void LoadedKernels::install(PlaceId gpu, OfGpu made) {
  states_[gpu.index()] = made.empty() ? State::unusable : State::ready;
  for (std::size_t k = 0; k < made.size(); ++k) handles_[2 * gpu.index() + k] = made[k];
}

void LoadedKernels::expect_use(StreamHandle stream, PlaceId gpu) {
  const std::pair use{stream, gpu};
  if (uses_.contains(use)) return;
  if (uses_.size() >= kMostUses) forget_finished();
  uses_[use] = driver_.create_event(gpu);
}

void LoadedKernels::note_use(StreamHandle stream, PlaceId gpu) noexcept {
  const EventHandle ended = uses_.at({stream, gpu});
  if (ignore_errors([&] { driver_.record(ended, stream); })) return;
  if (!ignore_errors([&] { driver_.synchronize(stream); })) lost_ = true;
}

void LoadedKernels::forget_finished() {
  std::erase_if(uses_, [this](const auto& use) {
    bool done = false;
    if (!ignore_errors([&] { done = driver_.is_done(use.second); }) || !done) return false;
    ignore_errors([&] { driver_.destroy_event(use.second); });
    return true;
  });
}

}  // namespace polypath::engine
