// The same as mail.cu in parcels, for messages that links are long busy with: see mailbox_layout.h.
//
// Of a block some warps send, one says what has been sent, one watches what comes, and the others
// take that in. Senders do not wait for arrivals within a lap. Two H100s send each other 64 MiB in
// 191 us without receiving them, in 195 us while receiving, and in 239 us at best if the same warps
// send and receive in turn (results/h100x2/parcels.json).
//
// Four warps send by loads and stores, or, where all lies at multiples of 16 bytes and the GPU can,
// two threads in chunks (chunks.cuh): so 16 blocks reach on four H200s 0.9 of what 64 do, where
// they else reach half of it (results/h200x4/chunks.json).

#include "kernels/chunks.cuh"
#include "kernels/element.cuh"
#include "kernels/laps.h"
#include "kernels/mailbox.cuh"
#include "kernels/message_words.cuh"
#include "kernels/progress.cuh"
#include "kernels/reduce_layout.h"

namespace {

using polypath::is_collected;
using polypath::MailParameters;
using polypath::message_bytes;
using polypath::parcels_of;
using polypath::part_number;
using polypath::shared_bytes;

using polypath::gpu::Counts;
using polypath::gpu::for_words;
using polypath::gpu::kChunk;
using polypath::gpu::kChunkAlignment;
using polypath::gpu::kChunks;
using polypath::gpu::kInFlight;
using polypath::gpu::kOwnChunk;
using polypath::gpu::kThreadsOfWarp;
using polypath::gpu::Message;
using polypath::gpu::move;
using polypath::gpu::Team;
using polypath::gpu::Words;
using Step = polypath::LapStep;

constexpr unsigned kWarps = polypath::kParcelThreads / kThreadsOfWarp;
constexpr unsigned kSendingWarps = 4;
// More blocks are as fast by loads and stores, and begin sooner.
constexpr unsigned kMostBlocksInChunks = 32;
// Of what is sent in chunks: one thread of a warp loads, one of the other one stores.
constexpr unsigned kWarpsOfChunks = 2;
constexpr unsigned kMostTakingWarps = kWarps - kWarpsOfChunks - 2;
static_assert(kChunks * kChunk + kMostTakingWarps * kOwnChunk == polypath::kParcelSharedBytes);

// One call as one block sees it. Blocks are numbered as they start: the first ones of all ranks
// wait for each other, and those that find no room, or that the ranks do without, for none of them.
// In the second phase, if there is one, each rank sends all others what it has made in the first
// one.
class Parcels {
 public:
  __device__ explicit Parcels(const MailParameters& of, unsigned phases) : of_(of) {
    const polypath::gpu::Start found = polypath::gpu::start(of);
    const unsigned working = found.working > 0 ? found.working : gridDim.x;
    turn_ = found.turn;
    laps_ = polypath::Laps::of(parcels_of(of.bytes, of.parcel), of.slots,
                               working < gridDim.x ? working : gridDim.x);
    laps_.first = found.first_lap;
    laps_.block = found.number;
    laps_.phases = phases;
    laps_.alternate = of.root != polypath::kEveryRank;
  }

  [[nodiscard]] __device__ const polypath::Laps& laps() const { return laps_; }
  // Blocks beyond those that all ranks agree on have nothing to do.
  [[nodiscard]] __device__ bool works() const { return laps_.block < laps_.blocks; }
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
  // The same in chunks: `what(from, to, bytes)` for each of them. The last one of a message may be
  // up to 15 bytes longer, which lie before the next multiple of 16 and after the message in the
  // box.
  template <class Do>
  __device__ void for_chunks(const Step& step, Do what) const {
    for (std::uint64_t distance = 1; distance < of_.ranks; ++distance) {
      const std::uint64_t to = (of_.rank + distance) % of_.ranks;
      const Message message = sent(step, to);
      const std::uint64_t last = end(step, message.bytes);
      if (last <= begin(step)) continue;
      auto left = static_cast<unsigned>((last - begin(step) + kChunkAlignment - 1) /
                                        kChunkAlignment * kChunkAlignment);
      const char* from = message.begin + begin(step);
      char* there = parcels_in(step, to, of_.rank) + begin(step);
      for (; left > kChunk; left -= kChunk, from += kChunk, there += kChunk)
        what(from, there, static_cast<unsigned>(kChunk));
      what(from, there, left);
    }
  }
  // One thread for each rank. Its flag is seen after all that the thread has seen.
  __device__ void say(unsigned own, const Step& step) const {
    const std::uint64_t to = (of_.rank + 1 + own) % of_.ranks;
    if (own + 1 < of_.ranks)
      asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag(step, to, of_.rank)),
                   "r"(step.lap)
                   : "memory");
  }
  // One thread for each rank, before it says something. Blocks that have not started by then have
  // to wait for other work of the GPU: few do the next call, so that this goes on.
  __device__ void wish(unsigned own, bool can_be_few) const {
    if (own >= of_.ranks) return;
    const bool others_wait = *polypath::gpu::head(of_, polypath::kMailStarted) < gridDim.x;
    const std::uint64_t to = (of_.rank + 1 + own) % of_.ranks;
    *reinterpret_cast<volatile std::uint32_t*>(of_.mailboxes[to] +
                                               polypath::wish_at(turn_, of_.rank)) =
        can_be_few && others_wait ? polypath::few_blocks(of_.ranks) : polypath::kAllBlocks;
  }
  // By the warp that has seen what all ranks wish: as few blocks as any of them does.
  __device__ void agree(unsigned own) const {
    unsigned fewest = polypath::kAllBlocks;
    if (own < of_.ranks) fewest = *polypath::gpu::head(of_, polypath::wish_at(turn_, own));
    for (unsigned distance = kThreadsOfWarp / 2; distance > 0; distance /= 2) {
      const unsigned other = __shfl_xor_sync(~0U, fewest, distance);
      if (other < fewest) fewest = other;
    }
    if (own == 0) *polypath::gpu::head(of_, polypath::working_at(turn_ + 1)) = fewest;
  }
  // One thread for each rank.
  __device__ void watch(unsigned own, const Step& step) const {
    const std::uint64_t from = (of_.rank + 1 + own) % of_.ranks;
    if (own + 1 < of_.ranks) watch(flag(step, of_.rank, from), step.lap);
  }

 private:
  // Each look of an acquiring load would empty the cache: the last one is enough.
  __device__ void watch(const std::uint32_t* flag, std::uint32_t lap) const {
    std::uint32_t seen;
    for (unsigned looks = 1;; ++looks) {
      asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
      if (seen == lap) break;
      if (looks % polypath::gpu::kLooksBetweenChecks == 0 && polypath::gpu::is_abandoned(of_))
        break;
    }
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
  }
  [[nodiscard]] __device__ char* box(const Step& step, std::uint64_t at,
                                     std::uint64_t sender) const {
    return reinterpret_cast<char*>(of_.mailboxes[at]) + polypath::kMailBoxes +
           (step.lap & 1) * (of_.ranks - 1) * of_.box + polypath::box_number(at, sender) * of_.box;
  }
  // Where the message would begin if the step's parcel lay where it is in it.
  [[nodiscard]] __device__ char* parcels_in(const Step& step, std::uint64_t at,
                                            std::uint64_t sender) const {
    return box(step, at, sender) + polypath::kParcelFlags + step.slot * of_.parcel - begin(step);
  }
  [[nodiscard]] __device__ std::uint32_t* flag(const Step& step, std::uint64_t at,
                                               std::uint64_t sender) const {
    return reinterpret_cast<std::uint32_t*>(box(step, at, sender)) + step.slot;
  }

  const MailParameters& of_;
  std::uint32_t turn_;
  polypath::Laps laps_;
};

// True if what the rank sends can go in chunks, and there is room for them.
__device__ bool can_send_in_chunks(const MailParameters& of) {
  const std::uint64_t all =
      of.input | of.output | of.send_stride | of.receive_stride | of.box | of.parcel;
  return polypath::gpu::kHasChunks && all % kChunkAlignment == 0 &&
         polypath::gpu::dynamic_shared_bytes() >= polypath::kParcelSharedBytes;
}

// The warp of a block that loads what is sent in chunks.
__device__ void load_chunks(const Parcels& parcels, polypath::gpu::RingLoader ring,
                            const Counts& taken) {
  parcels.laps().for_all([&](const Step& step) {
    taken.await(parcels.laps().taken_before(step));
    if (threadIdx.x % kThreadsOfWarp == 0) {
      if (step.phase > 0) polypath::gpu::order_with_copies();
      parcels.for_chunks(step,
                         [&](const char* from, char*, unsigned bytes) { ring.load(from, bytes); });
    }
    __syncwarp();
  });
}

// The thread that stores them. It never waits with a step that has gone and is not noted: others
// may wait for that before they send what this one waits for.
__device__ void store_chunks(const Parcels& parcels, polypath::gpu::RingStorer ring,
                             const Counts& taken, const Counts& sent) {
  bool has_gone = false;  // a step that is not noted
  unsigned since = 0;     // chunks
  const auto note = [&] {
    if (has_gone) {
      ring.await_all_but(since);
      sent.note();
    }
    has_gone = false;
  };
  const auto await = [&](auto is_there) {
    if (is_there()) return;
    note();
    while (!is_there()) {
    }
  };
  parcels.laps().for_all([&](const Step& step) {
    await([&] { return taken.have(parcels.laps().taken_before(step)); });
    parcels.for_chunks(step, [&](const char*, char* to, unsigned bytes) {
      await([&] { return ring.has_next(); });
      ring.store(to, bytes);
      if (++since == polypath::gpu::kOnTheirWay) note();
    });
    note();
    has_gone = true;
    since = 0;
  });
  note();
}

// The warps of a block that send.
__device__ void send_all(const Parcels& parcels, const Team& team, const Counts& taken,
                         const Counts& sent) {
  parcels.laps().for_all([&](const Step& step) {
    taken.await(parcels.laps().taken_before(step));
    parcels.send(team, step);
    sent.note(team);
  });
}

// One of the threads that take in what comes: those of its team do so together.
class Taker {
 public:
  __device__ Taker(const Team& team, bool in_chunks, polypath::gpu::ChunkMover mover)
      : team_(team), in_chunks_(in_chunks), mover_(mover) {}

  [[nodiscard]] __device__ const Team& team() const { return team_; }
  __device__ void move(std::uint64_t begin, std::uint64_t end, const Message& from,
                       const Message& to) {
    if (!in_chunks_) return polypath::gpu::move(team_, begin, end, from, to);
    if (end <= begin) return;
    const std::uint64_t whole = end - end % kChunkAlignment;
    if (team_.own % kThreadsOfWarp == 0) {
      const std::uint64_t step = team_.threads / kThreadsOfWarp * kOwnChunk;
      for (std::uint64_t at = begin + team_.own / kThreadsOfWarp * kOwnChunk; at < whole;
           at += step) {
        const std::uint64_t bytes = whole - at < kOwnChunk ? whole - at : kOwnChunk;
        mover_.move(from.begin + at, to.begin + at, static_cast<unsigned>(bytes));
      }
    }
    if (team_.own == 0 && whole < end) polypath::gpu::move({1, 0}, whole, end, from, to);
  }
  // What it has moved is there then.
  __device__ void finish() const {
    if (in_chunks_) mover_.finish();
  }

 private:
  Team team_;
  bool in_chunks_;
  polypath::gpu::ChunkMover mover_;
};

// The warps of a block: the first ones send, one says so, one watches, and the others take in.
struct Roles {
  bool in_chunks;
  unsigned warp = threadIdx.x / kThreadsOfWarp;

  [[nodiscard]] __device__ unsigned sending() const {
    return in_chunks ? kWarpsOfChunks : kSendingWarps;
  }
  [[nodiscard]] __device__ unsigned saying() const { return sending(); }
  [[nodiscard]] __device__ unsigned watching() const { return sending() + 1; }
  [[nodiscard]] __device__ unsigned first_taking() const { return sending() + 2; }
  [[nodiscard]] __device__ unsigned taking() const { return kWarps - first_taking(); }
};

// `take(team, step)` takes in what has arrived, after what this block sends of the same parcel: in
// place the one is where the other goes. Each place of a box is sent to again once what was in it
// in the lap before has been taken in, which is also when there is something to send in the second
// phase.
template <class Take>
__device__ void exchange(const MailParameters& of, const Parcels& parcels, Take take) {
  extern __shared__ __align__(128) char chunks[];
  __shared__ polypath::gpu::Ring ring;
  __shared__ unsigned counts[4][kWarps];
  __shared__ std::uint64_t barriers[kWarps];
  if (!parcels.works()) return polypath::gpu::finish_call(of, parcels.laps().count());
  if (threadIdx.x < 4 * kWarps) counts[threadIdx.x / kWarps][threadIdx.x % kWarps] = 0;
  const bool can_be_few = can_send_in_chunks(of);
  const Roles roles{can_be_few && parcels.laps().blocks <= kMostBlocksInChunks};
  if (roles.in_chunks) {
    ring.begin();
    if (threadIdx.x < kWarps) polypath::gpu::begin_barrier(barriers[threadIdx.x]);
  }
  __syncthreads();
  const Counts sent(counts[0], roles.in_chunks ? 1 : roles.sending());
  const Counts arrived(counts[1], 1);
  const Counts taken(counts[2], roles.taking());
  const Counts wished(counts[3], 1);
  // In the second step, which waits for nothing where there are more.
  const unsigned agreeing = parcels.laps().block > 0 ? 0 : parcels.laps().steps() > 1 ? 2 : 1;
  const unsigned lane = threadIdx.x % kThreadsOfWarp;
  if (roles.warp < roles.sending()) {
    if (!roles.in_chunks)
      send_all(parcels, {kSendingWarps * kThreadsOfWarp, threadIdx.x}, taken, sent);
    else if (roles.warp == 0) load_chunks(parcels, {ring, chunks}, taken);
    else if (lane == 0) store_chunks(parcels, {ring, chunks}, taken, sent);
  } else if (roles.warp == roles.saying()) {
    parcels.laps().for_all([&](const Step& step) {
      sent.await(step.number);
      if (step.number == agreeing) {
        parcels.wish(lane, can_be_few);
        wished.note({kThreadsOfWarp, lane});
      }
      parcels.say(lane, step);
    });
  } else if (roles.warp == roles.watching()) {
    parcels.laps().for_all([&](const Step& step) {
      sent.await(step.number);
      parcels.watch(lane, step);
      if (step.number == agreeing) {
        wished.await(1);
        parcels.agree(lane);
      }
      if (roles.in_chunks) polypath::gpu::order_with_copies();
      arrived.note({kThreadsOfWarp, lane});
    });
  } else {
    const unsigned own = roles.warp - roles.first_taking();
    char* const place = chunks + kChunks * kChunk + own * kOwnChunk;
    Taker taker({roles.taking() * kThreadsOfWarp, own * kThreadsOfWarp + lane}, roles.in_chunks,
                {barriers[roles.warp], place});
    parcels.laps().for_all([&](const Step& step) {
      arrived.await(step.number);
      take(taker, step);
      taker.finish();
      taken.note(taker.team());
    });
  }
  polypath::gpu::finish_call(of, parcels.laps().count());
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

// In the order of the ranks, at `result`. Messages to one rank are equally long.
template <bool kSumOfFloats>
__device__ void reduce(const MailParameters& of, const Parcels& parcels, const Taker& taker,
                       const Step& step, char* at) {
  const Message result{at, message_bytes(of, of.rank, of.rank)};
  for_words(taker.team(), parcels.begin(step), parcels.end(step, result.bytes),
            [&](const Words& words) {
              uint4 sum[kInFlight], other[kInFlight];
              parcels.arrived(step, 0).load(words, sum);
              for (std::uint64_t from = 1; from < of.ranks; ++from) {
                const auto reduction = polypath::gpu::with_next(of.reduction, from);
                parcels.arrived(step, from).load(words, other);
#pragma unroll
                for (int k = 0; k < kInFlight; ++k)
                  sum[k] = combine<kSumOfFloats>(reduction, sum[k], other[k]);
              }
              result.store(words, sum);
            });
}

// In place it is there already.
__device__ void store_at(const Parcels& parcels, Taker& taker, const Step& step,
                         const Message& message, char* at) {
  if (at == message.begin) return;
  taker.move(parcels.begin(step), parcels.end(step, message.bytes), message,
             Message{at, message.bytes});
}

__device__ void store(const MailParameters& of, const Parcels& parcels, Taker& taker,
                      const Step& step) {
  for (std::uint64_t distance = 0; distance < of.ranks; ++distance) {
    const std::uint64_t from = (of.rank + distance) % of.ranks;
    const Message message = parcels.arrived(step, from);
    store_at(parcels, taker, step, message, parcels.part_in_output(from));
  }
}

// Of what the root has: its own part at each other rank, all parts at the root.
__device__ void store_parts(const MailParameters& of, const Parcels& parcels, Taker& taker,
                            const Step& step) {
  if (of.rank != of.root)
    return store_at(parcels, taker, step, parcels.arrived(step, of.root),
                    parcels.part_in_output(of.rank));
  for (std::uint64_t to = 0; to < of.ranks; ++to)
    store_at(parcels, taker, step, parcels.sent(step, to), parcels.part_in_output(to));
}

template <bool kSumOfFloats>
__device__ void exchange_and_reduce(const MailParameters& of) {
  const Parcels parcels(of, 1);
  exchange(of, parcels, [&](Taker& taker, const Step& step) {
    reduce<kSumOfFloats>(of, parcels, taker, step, reinterpret_cast<char*>(of.output));
  });
}

template <bool kSumOfFloats>
__device__ void exchange_reduce_and_share(const MailParameters& of) {
  const Parcels parcels(of, 2);
  exchange(of, parcels, [&](Taker& taker, const Step& step) {
    if (step.phase == 0) reduce<kSumOfFloats>(of, parcels, taker, step, parcels.made(step));
    else store(of, parcels, taker, step);
  });
}

}  // namespace

extern "C" __global__ void __launch_bounds__(polypath::kParcelThreads)
    exchange_parcels_and_store(const __grid_constant__ MailParameters of) {
  const Parcels parcels(of, 1);
  exchange(of, parcels, [&](Taker& taker, const Step& step) { store(of, parcels, taker, step); });
}

extern "C" __global__ void __launch_bounds__(polypath::kParcelThreads)
    exchange_parcels_and_reduce(const __grid_constant__ MailParameters of) {
  if (of.reduction == 0) exchange_and_reduce<true>(of);
  else exchange_and_reduce<false>(of);
}

extern "C" __global__ void __launch_bounds__(polypath::kParcelThreads)
    exchange_parcels_reduce_and_share(const __grid_constant__ MailParameters of) {
  if (of.reduction == 0) exchange_reduce_and_share<true>(of);
  else exchange_reduce_and_share<false>(of);
}

extern "C" __global__ void __launch_bounds__(polypath::kParcelThreads)
    exchange_parcels_store_and_share(const __grid_constant__ MailParameters of) {
  const Parcels parcels(of, 2);
  exchange(of, parcels, [&](Taker& taker, const Step& step) {
    if (step.phase == 0) store_parts(of, parcels, taker, step);
    else store(of, parcels, taker, step);
  });
}
