#include "standin/nccl/communicator.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <ranges>
#include <thread>
#include <utility>

#include "driver/cuda/cuda_types.h"
#include "standin/nccl/driver.h"
#include "standin/state/pass_kernel.h"

namespace polypath::standin {
namespace {

constexpr std::array<std::size_t, 12> kSizes = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

std::size_t size_of(int type) { return kSizes.at(static_cast<std::size_t>(type)); }

template <class Value>
void add_up(std::byte* sum, const std::byte* other, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += sizeof(Value)) {
    Value a, b;
    std::memcpy(&a, sum + at, sizeof a), std::memcpy(&b, other + at, sizeof b);
    a = static_cast<Value>(a + b);
    std::memcpy(sum + at, &a, sizeof a);
  }
}

// Sums of the types that programs of the tests have; of others the bits of the last rank.
void reduce(int type, std::byte* sum, const std::byte* other, std::size_t bytes) {
  switch (type) {
    case 0:
    case 1: return add_up<std::uint8_t>(sum, other, bytes);
    case 2:
    case 3: return add_up<std::uint32_t>(sum, other, bytes);
    case 4:
    case 5: return add_up<std::uint64_t>(sum, other, bytes);
    case 7: return add_up<float>(sum, other, bytes);
    case 8: return add_up<double>(sum, other, bytes);
    default: std::memcpy(sum, other, bytes);
  }
}

unsigned long long address_of(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

int launch(std::array<std::uint64_t, kPassWords>& words, void* stream) {
  static void* const function = [] {
    void *module = nullptr, *found = nullptr;
    (void)cuModuleLoadData(&module, kPassKernel),
        (void)cuModuleGetFunction(&found, module, kPassKernel);
    return found;
  }();
  std::size_t bytes = sizeof words;
  std::array<void*, 5> extra = {cuda::kParameterBuffer, words.data(), cuda::kParameterBufferSize,
                                &bytes, cuda::kParametersEnd};
  return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, extra.data());
}

bool is_capturing(void* stream) {
  int status = 0;
  return cuStreamIsCapturing(stream, &status) == 0 && status != 0;
}

// What each collective takes longer: a comparison comes out against it.
std::chrono::milliseconds slowness() {
  static const char* const asked = std::getenv("STANDIN_NCCL_SLOW");
  return std::chrono::milliseconds(asked == nullptr ? 0 : std::strtol(asked, nullptr, 10));
}

void be_slow(void*) { std::this_thread::sleep_for(slowness()); }

constexpr int kNotReady = 600;  // CUDA_ERROR_NOT_READY

std::uint64_t this_host() {
  const char* const named = std::getenv("NCCL_HOSTID");
  return named == nullptr ? 0 : std::hash<std::string>()(named);
}

// False for a process that has ended, even if its parent does not know yet.
bool is_running(int process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return false;
  const std::size_t name = line.rfind(')');
  return name == std::string::npos || name + 2 >= line.size() || line[name + 2] != 'Z';
}

// How much of a call goes at once: parts of all ranks fit a slot.
std::size_t most_at_once(int size, std::size_t element) {
  return kSlot / static_cast<std::size_t>(size) / element * element;
}

}  // namespace

NcclCommunicator::NcclCommunicator(const std::string& name, int rank, int size)
    : name_(name), meeting_(name), rank_(rank), size_(size) {
  (void)cuCtxGetDevice(&device_);
  (void)cuCtxGetCurrent(&context_);
}

NcclCommunicator::~NcclCommunicator() {
  if (meeting_.contents() == nullptr) return;
  for (int i = 0; i < 60'000 && !is_revoked_ && !is_done(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  of(rank_).has_ended = true;
  for (const auto& [stream, end] : ends_) cuEventDestroy_v2(end);
  if (tied_ != nullptr) cuEventDestroy_v2(tied_);
  for (const auto& direction : lanes_)
    for (const Lane& lane : direction)
      if (lane.stream != nullptr) cuStreamDestroy_v2(lane.stream), cuEventDestroy_v2(lane.event);
}

bool NcclCommunicator::is_done() {
  const auto has = [](std::uint32_t& word, std::uint32_t pieces) {
    return std::atomic_ref(word).load() >= pieces;
  };
  auto& lanes = meeting_.contents()->lanes;
  const auto own = static_cast<std::size_t>(rank_);
  bool done = has(of(rank_).has_received, pieces_);
  for (std::size_t other = 0; other < kMostRanks; ++other)
    done = done && has(lanes[own][other].has_sent, lanes_[0][other].pieces) &&
           has(lanes[other][own].has_received, lanes_[1][other].pieces);
  return done;
}

bool NcclCommunicator::begin() {
  if (meeting_.contents() != nullptr && rank_ < kMostRanks) {
    of(rank_).process = getpid();
    of(rank_).host = this_host();
  }
  if (size_ > kMostRanks || meeting_.contents() == nullptr || !meeting_.meet(rank_, size_))
    return false;
  meeting_.take_name_away();
  return true;
}

// Ranks that go on may write their numbers again: until this rank's streams are through.
void NcclCommunicator::revoke() {
  if (std::exchange(is_revoked_, true)) return;
  for (int i = 0; i < 10'000 && !are_streams_done(); ++i) {
    meeting_.release();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void NcclCommunicator::abort() {
  of(rank_).has_aborted = true;
  revoke();
}

bool NcclCommunicator::has_lost_rank() const {
  return std::ranges::any_of(std::views::iota(0, size_), [&](int other) {
    const Rendezvous::Rank& there = of(other);
    const bool is_gone = !there.has_ended && !is_running(there.process);
    return there.host != of(rank_).host && (there.has_aborted || is_gone);
  });
}

bool NcclCommunicator::are_streams_done() const {
  const bool are_lanes_done = std::ranges::all_of(lanes_, [](const auto& direction) {
    return std::ranges::all_of(direction, [](const Lane& lane) {
      return lane.stream == nullptr || cuStreamQuery(lane.stream) != kNotReady;
    });
  });
  return are_lanes_done && std::ranges::all_of(ends_, [](const auto& each) {
           return cuEventQuery(each.second) != kNotReady;
         });
}

int NcclCommunicator::note_end(void* stream) {
  void*& end = ends_[stream];
  int failed = end == nullptr ? cuEventCreate(&end, 2) : 0;
  return failed | cuEventRecord(end, stream);
}

int NcclCommunicator::exchange(void* stream, unsigned long long from, std::size_t sent,
                               const Make& make, unsigned long long to, std::size_t received) {
  Rendezvous::Contents& all = *meeting_.contents();
  const auto own = static_cast<std::size_t>(rank_);
  const std::uint32_t piece = ++pieces_;
  int failed = 0;
  const auto all_have = [&](std::uint32_t Rendezvous::Rank::*what, std::uint32_t number) {
    for (int other = 0; other < size_; ++other)
      failed |= cuStreamWaitValue32_v2(stream, address_of(&(of(other).*what)), number, 0);
  };
  all_have(&Rendezvous::Rank::has_received, piece - 1);
  if (sent > 0) failed |= cuMemcpyDtoHAsync_v2(all.sent[own].data(), from, sent, stream);
  failed |= cuStreamWriteValue32_v2(stream, address_of(&of(rank_).has_sent), piece, 0);
  all_have(&Rendezvous::Rank::has_sent, piece);
  using Work = std::function<void()>;
  auto* const work = new Work([&all, make, own] { make(all, all.results[own].data()); });
  failed |= cuLaunchHostFunc(
      stream,
      [](void* data) {
        const std::unique_ptr<Work> made(static_cast<Work*>(data));
        (*made)();
      },
      work);
  if (received > 0) failed |= cuMemcpyHtoDAsync_v2(to, all.results[own].data(), received, stream);
  failed |= cuStreamWriteValue32_v2(stream, address_of(&of(rank_).has_received), piece, 0);
  return failed;
}

// The sum of the messages of all, or the message of one of them.
NcclCommunicator::Make NcclCommunicator::sum(int type, std::size_t bytes) const {
  return [type, bytes, ranks = static_cast<std::size_t>(size_)](Rendezvous::Contents& all,
                                                                std::byte* result) {
    std::memcpy(result, all.sent[0].data(), bytes);
    for (std::size_t rank = 1; rank < ranks; ++rank)
      reduce(type, result, all.sent[rank].data(), bytes);
  };
}
NcclCommunicator::Make NcclCommunicator::from(int rank, std::size_t bytes) {
  return
      [rank = static_cast<std::size_t>(rank), bytes](Rendezvous::Contents& all, std::byte* result) {
        std::memcpy(result, all.sent[rank].data(), bytes);
      };
}

// `at` is where the piece begins in a part of `part` bytes.
int NcclCommunicator::run_piece(const NcclCall& call, std::size_t at, std::size_t part,
                                std::size_t bytes) {
  const int root = call.other;
  const auto offset = [&](int rank) { return static_cast<std::size_t>(rank) * part + at; };
  const auto if_own = [&](int rank) { return rank == rank_ ? bytes : 0; };
  int failed = 0;
  switch (call.movement) {
    case Movement::all_reduce:
      return exchange(call.stream, call.from + at, bytes, sum(call.type, bytes), call.to + at,
                      bytes);
    case Movement::reduce:
      return exchange(call.stream, call.from + at, bytes, sum(call.type, bytes), call.to + at,
                      if_own(root));
    case Movement::broadcast:
      return exchange(call.stream, call.from + at, if_own(root), from(root, bytes), call.to + at,
                      bytes);
    case Movement::all_gather:
      for (int rank = 0; rank < size_; ++rank)
        failed |= exchange(call.stream, call.from + at, if_own(rank), from(rank, bytes),
                           call.to + offset(rank), bytes);
      return failed;
    case Movement::reduce_scatter:
      for (int rank = 0; rank < size_; ++rank)
        failed |= exchange(call.stream, call.from + offset(rank), bytes, sum(call.type, bytes),
                           call.to + at, if_own(rank));
      return failed;
    case Movement::all_to_all:
      for (int pair = 0; pair < size_ * size_; ++pair)
        failed |= exchange(call.stream, call.from + offset(pair % size_), if_own(pair / size_),
                           from(pair / size_, bytes), call.to + offset(pair / size_),
                           if_own(pair % size_));
      return failed;
    case Movement::send:
    case Movement::receive: break;  // begin_message
  }
  return 1;
}

NcclCommunicator::Lane& NcclCommunicator::lane_of(const NcclCall& call) {
  const std::size_t direction = call.movement == Movement::send ? 0 : 1;
  Lane& lane = lanes_[direction][static_cast<std::size_t>(call.other)];
  if (lane.stream != nullptr) return lane;
  void* popped = nullptr;
  (void)cuCtxPushCurrent_v2(context_);
  (void)cuStreamCreate(&lane.stream, 1), (void)cuEventCreate(&lane.event, 2);
  (void)cuCtxPopCurrent_v2(&popped);
  return lane;
}

int NcclCommunicator::tie(const std::set<void*>& streams) {
  if (streams.size() < 2) return 0;
  void *const first = *streams.begin(), *popped = nullptr;
  int failed = cuCtxPushCurrent_v2(context_);
  if (tied_ == nullptr) failed |= cuEventCreate(&tied_, 2);
  failed |= cuCtxPopCurrent_v2(&popped);
  for (void* const stream : streams)
    failed |= cuEventRecord(tied_, stream) | cuStreamWaitEvent(first, tied_, 0);
  failed |= cuEventRecord(tied_, first);
  for (void* const stream : streams)
    if (stream != first) failed |= cuStreamWaitEvent(stream, tied_, 0);
  return failed;
}

int NcclCommunicator::pass_piece(const NcclCall& call, std::size_t at, std::size_t bytes) {
  Lane& lane = lane_of(call);
  const bool sends = call.movement == Movement::send;
  const auto own = static_cast<std::size_t>(rank_), other = static_cast<std::size_t>(call.other);
  auto& lanes = meeting_.contents()->lanes;
  Rendezvous::Lane& shared = sends ? lanes[own][other] : lanes[other][own];
  const std::uint32_t piece = ++lane.pieces;
  const unsigned long long there = address_of(shared.piece.data());
  std::array<std::uint64_t, kPassWords> words{};
  words[kPassBytes] = bytes;
  words[kPassAwaits] = sends ? piece - 1 : piece, words[kPassSignals] = piece;
  words[kPassSource] = sends ? call.from + at : there;
  words[kPassDestination] = sends ? there : call.to + at;
  words[kPassAwaited] = address_of(sends ? &shared.has_received : &shared.has_sent);
  words[kPassSignal] = address_of(sends ? &shared.has_sent : &shared.has_received);
  return launch(words, lane.stream);
}

int NcclCommunicator::begin_message(const NcclCall& call) {
  if (is_capturing(call.stream)) return 1;
  const std::size_t bytes = call.count * size_of(call.type);
  const Lane& lane = lane_of(call);
  int failed = cuEventRecord(lane.event, call.stream);
  failed |= cuStreamWaitEvent(lane.stream, lane.event, 0);
  for (std::size_t at = 0; at < bytes; at += kMessageSlot)
    failed |= pass_piece(call, at, std::min(kMessageSlot, bytes - at));
  return failed;
}

int NcclCommunicator::end_message(const NcclCall& call) {
  const Lane& lane = lane_of(call);
  return cuEventRecord(lane.event, lane.stream) | cuStreamWaitEvent(call.stream, lane.event, 0);
}

// In the communicator's context: the thread may have another one, or none.
int NcclCommunicator::run(const NcclCall& call) {
  if (is_capturing(call.stream)) return 1;
  void* popped = nullptr;
  int failed = cuCtxPushCurrent_v2(context_);
  if (failed != 0) return failed;
  failed = run_here(call);
  failed |= note_end(call.stream);
  return failed | cuCtxPopCurrent_v2(&popped);
}

int NcclCommunicator::run_here(const NcclCall& call) {
  if (is_message(call.movement)) return begin_message(call) | end_message(call);
  const std::size_t element = size_of(call.type), part = call.count * element;
  const std::size_t most = most_at_once(size_, element);
  int failed = slowness().count() == 0 ? 0 : cuLaunchHostFunc(call.stream, be_slow, nullptr);
  for (std::size_t at = 0; at < part; at += most)
    failed |= run_piece(call, at, part, std::min(most, part - at));
  return failed;
}

NcclCommunicator::Part NcclCommunicator::split(int color, int key) {
  of(rank_).color = color, of(rank_).key = key;
  if (!meeting_.meet(rank_, size_)) return {};
  std::vector<std::pair<int, int>> members;
  for (int rank = 0; rank < size_; ++rank)
    if (of(rank).color == color) members.emplace_back(of(rank).key, rank);
  std::ranges::stable_sort(members, {}, [](const auto& member) { return member.first; });
  Part part{.name = name_ + "-" + std::to_string(++splits_) + "-" + std::to_string(color),
            .size = static_cast<int>(members.size())};
  while (members[static_cast<std::size_t>(part.rank)].second != rank_) ++part.rank;
  if (!meeting_.meet(rank_, size_) || color < 0) return {};
  return part;
}

}  // namespace polypath::standin
