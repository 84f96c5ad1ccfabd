#include "standin/nccl/meeting.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "standin/nccl/driver.h"

namespace polypath::standin {
namespace {

constexpr std::uint32_t kReleased = 1U << 30;  // beyond the number of any piece

}  // namespace

Rendezvous::Rendezvous(const std::string& name) : file_("/standin-nccl-" + name) {
  const int file = shm_open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return;
  void* memory = MAP_FAILED;
  if (ftruncate(file, sizeof(Contents)) == 0)
    memory = mmap(nullptr, sizeof(Contents), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return;
  contents_ = static_cast<Contents*>(memory);
  is_registered_ = cuMemHostRegister_v2(memory, sizeof(Contents), 1) == 0;
}

void Rendezvous::release() const {
  const auto pass = [](std::uint32_t& word) { std::atomic_ref(word).store(kReleased); };
  for (Rank& rank : contents_->ranks) pass(rank.has_sent), pass(rank.has_received);
  for (auto& of_sender : contents_->lanes)
    for (Lane& lane : of_sender) pass(lane.has_sent), pass(lane.has_received);
}

void Rendezvous::take_name_away() const { shm_unlink(file_.c_str()); }

Rendezvous::~Rendezvous() {
  if (contents_ == nullptr) return;
  if (is_registered_) cuMemHostUnregister(contents_);
  munmap(contents_, sizeof(Contents));
}

bool Rendezvous::meet(int rank, int ranks) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  const std::uint32_t times = ++contents_->ranks[static_cast<std::size_t>(rank)].has_come;
  for (int other = 0; other < ranks; ++other)
    while (contents_->ranks[static_cast<std::size_t>(other)].has_come < times) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  return true;
}

}  // namespace polypath::standin
