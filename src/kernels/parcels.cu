// The same as mail.cu in parcels, for messages that links are long busy with: see mailbox_layout.h.
//
// Of a block two warps send, one says what has been sent, one watches what comes, and the others
// take that in. Senders wait for nobody: on two H100s 64 MiB to each other take 191 us if nobody
// takes them in, 195 if it is done, and 239 at best if the same warps do one after the other
// (results/h100x2/parcels.json).

#include "kernels/element.cuh"
#include "kernels/mailbox.cuh"
#include "kernels/message_words.cuh"
#include "kernels/reduce_layout.h"

namespace {

using polypath::MailParameters;
using polypath::message_bytes;
using polypath::parcels_of;

constexpr unsigned kThreadsOfWarp = 32;
constexpr unsigned kSendingWarps = 2;
constexpr unsigned kSending = kSendingWarps * kThreadsOfWarp;  // threads, as those that follow
constexpr unsigned kSaying = kThreadsOfWarp;
constexpr unsigned kWatching = kThreadsOfWarp;
constexpr unsigned kTaking = polypath::kMailThreads - kSending - kSaying - kWatching;

using polypath::gpu::for_words;
using polypath::gpu::kInFlight;
using polypath::gpu::Message;
using polypath::gpu::move;
using polypath::gpu::Team;
using polypath::gpu::Words;

// One call as one block sees it. Blocks are numbered as they start: the first ones of all ranks
// wait for each other, and those that find no room for none of them.
class Parcels {
 public:
  __device__ explicit Parcels(const MailParameters& of)
      : of_(of),
        call_(polypath::gpu::begin_call(of)),
        block_(polypath::gpu::number_of_block(of)),
        half_(polypath::kMailBoxes + (call_ & 1) * (of.ranks - 1) * of.box) {}

  // `what(parcel, number)` for all that are this block's, the first one's number being 1. Each
  // block has the same ones of all messages, so that whatever lies where they go has been sent.
  template <class Do>
  __device__ void for_all(Do what) const {
    const std::uint64_t all = parcels_of(of_.bytes, of_.parcel);
    unsigned number = 0;
    for (std::uint64_t parcel = block_; parcel < all; parcel += gridDim.x) what(parcel, ++number);
  }

  [[nodiscard]] __device__ std::uint64_t begin(std::uint64_t parcel) const {
    return parcel * of_.parcel;
  }
  [[nodiscard]] __device__ std::uint64_t end(std::uint64_t parcel, std::uint64_t bytes) const {
    const std::uint64_t end = begin(parcel) + of_.parcel;
    return end < bytes ? end : bytes;
  }
  // What has come from a rank; this one's own is where it always was.
  [[nodiscard]] __device__ Message arrived(std::uint64_t from) const {
    if (from == of_.rank) return input(of_.rank);
    return {box(of_.rank, from) + polypath::kParcelFlags, message_bytes(of_, from, of_.rank)};
  }

  __device__ void send(const Team& team, std::uint64_t parcel) const {
    for (std::uint64_t distance = 1; distance < of_.ranks; ++distance) {
      const std::uint64_t to = (of_.rank + distance) % of_.ranks;
      const Message message = input(to);
      const Message there{box(to, of_.rank) + polypath::kParcelFlags, message.bytes};
      move(team, begin(parcel), end(parcel, message.bytes), message, there);
    }
  }
  // One thread for each rank. Its flag is seen after all that the thread has seen.
  __device__ void say(unsigned own, std::uint64_t parcel) const {
    const std::uint64_t to = (of_.rank + 1 + own) % of_.ranks;
    if (own + 1 < of_.ranks && parcel < parcels_of(input(to).bytes, of_.parcel))
      asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag(to, of_.rank, parcel)),
                   "r"(call_)
                   : "memory");
  }
  // One thread for each rank.
  __device__ void watch(unsigned own, std::uint64_t parcel) const {
    const std::uint64_t from = (of_.rank + 1 + own) % of_.ranks;
    if (own + 1 < of_.ranks && parcel < parcels_of(message_bytes(of_, from, of_.rank), of_.parcel))
      watch(flag(of_.rank, from, parcel));
  }

 private:
  // Each look of an acquiring load would empty the cache: the last one is enough.
  __device__ void watch(const std::uint32_t* flag) const {
    std::uint32_t seen;
    for (unsigned looks = 1;; ++looks) {
      asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
      if (seen == call_) break;
      if (looks % polypath::gpu::kPatience == 0 && polypath::gpu::is_abandoned(of_)) break;
    }
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
  }
  [[nodiscard]] __device__ Message input(std::uint64_t to) const {
    return {reinterpret_cast<char*>(of_.input) + to * of_.send_stride,
            message_bytes(of_, of_.rank, to)};
  }
  [[nodiscard]] __device__ char* box(std::uint64_t at, std::uint64_t sender) const {
    return reinterpret_cast<char*>(of_.mailboxes[at]) + half_ +
           polypath::box_number(at, sender) * of_.box;
  }
  [[nodiscard]] __device__ std::uint32_t* flag(std::uint64_t at, std::uint64_t sender,
                                               std::uint64_t parcel) const {
    return reinterpret_cast<std::uint32_t*>(box(at, sender)) + parcel;
  }

  const MailParameters& of_;
  std::uint32_t call_, block_;
  std::uint64_t half_;
};

// What a warp of a block has done, in shared memory: whoever awaits it sees what that has seen.
// Each warp has one of its own: the sum of two says nothing of the slower one.
class Count {
 public:
  __device__ explicit Count(unsigned& count) : count_(count) {}

  __device__ void note() const {
    __syncwarp();
    if (threadIdx.x % kThreadsOfWarp == 0)
      asm volatile("red.release.cta.shared.add.u32 [%0], 1;" ::"r"(address()) : "memory");
  }
  __device__ void await(unsigned least) const {
    unsigned seen;
    do {
      asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(seen) : "r"(address()) : "memory");
    } while (seen < least);
    __syncwarp();
  }

 private:
  [[nodiscard]] __device__ unsigned address() const {
    return static_cast<unsigned>(__cvta_generic_to_shared(&count_));
  }

  unsigned& count_;
};

// `take(team, parcel)` takes in what has arrived, after what this block sends of the same parcel:
// in place the one is where the other goes.
template <class Take>
__device__ void exchange(const MailParameters& of, const Parcels& parcels, Take take) {
  __shared__ unsigned counts[kSendingWarps + 1];
  if (threadIdx.x <= kSendingWarps) counts[threadIdx.x] = 0;
  __syncthreads();
  const Count arrived(counts[kSendingWarps]);
  const auto await_sent = [&](unsigned number) {
    for (unsigned warp = 0; warp < kSendingWarps; ++warp) Count(counts[warp]).await(number);
  };
  if (threadIdx.x < kSending)
    parcels.for_all([&](std::uint64_t parcel, unsigned) {
      parcels.send({kSending, threadIdx.x}, parcel);
      Count(counts[threadIdx.x / kThreadsOfWarp]).note();
    });
  else if (threadIdx.x < kSending + kSaying)
    parcels.for_all([&](std::uint64_t parcel, unsigned number) {
      await_sent(number);
      parcels.say(threadIdx.x - kSending, parcel);
    });
  else if (threadIdx.x < kSending + kSaying + kWatching)
    parcels.for_all([&](std::uint64_t parcel, unsigned number) {
      await_sent(number);
      parcels.watch(threadIdx.x - kSending - kSaying, parcel);
      arrived.note();
    });
  else
    parcels.for_all([&](std::uint64_t parcel, unsigned number) {
      arrived.await(number);
      take(Team{kTaking, threadIdx.x - kSending - kSaying - kWatching}, parcel);
    });
  polypath::gpu::finish_call(of);
}

// One function for all types, so that there is not a copy of the loops for each of them.
__noinline__ __device__ uint4 combine_any(polypath::gpu::ReductionCode reduction, uint4 a,
                                          uint4 b) {
  polypath::gpu::with_reducer(reduction, [&](auto reducer) { a = combine_all(reducer, a, b); });
  return a;
}

// Sums of float32 are what most calls are.
template <bool kSumOfFloats>
__device__ uint4 combine(const polypath::gpu::ReductionCode& reduction, const uint4& a,
                         const uint4& b) {
  if constexpr (kSumOfFloats)
    return combine_all(polypath::gpu::Reducer<float, polypath::gpu::Sum>{}, a, b);
  else return combine_any(reduction, a, b);
}

// In the order of the ranks. Messages to one rank are equally long.
template <bool kSumOfFloats>
__device__ void reduce(const MailParameters& of, const Parcels& parcels, const Team& team,
                       std::uint64_t parcel) {
  const Message result{reinterpret_cast<char*>(of.output), message_bytes(of, of.rank, of.rank)};
  for_words(team, parcels.begin(parcel), parcels.end(parcel, result.bytes),
            [&](const Words& words) {
              uint4 sum[kInFlight], other[kInFlight];
              parcels.arrived(0).load(words, sum);
              for (std::uint64_t from = 1; from < of.ranks; ++from) {
                const auto reduction = polypath::gpu::with_next(of.reduction, from);
                parcels.arrived(from).load(words, other);
#pragma unroll
                for (int k = 0; k < kInFlight; ++k)
                  sum[k] = combine<kSumOfFloats>(reduction, sum[k], other[k]);
              }
              result.store(words, sum);
            });
}

__device__ void store(const MailParameters& of, const Parcels& parcels, const Team& team,
                      std::uint64_t parcel) {
  for (std::uint64_t distance = 0; distance < of.ranks; ++distance) {
    const std::uint64_t from = (of.rank + distance) % of.ranks;
    const Message message = parcels.arrived(from);
    const Message result{reinterpret_cast<char*>(of.output) + from * of.receive_stride,
                         message.bytes};
    if (result.begin != message.begin)
      move(team, parcels.begin(parcel), parcels.end(parcel, message.bytes), message, result);
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(polypath::kMailThreads)
    exchange_parcels_and_store(const __grid_constant__ MailParameters of) {
  const Parcels parcels(of);
  exchange(of, parcels,
           [&](const Team& team, std::uint64_t parcel) { store(of, parcels, team, parcel); });
}

extern "C" __global__ void __launch_bounds__(polypath::kMailThreads)
    exchange_parcels_and_reduce(const __grid_constant__ MailParameters of) {
  const Parcels parcels(of);
  if (of.reduction == 0)
    exchange(of, parcels, [&](const Team& team, std::uint64_t parcel) {
      reduce<true>(of, parcels, team, parcel);
    });
  else
    exchange(of, parcels, [&](const Team& team, std::uint64_t parcel) {
      reduce<false>(of, parcels, team, parcel);
    });
}
