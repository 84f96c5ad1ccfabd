#include "mpi/windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/ignore_errors.h"
#include "core/log.h"
#include "core/plain_memory.h"
#include "mpi/ucx.h"

namespace polypath::mpi {
namespace {

// What a rank says of its part of a new window.
constexpr unsigned kOnGpu = 1, kWrong = 2;

constexpr const char* kWrongElsewhere = "MPI refuses what another rank has passed";

}  // namespace

Windows::Windows(const Library& library, Open open, GpuOf gpu_of,
                 std::function<bool(Handle)> serves, std::function<void()> wait)
    : library_(library),
      open_(std::move(open)),
      gpu_of_(gpu_of),
      serves_(std::move(serves)),
      wait_(std::move(wait)),
      calls_(library, gpu_of) {}

std::shared_ptr<Window> Windows::find(Handle window) const {
  if (count_.load(std::memory_order_relaxed) == 0) return nullptr;
  const std::shared_lock lock(mutex_);
  const auto found = known_.find(window);
  return found == known_.end() ? nullptr : found->second;
}

std::shared_ptr<Window> Windows::keep(Handle window, std::unique_ptr<DeviceWindow> device) {
  auto made = std::make_shared<Window>(library_, open_, calls_, counts_, std::move(device));
  const std::scoped_lock lock(mutex_);
  const auto kept = known_.emplace(window, std::move(made)).first->second;
  count_ = static_cast<int>(known_.size());
  return kept;
}

// The host reads and writes managed memory: it is MPI's. Where no GPU can be opened, that is said
// once all ranks know of this rank's memory.
bool Windows::is_on_gpu(const void* memory, Count bytes) const {
  if (memory == nullptr || bytes <= 0 || !gpu_of_(memory)) return false;
  bool is_managed = false;
  ignore_errors([&] {
    const auto found = open_(GpusOf::process).driver.find_memory(address_of(memory));
    is_managed = found && found->kind == MemoryKind::managed;
  });
  return !is_managed;
}

bool Windows::is_served(Handle comm) const {
  int size = 0;
  library_.real.Comm_size(comm, &size);
  return size == 1 || serves_(comm);
}

unsigned Windows::said_by_any(Handle comm, unsigned mine) const {
  int size = 0;
  library_.real.Comm_size(comm, &size);
  const auto own = static_cast<unsigned char>(mine);
  std::vector<unsigned char> all(static_cast<std::size_t>(size));
  library_.real.Allgather(&own, 1, library_.byte, all.data(), 1, library_.byte, comm);
  return std::accumulate(all.begin(), all.end(), 0U, std::bit_or<>());
}

bool Windows::are_mpis() const { return library_.takes_gpu_memory() || windows_go_by_ucx(); }

// All ranks have it, or none uses it.
std::unique_ptr<DeviceWindow> Windows::device_window(Handle comm) const {
  const Functions& real = library_.real;
  WindowRanks ranks;
  real.Comm_rank(comm, &ranks.rank);
  real.Comm_size(comm, &ranks.size);
  real.Comm_split(comm, 0, ranks.rank, &ranks.comm);
  ranks.comm = library_.handle(ranks.comm);
  std::unique_ptr<WindowBoard> board;
  SharedPages::Name name;
  std::int64_t made = std::chrono::steady_clock::now().time_since_epoch().count();
  const auto try_to = [&](auto make_pages) {
    try {
      board = std::make_unique<WindowBoard>(make_pages(), ranks.rank);
      name = board->name();
    } catch (const Error& problem) {
      log(LogLevel::info, std::string("windows of MPI are left to it: ") + problem.what());
    }
  };
  if (ranks.rank == 0) try_to([] { return SharedPages::make(WindowBoard::bytes()); });
  real.Bcast(&name, sizeof name, library_.byte, 0, ranks.comm);
  real.Bcast(&made, sizeof made, library_.byte, 0, ranks.comm);
  ranks.age = {.made = made, .process = name.owner.number, .file = name.file};
  if (ranks.rank != 0 && name.file >= 0) try_to([&] { return SharedPages::open(name); });
  if (said_by_any(ranks.comm, board == nullptr ? kWrong : 0) == 0)
    return std::make_unique<DeviceWindow>(library_, open_, wait_, ranks, std::move(board));
  real.Comm_free(&ranks.comm);
  return nullptr;
}

Result Windows::create(const NewWindow& wanted, const RealCreate& real) {
  const auto by_mpi = [&] { return real(wanted.memory, wanted.bytes); };
  if (are_mpis() || wanted.comm == library_.no_communicator) return by_mpi();
  const bool is_here = is_on_gpu(wanted.memory, wanted.bytes == 0 ? 0 : 1);
  if (!is_served(wanted.comm))
    return is_here && !ucx_takes_gpu_memory() ? create_without_memory(wanted.comm, real) : by_mpi();
  const bool is_wrong = wanted.is_wrong();
  const unsigned all = said_by_any(wanted.comm, (is_here ? kOnGpu : 0) | (is_wrong ? kWrong : 0));
  if (is_wrong || (all & kOnGpu) == 0) return by_mpi();
  if ((all & kWrong) != 0) return refuse(wanted.comm, kWrongElsewhere);
  return create_on_gpus(wanted, is_here, real);
}

// The other ranks cannot be told: they may be without Polypath, and wait in MPI for this one.
Result Windows::create_without_memory(Handle comm, const RealCreate& real) const {
  const Result result = real(nullptr, 0);
  if (result != kSuccess) return result;
  return refuse(comm, "its ranks are not all on this computer, under Polypath");
}

Result Windows::create_on_gpus(const NewWindow& wanted, bool is_here, const RealCreate& real) {
  auto device = device_window(wanted.comm);
  DeviceWindow::Part mine;
  if (is_here) mine = {.memory = wanted.memory, .bytes = wanted.bytes, .unit = wanted.unit};
  if (device == nullptr || !device->share(mine))
    return refuse(wanted.comm, "not every rank can reach the memory of all others");
  const Result made = is_here ? real(nullptr, 0) : real(wanted.memory, wanted.bytes);
  return keep_if_made(wanted.comm, wanted.window, made, std::move(device));
}

// MPI frees a window by all ranks together: one that some of them do not have stays.
Result Windows::keep_if_made(Handle comm, const void* window, Result made,
                             std::unique_ptr<DeviceWindow> device) {
  if (device->is_so_at_all(made == kSuccess))
    keep(library_.handle_at(window, 0), std::move(device));
  else if (made == kSuccess) return refuse(comm, "MPI cannot make the window at another rank");
  return made;
}

Result Windows::create_dynamic(Handle comm, void* window, const RealSync& real) {
  std::unique_ptr<DeviceWindow> device;
  if (!are_mpis() && comm != library_.no_communicator && is_served(comm)) {
    const bool is_wrong = window == nullptr;
    const unsigned all = said_by_any(comm, is_wrong ? kWrong : 0);
    if (is_wrong) return real();
    if (all != 0) return refuse(comm, kWrongElsewhere);
    device = device_window(comm);
  }
  const Result made = real();
  return device == nullptr ? made : keep_if_made(comm, window, made, std::move(device));
}

Result Windows::attach(Handle window, void* memory, Count bytes, const RealSync& real) {
  const auto known = find(window);
  if (are_mpis() || !is_on_gpu(memory, bytes)) return real();
  if (known == nullptr || known->device() == nullptr)
    return ucx_takes_gpu_memory()
               ? real()
               : fail(window, "win_attach", "the window's ranks are not all here, under Polypath");
  try {
    known->device()->attach(memory, bytes);
    return kSuccess;
  } catch (const Error& problem) {
    return fail(window, "win_attach", problem.what());
  }
}

Result Windows::detach(Handle window, const void* memory, const RealSync& real) {
  const auto known = find(window);
  const bool is_ours =
      known != nullptr && known->device() != nullptr && known->device()->detach(memory);
  return is_ours ? kSuccess : real();
}

// No rank frees its memory while another one still has it open.
Result Windows::free(Handle window, const RealSync& real) {
  const auto known = find(window);
  if (known != nullptr) {
    if (known->device() != nullptr) known->device()->close();
    const std::scoped_lock lock(mutex_);
    known_.erase(window);
    count_ = static_cast<int>(known_.size());
  }
  return real();
}

bool Windows::attribute(Handle window, int keyval, void* value, int* is_there) {
  const auto known = find(window);
  if (known == nullptr || known->device() == nullptr) return false;
  const auto* const part = known->device()->own_part();
  if (part == nullptr || (keyval != library_.window_base && keyval != library_.window_size))
    return false;
  const void* const found =
      keyval == library_.window_base ? part->memory : static_cast<const void*>(&part->bytes);
  std::memcpy(value, static_cast<const void*>(&found), sizeof found);
  *is_there = 1;
  return true;
}

// Null pointers are MPI_BOTTOM, with the types of programs alone.
bool Windows::is_plain_call(const OneSidedCall& call) const {
  const auto is_plain = [&](const Elements& each) {
    if (each.memory != nullptr) return is_plain_host_memory(each.memory);
    return each.count <= 0 || element_of(library_, each.type).has_value();
  };
  return is_plain(call.origin) && is_plain(call.compare) && is_plain(call.result) &&
         find(call.window) == nullptr;
}

Result Windows::call(const OneSidedCall& call, const RealOneSided& real, void* request) {
  auto known = find(call.window);
  const bool is_mpis =
      call.target < 0 || (known == nullptr && (!calls_.is_from_gpu(call) || are_mpis()));
  try {
    if (!is_mpis && known == nullptr) known = keep(call.window, nullptr);
    if (!is_mpis) return known->run(call, real, request);
  } catch (const Error& problem) {
    return fail(call.window, name_of(call.operation), problem.what());
  }
  return real(as_it_is(call, request));
}

Result Windows::synchronise(Handle window, const Synchronise& with, const RealSync& real) {
  const auto known = find(window);
  if (known == nullptr) return real();
  try {
    return with(*known);
  } catch (const Error& problem) {
    return fail(window, "window", problem.what());
  }
}

void Windows::end() noexcept {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<Window>> with_gpus;
  for (auto& [handle, window] : known_)
    if (window->device() != nullptr) with_gpus.push_back(std::move(window));
  known_.clear();
  std::ranges::sort(with_gpus, {}, [](const auto& window) { return window->device()->age(); });
  for (auto& window : with_gpus) window.reset();
  count_ = 0;
  calls_.end();
}

Result Windows::refuse(Handle comm, const char* why) const {
  log(LogLevel::error,
      fmt::format("MPI win_create: this window cannot have memory of GPUs ({}) Look at what all "
                  "ranks pass, use memory of the host, or an MPI that takes memory of GPUs.",
                  why));
  library_.real.Comm_call_errhandler(comm, library_.other_error);
  return library_.other_error;
}

// The program's handler may come back, and MPI then says that calling it was a success.
Result Windows::fail(Handle window, const char* what, const char* why) const {
  log(LogLevel::error, fmt::format("MPI {}: {}", what, why));
  library_.real.Win_call_errhandler(window, library_.other_error);
  return library_.other_error;
}

}  // namespace polypath::mpi
