#include "mpi/device_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/log.h"

namespace polypath::mpi {
DeviceWindow::DeviceWindow(const Library& library, const Open& open, std::function<void()> wait,
                           const WindowRanks& ranks, std::unique_ptr<WindowBoard> board)
    : library_(library),
      wait_(std::move(wait)),
      ranks_(ranks),
      board_(std::move(board)),
      parts_(open, ranks.rank) {}

DeviceWindow::~DeviceWindow() { library_.real.Comm_free(&ranks_.comm); }

bool DeviceWindow::is_so_at_all(bool here) const {
  const char mine = here ? 1 : 0;
  std::vector<char> all(static_cast<std::size_t>(ranks_.size));
  library_.real.Allgather(&mine, 1, library_.byte, all.data(), 1, library_.byte, ranks_.comm);
  return std::ranges::all_of(all, [](char each) { return each == 1; });
}

bool DeviceWindow::try_to_publish(const Part& mine) {
  try {
    if (mine.memory != nullptr) attach(mine.memory, mine.bytes);
    return true;
  } catch (const Error& problem) {
    log(LogLevel::error, fmt::format("MPI win_create: {}", problem.what()));
    return false;
  }
}

bool DeviceWindow::try_to_open_all() {
  try {
    for (int target = 0; target < ranks_.size; ++target)
      if (has_gpus(target)) (void)reach(target, 0, {});
    return true;
  } catch (const Error& problem) {
    log(LogLevel::error, fmt::format("MPI win_create: {}", problem.what()));
    return false;
  }
}

bool DeviceWindow::share(const Part& mine) {
  shared_.resize(static_cast<std::size_t>(ranks_.size));
  library_.real.Allgather(&mine, sizeof mine, library_.byte, shared_.data(), sizeof mine,
                          library_.byte, ranks_.comm);
  return is_so_at_all(try_to_publish(mine)) && is_so_at_all(try_to_open_all());
}

const DeviceWindow::Part* DeviceWindow::own_part() const {
  if (shared_.empty()) return nullptr;
  const Part& own = shared_[static_cast<std::size_t>(ranks_.rank)];
  return own.memory == nullptr ? nullptr : &own;
}

// Nothing is shared if this fails.
void DeviceWindow::attach(void* memory, Count bytes) {
  const auto [part, exported] =
      parts_.exported(address_of(memory), static_cast<std::uint64_t>(bytes));
  settle();
  board_->publish(part, exported);
}

bool DeviceWindow::detach(const void* memory) { return board_->withdraw(address_of(memory)); }

bool DeviceWindow::has_gpus(int target) const {
  return is_rank(target) &&
         (shared_.empty() || shared_[static_cast<std::size_t>(target)].memory != nullptr);
}

bool DeviceWindow::has_hosts(int target) const {
  return !is_rank(target) || shared_.empty() ||
         shared_[static_cast<std::size_t>(target)].memory == nullptr;
}

std::optional<Reached> DeviceWindow::reach(int target, Count displacement, const Range& range) {
  if (!has_gpus(target)) return std::nullopt;
  const Part part = shared_.empty() ? Part{} : shared_[static_cast<std::size_t>(target)];
  const std::uintptr_t begin =
      address_of(part.memory).value + static_cast<std::uintptr_t>(displacement * part.unit);
  const Address first{begin + static_cast<std::uintptr_t>(range.begin)};
  const auto bytes = static_cast<std::uint64_t>(range.end - range.begin);
  const auto found = board_->part(target, first, bytes);
  if (found) return parts_.reach(target, *found, {begin});
  if (shared_.empty()) return std::nullopt;
  fail(ErrorCode::invalid_argument,
       fmt::format("{} bytes from displacement {} on are not in the window", bytes, displacement),
       fmt::format("rank {} has put {} bytes into it", target, part.bytes),
       "Correct the displacement or the count.");
}

std::unique_ptr<HeldLock> DeviceWindow::hold(int target) const {
  board_->lock(board_->atomic(target), RankLock::Mode::exclusive, wait_);
  return std::make_unique<HeldLock>(board_->atomic(target), ranks_.rank);
}

void DeviceWindow::lock(int target, RankLock::Mode mode) const {
  RankLock& wanted = board_->passive(target);
  if ((wanted.holders() >> ranks_.rank & 1U) != 0)
    fail(ErrorCode::invalid_argument, fmt::format("rank {} cannot be locked again", target),
         "this rank has a lock of it in this window", "Unlock it first.");
  board_->lock(wanted, mode, wait_);
}

void DeviceWindow::unlock(int target) const { board_->passive(target).unlock(ranks_.rank); }

void DeviceWindow::barrier() const { library_.real.Barrier(ranks_.comm); }

std::vector<int> DeviceWindow::ranks_in(Handle group) const {
  const Functions& real = library_.real;
  int size = 0;
  real.Group_size(group, &size);
  std::vector<int> numbers(static_cast<std::size_t>(size)), ranks(numbers.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  Handle all = 0;
  real.Comm_group(ranks_.comm, &all);
  real.Group_translate_ranks(group, size, numbers.data(), library_.handle(all), ranks.data());
  real.Group_free(&all);
  return ranks;
}

void DeviceWindow::tell(Handle group) {
  if (!has_gpus(ranks_.rank)) return;
  for (const int rank : ranks_in(group))
    library_.real.Isend(nullptr, 0, library_.byte, rank, 0, ranks_.comm, &told_.emplace_back(0));
}

void DeviceWindow::end_telling() {
  for (const Handle request : std::exchange(told_, {})) await(request);
}

void DeviceWindow::hear(Handle group) const {
  for (const int rank : ranks_in(group)) {
    if (!has_gpus(rank)) continue;
    Handle request = 0;
    library_.real.Irecv(nullptr, 0, library_.byte, rank, 0, ranks_.comm, &request);
    await(request);
  }
}

void DeviceWindow::await(Handle request) const {
  for (int done = 0; done == 0;) {
    if (library_.real.Test(&request, &done, library_.status_ignore) != kSuccess) return;
    if (done == 0) wait_();
  }
}

void DeviceWindow::close() noexcept {
  parts_.close();
  barrier();
}

}  // namespace polypath::mpi
