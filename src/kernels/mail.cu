// Every rank sends a message to every rank, and reduces what arrives, in the order of the ranks, or
// stores it side by side, in lines: see mailbox_layout.h. A thread has one line at a time: with two
// or four the first arrives later, and nothing is gained where links are full anyway.

#include "kernels/element.cuh"
#include "kernels/mailbox.cuh"
#include "kernels/reduce_layout.h"

// NOLINTBEGIN(google-build-using-namespace): kernels have C's names
using namespace polypath::kernels;
using namespace polypath::kernels::gpu;
// NOLINTEND(google-build-using-namespace)

namespace {

constexpr unsigned kThreadsOfWarp = 32;
constexpr unsigned kAllOfWarp = 0xffffffff;
constexpr int kAtOnce = 3;  // boxes that are looked into at once: those of three other ranks
constexpr std::uint64_t kMagic = std::uint64_t{0x706f6c79} << 32;

// A thread's part of a line: 16 bytes, of the last one 8 and the flag.
struct Words {
  std::uint64_t first, second;
};

__device__ void store(char* line, const Words& words) {
  asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(line), "l"(words.first),
               "l"(words.second)
               : "memory");
}
__device__ Words load(const char* line) {
  Words words;
  asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(words.first), "=l"(words.second)
               : "l"(line)
               : "memory");
  return words;
}

// One call as one thread sees it.
class Mail {
 public:
  __device__ explicit Mail(const MailParameters& of) : of_(of) {
    const std::uint32_t calls = gpu::begin_call(of);
    flag_ = kMagic | calls;
    half_ = kMailBoxes + (calls & 1) * (of.ranks - 1) * of.box;
  }

  // Of what is 120 bytes from each line to the next.
  [[nodiscard]] __device__ Words read(std::uint64_t to, std::uint64_t line) const {
    const char* const message = reinterpret_cast<const char*>(of_.input) + to * of_.send_stride;
    const std::uint64_t bytes = message_bytes(of_, of_.rank, to), offset = offset_in(line);
    Words words{0, flag_};
    if (offset < bytes) words.first = load_word(message + offset, bytes - offset);
    if (has_flag()) return words;
    words.second = 0;
    if (offset + 8 < bytes) words.second = load_word(message + offset + 8, bytes - offset - 8);
    return words;
  }
  // To `begin` bytes from the output's begin on, where a message of so many bytes lies.
  __device__ void write(std::uint64_t begin, std::uint64_t bytes, std::uint64_t line,
                        const Words& words) const {
    char* const message = reinterpret_cast<char*>(of_.output) + begin;
    const std::uint64_t offset = offset_in(line);
    if (offset < bytes) store_word(message + offset, bytes - offset, words.first);
    if (!has_flag() && offset + 8 < bytes)
      store_word(message + offset + 8, bytes - offset - 8, words.second);
  }

  [[nodiscard]] __device__ Words flagged(const Words& words) const {
    return {words.first, has_flag() ? flag_ : words.second};
  }
  __device__ void send(std::uint64_t to, std::uint64_t line, const Words& words) const {
    store(line_in(to, box_number(to, of_.rank), line), words);
  }
  // A line's words from the ranks of kAtOnce boxes that follow each other, looked for at once: one
  // look takes as long as one at a single box. All threads of a warp call it together; where a box
  // is not `wanted`, there is none, or the line is longer than the message, nothing is awaited.
  template <class Wanted>
  __device__ void receive(std::uint64_t box, std::uint64_t line, Wanted wanted,
                          Words (&words)[kAtOnce]) const {
    bool is_wanted[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      words[k] = {0, 0};
      is_wanted[k] = has_box(box + k) && wanted(sender_of(box + k));
    }
    for (unsigned looks = 1;; ++looks) {
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k)
        if (is_wanted[k]) words[k] = load(line_in(of_.rank, box + k, line));
      bool arrived = true;
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k)
        arrived &= !is_wanted[k] || !has_flag() || words[k].second == flag_;
      if (__all_sync(kAllOfWarp, arrived)) return;
      if (looks % gpu::kLooksBetweenChecks == 0 && __any_sync(kAllOfWarp, gpu::is_abandoned(of_)))
        return;
    }
  }
  // `take(rank, words)` for all ranks in their order.
  template <class Wanted, class Take>
  __device__ void receive_from_all(std::uint64_t line, const Words& own, Wanted wanted,
                                   Take take) const {
    for (std::uint64_t box = 0; has_box(box); box += kAtOnce) {
      Words words[kAtOnce];
      receive(box, line, wanted, words);
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (!has_box(box + k)) continue;
        if (box + k == of_.rank) take(of_.rank, own);
        take(sender_of(box + k), words[k]);
      }
    }
    if (of_.rank == of_.ranks - 1) take(of_.rank, own);
  }

  // The rank at a distance, less than twice the ranks, after this one.
  [[nodiscard]] __device__ std::uint64_t after(std::uint64_t distance) const {
    const std::uint64_t rank = of_.rank + distance;
    return rank < of_.ranks ? rank : rank - of_.ranks;
  }
  __device__ void finish() const { gpu::finish_call(of_); }

 private:
  [[nodiscard]] static __device__ bool has_flag() {
    return threadIdx.x % kThreadsOfLine == kThreadsOfLine - 1;
  }
  [[nodiscard]] static __device__ std::uint64_t offset_in(std::uint64_t line) {
    return line * kLineMessage + threadIdx.x % kThreadsOfLine * sizeof(Words);
  }
  [[nodiscard]] __device__ char* line_in(std::uint64_t at, std::uint64_t box,
                                         std::uint64_t line) const {
    return reinterpret_cast<char*>(of_.mailboxes[at]) + half_ + box * of_.box + line * kLineBytes +
           threadIdx.x % kThreadsOfLine * sizeof(Words);
  }
  [[nodiscard]] __device__ bool has_box(std::uint64_t box) const { return box + 1 < of_.ranks; }
  [[nodiscard]] __device__ std::uint64_t sender_of(std::uint64_t box) const {
    return box < of_.rank ? box : box + 1;
  }

  const MailParameters& of_;
  std::uint64_t flag_, half_;
};

// Three messages are read before the first is sent, so that their loads overlap.
__device__ void send_to_all(const Mail& mail, const MailParameters& of, std::uint64_t line,
                            const Words& own) {
  for (std::uint64_t distance = 1; distance < of.ranks; distance += kAtOnce) {
    Words words[kAtOnce];
    bool goes[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const std::uint64_t to = mail.after(distance + k);
      goes[k] = distance + k < of.ranks && line < lines_of(message_bytes(of, of.rank, to));
      words[k] = own;
      if (goes[k] && (of.send_stride != 0 || of.receiver == to)) words[k] = mail.read(to, line);
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k)
      if (goes[k]) mail.send(mail.after(distance + k), line, words[k]);
  }
}

// A line of a result; its last eight bytes are the flag.
__device__ void send_result(const Mail& mail, const MailParameters& of, std::uint64_t line,
                            const Words& words) {
  for (std::uint64_t distance = 1; distance < of.ranks; ++distance)
    mail.send(mail.after(distance), line, mail.flagged(words));
}

// One function for all types: with a copy of everything around it for each of them, the code would
// be forty times as long.
__noinline__ __device__ Words combine_any(gpu::ReductionCode reduction, Words a, Words b) {
  gpu::with_reducer(reduction, [&](auto reducer) {
    a.first = combine_all(reducer, a.first, b.first);
    a.second = combine_all(reducer, a.second, b.second);
  });
  return a;
}

__device__ std::uint64_t sums(std::uint64_t a, std::uint64_t b) {
  const auto half = [](std::uint64_t word, int bits) {
    return __uint_as_float(static_cast<std::uint32_t>(word >> bits));
  };
  const std::uint64_t low = __float_as_uint(half(a, 0) + half(b, 0));
  return low | static_cast<std::uint64_t>(__float_as_uint(half(a, 32) + half(b, 32))) << 32;
}

// Sums of float32 are what most calls are: they are worth code of their own.
__device__ Words combine(const gpu::ReductionCode& reduction, const Words& a, const Words& b) {
  if (reduction.code == 0) return {sums(a.first, b.first), sums(a.second, b.second)};
  return combine_any(reduction, a, b);
}

// `what(line)` for the lines of this thread. All threads of a warp have equally many, of which some
// may not be there, or not in each message.
template <class Do>
__device__ void for_lines(const MailParameters& of, Do what) {
  constexpr std::uint64_t kLinesOfWarp = kThreadsOfWarp / kThreadsOfLine;
  const std::uint64_t thread = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x / kThreadsOfLine;
  const std::uint64_t lines = lines_of(of.bytes);
  for (std::uint64_t first = thread / kThreadsOfWarp * kLinesOfWarp; first < lines; first += step)
    what(first + thread % kThreadsOfWarp / kThreadsOfLine);
}

// In the order of the ranks. Messages to one rank are equally long.
__device__ Words reduced(const Mail& mail, const MailParameters& of, std::uint64_t line,
                         const Words& own) {
  const bool has_line = line < lines_of(message_bytes(of, of.rank, of.rank));
  Words sum{0, 0};
  mail.receive_from_all(
      line, own, [&](std::uint64_t) { return has_line; },
      [&](std::uint64_t from, const Words& words) {
        sum = from == 0 ? words : combine(gpu::with_next(of.reduction, from), sum, words);
      });
  return sum;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kMailThreads)
    exchange_and_store(const __grid_constant__ MailParameters of) {
  const Mail mail(of);
  const auto bytes = [&](std::uint64_t from) { return message_bytes(of, from, of.rank); };
  for_lines(of, [&](std::uint64_t line) {
    const Words own = mail.read(of.rank, line);
    send_to_all(mail, of, line, own);
    mail.receive_from_all(
        line, own, [&](std::uint64_t from) { return line < lines_of(bytes(from)); },
        [&](std::uint64_t from, const Words& words) {
          mail.write(from * of.receive_stride, bytes(from), line, words);
        });
  });
  mail.finish();
}

extern "C" __global__ void __launch_bounds__(kMailThreads)
    exchange_and_reduce(const __grid_constant__ MailParameters of) {
  const Mail mail(of);
  for_lines(of, [&](std::uint64_t line) {
    const Words own = mail.read(of.rank, line);
    send_to_all(mail, of, line, own);
    mail.write(0, message_bytes(of, of.rank, of.rank), line, reduced(mail, of, line, own));
  });
  mail.finish();
}

// Each rank reduces the values of its own message's place in the output, and sends the result to
// all: first all values are on their way, then each line of results as soon as it is there. A box
// has the lines of the values, then those of the result.
extern "C" __global__ void __launch_bounds__(kMailThreads)
    exchange_reduce_and_share(const __grid_constant__ MailParameters of) {
  const Mail mail(of);
  const std::uint64_t results = lines_of(of.bytes);  // where they begin
  const auto bytes = [&](std::uint64_t rank) { return message_bytes(of, rank, rank); };
  for_lines(of, [&](std::uint64_t line) { send_to_all(mail, of, line, {0, 0}); });
  for_lines(of, [&](std::uint64_t line) {
    const Words sum = reduced(mail, of, line, mail.read(of.rank, line));
    mail.write(of.rank * of.receive_stride, bytes(of.rank), line, sum);
    if (line < lines_of(bytes(of.rank))) send_result(mail, of, results + line, sum);
  });
  for_lines(of, [&](std::uint64_t line) {
    mail.receive_from_all(
        results + line, {0, 0}, [&](std::uint64_t from) { return line < lines_of(bytes(from)); },
        [&](std::uint64_t from, const Words& words) {
          if (from != of.rank) mail.write(from * of.receive_stride, bytes(from), line, words);
        });
  });
  mail.finish();
}
