// The same as mail.cu in parcels, for messages that links are long busy with: see mailbox_layout.h.
//
// Of a block four warps send, one says what has been sent, one watches what comes, and the others
// take that in. Senders do not wait for arrivals within a lap. Two H100s send each other 64 MiB in
// 191 us without receiving them, in 195 us while receiving, and in 239 us at best if the same warps
// send and receive in turn (results/h100x2/parcels.json).

#include "kernels/element.cuh"
#include "kernels/laps.h"
#include "kernels/mailbox.cuh"
#include "kernels/message_words.cuh"
#include "kernels/reduce_layout.h"

// NOLINTBEGIN(google-build-using-namespace): kernels have C's names
using namespace polypath::kernels;
using namespace polypath::kernels::gpu;
// NOLINTEND(google-build-using-namespace)

namespace {

constexpr unsigned kThreadsOfWarp = 32;
constexpr unsigned kSendingWarps = 4;
constexpr unsigned kSending = kSendingWarps * kThreadsOfWarp;  // threads, as those that follow
constexpr unsigned kSaying = kThreadsOfWarp;
constexpr unsigned kWatching = kThreadsOfWarp;
constexpr unsigned kTaking = kParcelThreads - kSending - kSaying - kWatching;
constexpr unsigned kTakingWarps = kTaking / kThreadsOfWarp;

using Step = LapStep;

// One call as one block sees it. Blocks are numbered as they start: the first ones of all ranks
// wait for each other, and those that find no room for none of them. In the second phase, if there
// is one, each rank sends all others what it has made in the first one.
class Parcels {
 public:
  __device__ explicit Parcels(const MailParameters& of, unsigned phases)
      : of_(of), laps_(Laps::of(parcels_of(of.bytes, of.parcel), of.slots, gridDim.x)) {
    laps_.first = gpu::begin_call(of);
    laps_.block = gpu::number_of_block(of);
    laps_.phases = phases;
    laps_.alternate = of.root != kEveryRank;
    laps_.in_phase += static_cast<unsigned>(laps_before_last(of));
  }

  [[nodiscard]] __device__ const Laps& laps() const { return laps_; }
  [[nodiscard]] __device__ std::uint64_t begin(const Step& step) const {
    return step.parcel * of_.parcel;
  }
  [[nodiscard]] __device__ std::uint64_t end(const Step& step, std::uint64_t bytes) const {
    const std::uint64_t end = begin(step) + of_.parcel;
    return end < bytes ? end : bytes;
  }
  // The received message of a rank; this rank's own is where it always was. Of a message only the
  // step's parcel is there.
  [[nodiscard]] __device__ Message arrived(const Step& step, std::uint64_t from) const {
    if (from == of_.rank) return sent(step, of_.rank);
    return {parcels_in(step, of_.rank, from), step.phase == 0 ? message_bytes(of_, from, of_.rank)
                                                              : shared_bytes(of_, from, of_.rank)};
  }
  // The message to a rank, or to itself, where this rank has it.
  [[nodiscard]] __device__ Message sent(const Step& step, std::uint64_t to) const {
    if (step.phase == 0)
      return {reinterpret_cast<char*>(of_.input) + part_number(of_, to) * of_.send_stride,
              message_bytes(of_, of_.rank, to)};
    return {made(step), shared_bytes(of_, of_.rank, to)};
  }
  // Where what the rank's part becomes lies, for the second phase. What the root collects is in the
  // box of the root's message, which has been taken in and lies there until the root has taken in
  // what it collects; in the second phase that is the lap before.
  [[nodiscard]] __device__ char* made(const Step& step) const {
    if (!is_collected(of_)) return part_in_output(of_.rank);
    Step when = step;
    when.lap -= step.phase;
    return parcels_in(when, of_.rank, of_.root);
  }
  [[nodiscard]] __device__ char* part_in_output(std::uint64_t of_rank) const {
    return reinterpret_cast<char*>(of_.output) + part_number(of_, of_rank) * of_.receive_stride;
  }

  __device__ void send(const Team& team, const Step& step) const {
    for (std::uint64_t distance = 1; distance < of_.ranks; ++distance) {
      const std::uint64_t to = (of_.rank + distance) % of_.ranks;
      const Message message = sent(step, to);
      const Message there{parcels_in(step, to, of_.rank), message.bytes};
      move(team, begin(step), end(step, message.bytes), message, there);
    }
  }
  // What is passed on: the sender has it in its input, the others where they have stored it.
  __device__ void send_on(const Team& team, Step step) const {
    const std::uint64_t place = place_of(of_, of_.rank), next = (of_.rank + 1) % of_.ranks;
    if (place + 1 == of_.ranks || !has_come_to(place, step)) return;
    const Message message{reinterpret_cast<char*>(place == 0 ? of_.input : of_.output), of_.bytes};
    move(team, begin(step), end(step, of_.bytes), message,
         {parcels_in(step, next, of_.rank), of_.bytes});
  }
  __device__ void store_passed(const Team& team, Step step) const {
    const std::uint64_t place = place_of(of_, of_.rank);
    char* const output = reinterpret_cast<char*>(of_.output);
    if (place == 0 ? of_.input == of_.output : !has_come_to(place - 1, step)) return;
    char* const message = place == 0
                              ? reinterpret_cast<char*>(of_.input)
                              : parcels_in(step, of_.rank, (of_.rank + of_.ranks - 1) % of_.ranks);
    move(team, begin(step), end(step, of_.bytes), {message, of_.bytes}, {output, of_.bytes});
  }
  // One thread for each rank. Its flag is seen after all that the thread has seen.
  __device__ void say(unsigned own, const Step& step) const {
    const std::uint64_t to = (of_.rank + 1 + own) % of_.ranks;
    if (own + 1 < of_.ranks)
      asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag(step, to, of_.rank)),
                   "r"(step.lap)
                   : "memory");
  }
  // One thread for each rank.
  __device__ void watch(unsigned own, const Step& step) const {
    const std::uint64_t from = (of_.rank + 1 + own) % of_.ranks;
    if (own + 1 < of_.ranks) watch(flag(step, of_.rank, from), step.lap);
  }

 private:
  // True if the rank in that place sends something in the step, which becomes that parcel's: each
  // rank before it has taken a lap. Behind the message's end there is nothing to move.
  [[nodiscard]] __device__ bool has_come_to(std::uint64_t place, Step& step) const {
    const std::uint64_t later = place * laps_.rows * laps_.blocks;
    if (step.parcel < later) return false;
    step.parcel -= later;
    return true;
  }
  // Each look of an acquiring load would empty the cache: the last one is enough.
  __device__ void watch(const std::uint32_t* flag, std::uint32_t lap) const {
    std::uint32_t seen;
    for (unsigned looks = 1;; ++looks) {
      asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
      if (seen == lap) break;
      if (looks % gpu::kLooksBetweenChecks == 0 && gpu::is_abandoned(of_)) break;
    }
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
  }
  [[nodiscard]] __device__ char* box(const Step& step, std::uint64_t at,
                                     std::uint64_t sender) const {
    return reinterpret_cast<char*>(of_.mailboxes[at]) + kMailBoxes +
           (step.lap & 1) * (of_.ranks - 1) * of_.box + box_number(at, sender) * of_.box;
  }
  // Where the message would begin if the step's parcel lay where it is in it.
  [[nodiscard]] __device__ char* parcels_in(const Step& step, std::uint64_t at,
                                            std::uint64_t sender) const {
    return box(step, at, sender) + kParcelFlags + step.slot * of_.parcel - begin(step);
  }
  [[nodiscard]] __device__ std::uint32_t* flag(const Step& step, std::uint64_t at,
                                               std::uint64_t sender) const {
    return reinterpret_cast<std::uint32_t*>(box(step, at, sender)) + step.slot;
  }

  const MailParameters& of_;
  Laps laps_;
};

// The progress of a warp of a block, in shared memory: a warp that awaits it sees all that this
// warp has seen. Each warp has one of its own: the sum of two says nothing of the slower one.
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
  }

 private:
  [[nodiscard]] __device__ unsigned address() const {
    return static_cast<unsigned>(__cvta_generic_to_shared(&count_));
  }

  unsigned& count_;
};

// The progress of all warps of a team.
template <unsigned kWarps>
class Counts {
 public:
  __device__ explicit Counts(unsigned (&counts)[kWarps]) : counts_(counts) {}

  // By a warp of the team.
  __device__ void note(const Team& team) const { Count(counts_[team.own / kThreadsOfWarp]).note(); }
  __device__ void await(unsigned least) const {
#pragma unroll
    for (unsigned warp = 0; warp < kWarps; ++warp) Count(counts_[warp]).await(least);
    __syncwarp();
  }

 private:
  unsigned (&counts_)[kWarps];
};

// `send(team, step)` sends a parcel; `take(team, step)` takes in what has arrived, after what this
// block sends of the same parcel: in place the one is where the other goes. Each place of a box is
// sent to again once what was in it in the lap before has been taken in, which is also when there
// is something to send in the second phase.
template <class Send, class Take>
__device__ void exchange(const MailParameters& of, const Parcels& parcels, Send send, Take take) {
  __shared__ unsigned sending[kSendingWarps], watching[1], taking[kTakingWarps];
  if (threadIdx.x < kSendingWarps) sending[threadIdx.x] = 0;
  if (threadIdx.x < kTakingWarps) taking[threadIdx.x] = 0;
  if (threadIdx.x == 0) watching[0] = 0;
  __syncthreads();
  const Counts<kSendingWarps> sent(sending);
  const Counts<1> arrived(watching);
  const Counts<kTakingWarps> taken(taking);
  if (threadIdx.x < kSending) {
    const Team team{kSending, threadIdx.x};
    parcels.laps().for_all([&](const Step& step) {
      taken.await(parcels.laps().taken_before(step));
      send(team, step);
      sent.note(team);
    });
  } else if (threadIdx.x < kSending + kSaying) {
    parcels.laps().for_all([&](const Step& step) {
      sent.await(step.number);
      parcels.say(threadIdx.x - kSending, step);
    });
  } else if (threadIdx.x < kSending + kSaying + kWatching) {
    parcels.laps().for_all([&](const Step& step) {
      sent.await(step.number);
      parcels.watch(threadIdx.x - kSending - kSaying, step);
      arrived.note({kWatching, threadIdx.x - kSending - kSaying});
    });
  } else {
    const Team team{kTaking, threadIdx.x - kSending - kSaying - kWatching};
    parcels.laps().for_all([&](const Step& step) {
      arrived.await(step.number);
      take(team, step);
      taken.note(team);
    });
  }
  gpu::finish_call(of, parcels.laps().count());
}

// Messages from every rank to every other one.
template <class Take>
__device__ void exchange(const MailParameters& of, const Parcels& parcels, Take take) {
  exchange(
      of, parcels, [&](const Team& team, const Step& step) { parcels.send(team, step); }, take);
}

// One function for all types, so that there is not a copy of the loops for each of them.
__noinline__ __device__ uint4 combine_any(gpu::ReductionCode reduction, uint4 a, uint4 b) {
  gpu::with_reducer(reduction, [&](auto reducer) { a = combine_all(reducer, a, b); });
  return a;
}

// Sums of float32 are what most calls are.
template <bool kSumOfFloats>
__device__ uint4 combine(const gpu::ReductionCode& reduction, const uint4& a, const uint4& b) {
  if constexpr (kSumOfFloats) return combine_all(gpu::Reducer<float, gpu::Sum>{}, a, b);
  else return combine_any(reduction, a, b);
}

// In the order of the ranks, at `result`. Messages to one rank are equally long.
template <bool kSumOfFloats>
__device__ void reduce(const MailParameters& of, const Parcels& parcels, const Team& team,
                       const Step& step, char* at) {
  const Message result{at, message_bytes(of, of.rank, of.rank)};
  for_words(team, parcels.begin(step), parcels.end(step, result.bytes), [&](const Words& words) {
    uint4 sum[kInFlight], other[kInFlight];
    parcels.arrived(step, 0).load(words, sum);
    for (std::uint64_t from = 1; from < of.ranks; ++from) {
      const auto reduction = gpu::with_next(of.reduction, from);
      parcels.arrived(step, from).load(words, other);
#pragma unroll
      for (int k = 0; k < kInFlight; ++k)
        sum[k] = combine<kSumOfFloats>(reduction, sum[k], other[k]);
    }
    result.store(words, sum);
  });
}

// In place it is there already.
__device__ void store_at(const Parcels& parcels, const Team& team, const Step& step,
                         const Message& message, char* at) {
  if (at == message.begin) return;
  move(team, parcels.begin(step), parcels.end(step, message.bytes), message,
       Message{at, message.bytes});
}

__device__ void store(const MailParameters& of, const Parcels& parcels, const Team& team,
                      const Step& step) {
  for (std::uint64_t distance = 0; distance < of.ranks; ++distance) {
    const std::uint64_t from = (of.rank + distance) % of.ranks;
    const Message message = parcels.arrived(step, from);
    store_at(parcels, team, step, message, parcels.part_in_output(from));
  }
}

// Of what the root has: its own part at each other rank, all parts at the root.
__device__ void store_parts(const MailParameters& of, const Parcels& parcels, const Team& team,
                            const Step& step) {
  if (of.rank != of.root)
    return store_at(parcels, team, step, parcels.arrived(step, of.root),
                    parcels.part_in_output(of.rank));
  for (std::uint64_t to = 0; to < of.ranks; ++to)
    store_at(parcels, team, step, parcels.sent(step, to), parcels.part_in_output(to));
}

template <bool kSumOfFloats>
__device__ void exchange_and_reduce(const MailParameters& of) {
  const Parcels parcels(of, 1);
  exchange(of, parcels, [&](const Team& team, const Step& step) {
    reduce<kSumOfFloats>(of, parcels, team, step, reinterpret_cast<char*>(of.output));
  });
}

template <bool kSumOfFloats>
__device__ void exchange_reduce_and_share(const MailParameters& of) {
  const Parcels parcels(of, 2);
  exchange(of, parcels, [&](const Team& team, const Step& step) {
    if (step.phase == 0) reduce<kSumOfFloats>(of, parcels, team, step, parcels.made(step));
    else store(of, parcels, team, step);
  });
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kParcelThreads)
    exchange_parcels_and_store(const __grid_constant__ MailParameters of) {
  const Parcels parcels(of, 1);
  exchange(of, parcels,
           [&](const Team& team, const Step& step) { store(of, parcels, team, step); });
}

extern "C" __global__ void __launch_bounds__(kParcelThreads)
    exchange_parcels_and_reduce(const __grid_constant__ MailParameters of) {
  if (of.reduction == 0) exchange_and_reduce<true>(of);
  else exchange_and_reduce<false>(of);
}

extern "C" __global__ void __launch_bounds__(kParcelThreads)
    exchange_parcels_reduce_and_share(const __grid_constant__ MailParameters of) {
  if (of.reduction == 0) exchange_reduce_and_share<true>(of);
  else exchange_reduce_and_share<false>(of);
}

extern "C" __global__ void __launch_bounds__(kParcelThreads)
    exchange_parcels_store_and_share(const __grid_constant__ MailParameters of) {
  const Parcels parcels(of, 2);
  exchange(of, parcels, [&](const Team& team, const Step& step) {
    if (step.phase == 0) store_parts(of, parcels, team, step);
    else store(of, parcels, team, step);
  });
}

extern "C" __global__ void __launch_bounds__(kParcelThreads)
    exchange_parcels_pass_on(const __grid_constant__ MailParameters of) {
  const Parcels parcels(of, 1);
  exchange(
      of, parcels, [&](const Team& team, const Step& step) { parcels.send_on(team, step); },
      [&](const Team& team, const Step& step) { parcels.store_passed(team, step); });
}
